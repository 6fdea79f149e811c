import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import builtin from '../../src/catalog/data/builtin.json' with { type: 'json' }
import type { DocumentModel } from '../../src/core/catalog/catalog-document.ts'
import {
  correctedModels,
  differenceLine,
  isClear,
  parameterDifferences,
} from '../../tools/catalog-import/compare-parameters.ts'
import {
  factsByModel,
  type PublicParameters,
  readLitellmParameters,
  readModelsDev,
} from '../../tools/catalog-import/public-parameters.ts'

const BUILTIN = builtin.models as DocumentModel[]
const PUBLIC = JSON.parse(
  readFileSync(new URL('../../tools/catalog-import/public-parameters.json', import.meta.url), 'utf8'),
) as PublicParameters

const model = (supported: string[], reasoning = false): DocumentModel => ({
  ...BUILTIN[0]!,
  id: 'acme/one',
  supported_parameters: supported,
  reasoning,
})

describe('the comparison of parameters with public sources', () => {
  test('corrects what both sources state alike, with top_p beside temperature', () => {
    const evidence = {
      'acme/one': {
        litellm: { tools: true, temperature: false, reasoning: true },
        'models.dev': { tools: true, temperature: false, reasoning: true },
      },
    }
    expect(correctedModels([model(['response_format', 'temperature', 'top_p'])], evidence)).toEqual([
      model(['tools', 'response_format'], true),
    ])
  })

  test('prints what one source states or on which they differ, and leaves it', () => {
    const models = [model(['tools', 'temperature', 'top_p'])]
    const evidence = {
      'acme/one': { litellm: { tools: false }, 'models.dev': { tools: true, temperature: false } },
    }
    expect(correctedModels(models, evidence)).toEqual(models)
    expect(parameterDifferences(models, evidence).map(differenceLine)).toEqual([
      'acme/one: tools is listed; litellm: false, models.dev: true',
      'acme/one: temperature is listed; models.dev: false',
    ])
  })

  test('keeps response_format of a model without schemas, which may take JSON mode', () => {
    const models = [model(['response_format'])]
    const no = { response_format: false }
    expect(correctedModels(models, { 'acme/one': { litellm: no, 'models.dev': no } })).toEqual(models)
  })

  test('never adds temperature, which a model may reject while it thinks', () => {
    const models = [model(['tools'], true)]
    const yes = { temperature: true }
    const evidence = { 'acme/one': { litellm: yes, 'models.dev': yes } }
    expect(correctedModels(models, evidence)).toEqual(models)
    expect(parameterDifferences(models, evidence)).toHaveLength(1)
  })

  test('prints nothing about a model that no source states', () => {
    expect(parameterDifferences([model(['tools'])], {})).toEqual([])
  })
})

describe('the facts of a source', () => {
  const entry = (provider: string, name: string, temperature: boolean) => ({
    provider,
    model: name,
    facts: { temperature },
  })

  test("are the maker's own where it has an entry, under whatever spelling", () => {
    const factsOf = factsByModel([
      entry('openrouter', 'anthropic/claude-opus-4.6', false),
      entry('anthropic', 'claude-opus-4-6', true),
    ])
    expect(factsOf('anthropic/claude-opus-4.6')).toEqual({ temperature: true })
  })

  test('are absent where hosts differ', () => {
    const factsOf = factsByModel([
      entry('groq', 'qwen/qwen3-32b', true),
      entry('deepinfra', 'Qwen/Qwen3-32B', false),
    ])
    expect(factsOf('qwen/qwen3-32b')).toEqual({})
  })

  test.each(['anthropic/claude-opus-4.7-fast', 'anthropic/claude-opus-4.7-20260416'])(
    'of %s without an entry are those of the plain name',
    (id) => {
      const factsOf = factsByModel([entry('anthropic', 'claude-opus-4-7', false)])
      expect(factsOf(id)).toEqual({ temperature: false })
    },
  )

  test('in litellm about sampling are stated of every Claude, of others only where they are marked', () => {
    const row = (provider: string, more = {}) => ({ mode: 'chat', litellm_provider: provider, ...more })
    const table = {
      'claude-opus-4-6': row('anthropic'),
      'claude-opus-4-7': row('anthropic', { supports_sampling_params: false }),
      'openrouter/anthropic/claude-opus-4.8': row('openrouter'),
      'groq/qwen3-32b': row('groq', { supports_function_calling: true }),
    }
    expect(readLitellmParameters(JSON.stringify(table))).toEqual([
      { provider: 'anthropic', model: 'claude-opus-4-6', facts: { temperature: true } },
      { provider: 'anthropic', model: 'claude-opus-4-7', facts: { temperature: false } },
      { provider: 'openrouter', model: 'anthropic/claude-opus-4.8', facts: { temperature: false } },
      { provider: 'groq', model: 'qwen3-32b', facts: { tools: true } },
    ])
  })

  test('in models.dev are read from the literal in a program', () => {
    const program =
      'var a={id:"x",name:"other"},b={openai:{id:"openai",env:["KEY"],name:"OpenAI",models:{' +
      '"gpt-5":{id:"gpt-5",name:"GPT-5",attachment:!0,reasoning:!0,reasoning_options:[],tool_call:!0,' +
      'structured_output:!0,temperature:!1,limit:{context:4e5}},"gpt-4":{id:"gpt-4",name:"GPT-4",' +
      'reasoning:!1,tool_call:!1,limit:{context:8192}}}}}'
    expect(readModelsDev(program)).toEqual([
      {
        provider: 'openai',
        model: 'gpt-5',
        facts: { tools: true, response_format: true, temperature: false, reasoning: true },
      },
      { provider: 'openai', model: 'gpt-4', facts: { tools: false, reasoning: false } },
    ])
  })
})

describe('the parameters of the built-in catalog', () => {
  test('have no difference that both public sources make clear', () => {
    expect(parameterDifferences(BUILTIN, PUBLIC.models).filter(isClear).map(differenceLine)).toEqual([])
  })

  test('are stated by a dated source for nine of ten models', () => {
    for (const { dated } of Object.values(PUBLIC.sources)) expect(dated).toMatch(/^2026-\d\d-\d\d$/)
    const stated = BUILTIN.filter(({ id }) => PUBLIC.models[id])
    expect(stated.length / BUILTIN.length).toBeGreaterThan(0.9)
  })

  // Anthropic removed the sampling parameters with Opus 4.7.
  test.each([
    ['anthropic/claude-3.5-haiku', true],
    ['anthropic/claude-opus-4.7', false],
    ['anthropic/claude-opus-4.7-fast', false],
    ['gpt-5', false],
    ['gpt-4.1', true],
  ])('say that %s takes a temperature: %s', (id, takes) => {
    const supported = BUILTIN.find((each) => each.id === id)?.supported_parameters
    expect(supported?.includes('temperature')).toBe(takes)
    expect(supported?.includes('top_p')).toBe(takes)
  })
})
