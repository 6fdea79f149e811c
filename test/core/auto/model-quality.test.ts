import { describe, expect, test } from 'vitest'
import builtin from '../../../src/catalog/data/builtin.json' with { type: 'json' }
import modelQuality from '../../../src/catalog/data/model-quality.json' with { type: 'json' }
import { chooseAutoModels } from '../../../src/core/auto/auto-routing.ts'
import { abilitiesOf, atLeast, easeOf, expectedQuality } from '../../../src/core/auto/model-quality.ts'
import { TASK_KINDS } from '../../../src/core/auto/quality-figure.ts'
import { ROUTING_PROFILES } from '../../../src/core/auto/routing-profiles.ts'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { chatNeeds } from '../../../src/core/calls/kinds/chat.ts'
import kinds from '../../fixtures/auto/prompt-kinds.json' with { type: 'json' }
import { builtCatalog } from '../../helpers/built-catalog.ts'

const snapshot = builtCatalog([builtin, modelQuality])
const known = abilitiesOf(snapshot.autoLadder)
const of = (id: string) => known.get(snapshot.models.get(id)!)!

describe('the published quality of models', () => {
  test('is of models of the built-in catalog, each figure with its source, date and standard error', () => {
    expect(modelQuality.changes.models.length).toBeGreaterThan(100)
    for (const { id, quality } of modelQuality.changes.models) {
      expect(snapshot.models.has(id), id).toBe(true)
      for (const { value, standard_error, source, date } of Object.values(quality)) {
        expect(value).toBeGreaterThan(0)
        expect(value).toBeLessThan(1)
        expect(standard_error).toBeGreaterThan(0)
        expect(source).toContain(date)
      }
    }
  })
})

describe('the ability of a model', () => {
  test('is measured where a figure is published, close to it, and an estimate elsewhere', () => {
    const { code, chat } = snapshot.models.get('gpt-5.6-sol')!.quality!
    expect(of('gpt-5.6-sol').code.basis).toBe('measured')
    const measured = 1 / (1 + Math.exp(-of('gpt-5.6-sol').code.value))
    expect(Math.abs(measured - code!.value)).toBeLessThan(2 * code!.standardError)
    expect(of('gpt-5.6-sol').worded_options.basis).toBe('other kinds')
    expect(chat!.source).toContain('LiveBench')
    expect(chat!.source).toContain('Artificial Analysis')
  })

  test('of a successor without figures is that of the version before, a little below and less certain; of a copy the same', () => {
    for (const kind of TASK_KINDS) {
      expect(of('gpt-6.1-terra')[kind].basis).toBe('line')
      expect(of('gpt-6.1-terra')[kind].value).toBeLessThan(of('gpt-5.6-terra')[kind].value)
      expect(of('gpt-6.1-terra')[kind].standardError).toBeGreaterThan(of('gpt-5.6-terra')[kind].standardError)
      expect(of('gpt-5-2025-08-07')[kind].value).toBe(of('gpt-5')[kind].value)
    }
  })

  test('grows less certain with every version between', () => {
    const figure = { value: 0.7, standard_error: 0.02, source: 'a benchmark', date: '2026-06-25' }
    const model = (version: string) => ({
      id: `acme/sun-${version}`,
      vendor: 'acme',
      context_length: 128_000,
      list_price: { prompt: '1', completion: '4' },
      offers: [{ provider: 'acme', upstream_model: `sun-${version}` }],
      ...(version === '1' && { quality: { other: figure } }),
    })
    const { autoLadder } = builtCatalog([
      {
        providers: [{ id: 'acme', base_url: 'https://acme.example/v1' }],
        models: ['1', '2', '3'].map(model),
      },
    ])
    const errors = ['1', '2', '3'].map((version) => {
      const found = autoLadder.find(({ id }) => id === `acme/sun-${version}`)!
      return abilitiesOf(autoLadder).get(found)!.other.standardError
    })
    expect(errors).toEqual(errors.toSorted((a, b) => a - b))
    expect(new Set(errors).size).toBe(3)
  })

  test('of a flagship without figures is not below the cheapest models of its maker', () => {
    for (const [flagship, cheapest] of [
      ['anthropic/claude-mythos-5.1', 'anthropic/claude-haiku-5.5'],
      ['anthropic/claude-mythos-5', 'anthropic/claude-haiku-4.5'],
      ['moonshotai/kimi-k3.1-pro', 'moonshotai/kimi-k2.5'],
      ['meta-llama/muse-wonder', 'meta-llama/muse-ember'],
    ] as const) {
      expect(of(flagship).other.value, flagship).toBeGreaterThan(of(cheapest).other.value)
    }
    for (const flagship of ['gpt-6-astra', 'anthropic/claude-opus-5.5', 'google/gemini-4-argon'])
      for (const cheapest of ['gpt-6-luna', 'anthropic/claude-haiku-5.5', 'deepseek/deepseek-v4-flash'])
        for (const kind of TASK_KINDS)
          expect(of(flagship)[kind].value).toBeGreaterThan(of(cheapest)[kind].value)
  })

  test('is guessed from the price last, and then low', () => {
    const guessed = snapshot.autoLadder.filter((model) => known.get(model)!.code.basis === 'price')
    expect(guessed.length).toBeGreaterThan(0)
    for (const model of guessed)
      expect(atLeast(known.get(model)!.code)).toBeLessThan(atLeast(of('gpt-5.6-luna').code))
  })

  test('is known for every kind of every model of the ladder', () => {
    for (const model of snapshot.autoLadder)
      for (const kind of TASK_KINDS)
        expect(Number.isFinite(known.get(model)![kind].value), model.id).toBe(true)
  })
})

describe('expected quality', () => {
  test('falls with the difficulty and rises with the ability, between 0 and 1', () => {
    for (const kind of TASK_KINDS) {
      const at = (ability: number, score: number) => expectedQuality(ability, easeOf(kind, score))
      for (const score of [0, 0.1, 0.5, 0.9, 1]) {
        expect(at(1, score)).toBeGreaterThan(at(0, score))
        expect(at(1, score)).toBeLessThan(1)
        expect(at(0, score)).toBeGreaterThan(0)
      }
      expect(at(0, 0.2)).toBeGreaterThan(at(0, 0.8))
    }
  })
})

describe('with the built-in catalog', () => {
  const prompts = [
    'hello',
    'What is the capital of France?',
    'Write a Python function that returns the longest palindromic substring of a string.',
    'Let $f$ be entire and bounded. Prove that it is constant, then compute $\\int_0^1 x^2 dx$.',
    'Which is the largest?\nA. Mars\nB. Jupiter\nC. Venus',
  ]

  test('every profile tries models of three vendors that are figures-based, and spends more for more', () => {
    for (const prompt of prompts) {
      const costs = (['eco', 'auto', 'premium'] as const).map((profile) => {
        const content = { ...parseChatRequest({ messages: [{ role: 'user', content: prompt }] }).content }
        const needs = chatNeeds({ ...content, routingProfile: profile })
        const { models } = chooseAutoModels(needs.auto, needs, snapshot, () => true)
        expect(new Set(models.map(({ vendor }) => vendor)).size).toBe(3)
        expect(['measured', 'line']).toContain(known.get(models[0]!)!.other.basis)
        return Number(models[0]!.rate.completion)
      })
      expect(costs).toEqual(costs.toSorted((a, b) => a - b))
    }
  })

  test('no model without figures is first for more than a third of many kinds of prompts, under any profile', () => {
    const mixed = Object.values(kinds).flatMap((language) => Object.values(language).flat())
    for (const profile of ROUTING_PROFILES) {
      const unmeasured = mixed.map((content) => {
        const parsed = parseChatRequest({ messages: [{ role: 'user', content }] }).content
        const needs = chatNeeds({ ...parsed, routingProfile: profile })
        const { models, kind } = chooseAutoModels(needs.auto, needs, snapshot, () => true)
        return ['measured', 'other kinds'].includes(known.get(models[0]!)![kind].basis) ? null : models[0]!.id
      })
      for (const [id, all] of Map.groupBy(unmeasured, (first) => first))
        if (id !== null) expect(all.length / mixed.length, `${profile} ${id}`).toBeLessThan(1 / 3)
    }
  })

  test('a model without figures is first only where no other can serve the request', () => {
    const needs = chatNeeds(parseChatRequest({ messages: [{ role: 'user', content: 'hello' }] }).content)
    const unmeasured = snapshot.models.get('anthropic/claude-mythos-5')!
    const among = (...ids: string[]) =>
      chooseAutoModels(needs.auto, needs, snapshot, ({ id }) => ids.includes(id)).models[0]!.id
    expect(among(unmeasured.id, 'anthropic/claude-3-haiku')).toBe('anthropic/claude-3-haiku')
    expect(among(unmeasured.id)).toBe(unmeasured.id)
  })

  test('agentic work goes to models with exact tools', () => {
    const { content } = parseChatRequest({
      messages: [{ role: 'user', content: 'Fix the failing test.' }],
      tools: [{ type: 'function', function: { name: 'run', parameters: {} } }],
    })
    const needs = chatNeeds({ ...content, routingProfile: ROUTING_PROFILES[3] })
    const choice = chooseAutoModels(needs.auto, needs, snapshot, () => true)
    expect(choice).toMatchObject({ kind: 'agentic', exactTools: true })
  })
})
