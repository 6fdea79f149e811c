import { describe, expect, test } from 'vitest'
import builtin from '../../../src/catalog/data/builtin.json' with { type: 'json' }
import { autoTiers, compareVersions, modelLine } from '../../../src/core/auto/auto-tiers.ts'
import { TIERS } from '../../../src/core/auto/tiers.ts'
import type { Model } from '../../../src/core/catalog/catalog.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'

/** The built-in catalog as it is where the keys of these providers are set; without providers, of all of them. */
const ladderOf = (providers?: readonly string[]): readonly Model[] =>
  builtCatalog([builtin], { isUsable: ({ id }) => providers === undefined || providers.includes(id) })
    .autoLadder

const price = ({ listPrice }: Model) => Number(listPrice.prompt * 3n + listPrice.completion)
const LEADS = 3

describe('the tiers of the built-in catalog', () => {
  const ladder = ladderOf()
  const { tiers } = autoTiers(ladder)
  const leads = TIERS.flatMap((tier) => tiers[tier].slice(0, LEADS))
  const lineOf = (model: Model) => modelLine(model.id, model.vendor)

  test('are led by three models each that take tools, reason, and have a long window', () => {
    expect(leads).toHaveLength(TIERS.length * LEADS)
    for (const model of leads) {
      expect(model).toMatchObject({ reasoning: true, supportedParameters: expect.arrayContaining(['tools']) })
      expect(model.contextLength).toBeGreaterThanOrEqual(200_000)
    }
  })

  test('are led by models of vendors with ten models or more, that several providers run', () => {
    for (const model of leads) {
      expect(ladder.filter(({ vendor }) => vendor === model.vendor).length).toBeGreaterThanOrEqual(10)
      expect(new Set(model.offers.map(({ provider }) => provider.id)).size).toBeGreaterThan(1)
    }
  })

  test('are led by no preview, dated copy, fine-tune, edition or special model, and by none with a newer of its line', () => {
    for (const model of leads) {
      const own = lineOf(model)
      expect(own.isVariant, model.id).toBe(false)
      const newer = ladder.filter((other) => {
        const line = lineOf(other)
        const isSameLine = other.vendor === model.vendor && line.line === own.line && !line.isVariant
        return isSameLine && compareVersions(line.version, own.version) > 0
      })
      expect(newer.map(({ id }) => id)).toEqual([])
    }
  })

  test('cost more from tier to tier: none of the first three less than any of the tier below', () => {
    for (const [index, tier] of TIERS.slice(1).entries()) {
      const below = tiers[TIERS[index]!].slice(0, LEADS).map(price)
      expect(Math.min(...tiers[tier].slice(0, LEADS).map(price))).toBeGreaterThan(Math.max(...below))
    }
  })

  test('hold no model above standard that its maker calls small', () => {
    for (const model of [...tiers.strong, ...tiers.frontier])
      expect(lineOf(model).isSmall, model.id).toBe(false)
  })

  test('hold every model of the ladder once', () => {
    const { lastResorts } = autoTiers(ladder)
    const placed = [...TIERS.flatMap((tier) => tiers[tier]), ...lastResorts]
    expect(placed.map(({ id }) => id).sort()).toEqual(ladder.map(({ id }) => id).sort())
  })

  test.each([[['openai']], [['anthropic']], [['openai', 'google']], [['groq']]])(
    'with keys of %j alone are led by the cheaper in the lower tier',
    (providers) => {
      const found = autoTiers(ladderOf(providers)).tiers
      const first = TIERS.flatMap((tier) => found[tier].slice(0, 1)).map(price)
      expect(first.length).toBeGreaterThan(1)
      expect(first).toEqual(first.toSorted((a, b) => a - b))
    },
  )
})

const line = (id: string) => modelLine(id, id.includes('/') ? id.split('/')[0]! : 'openai')

describe('the line of a model', () => {
  test.each([
    ['gpt-5.1', 'gpt-6.1'],
    ['gpt-5-mini', 'gpt-5.4-mini'],
    ['anthropic/claude-3.5-sonnet', 'anthropic/claude-sonnet-5.5'],
    ['deepseek/deepseek-v3', 'deepseek/deepseek-v4.1'],
    ['qwen/qwen3.7-max', 'qwen/qwen3.8-max'],
    ['qwen/qwen-plus', 'qwen/qwen3.7-plus'],
    ['x-ai/grok-4.20', 'x-ai/grok-4.3'],
    ['mistralai/mistral-medium-3', 'mistralai/mistral-medium-3-5'],
    ['meta-llama/llama-3.1-70b-instruct', 'meta-llama/llama-3.3-70b'],
    ['moonshotai/kimi-k2.6', 'moonshotai/kimi-k3'],
  ])('%s is an older model of the same line as %s', (old, young) => {
    expect(line(old).line).toBe(line(young).line)
    expect(compareVersions(line(old).version, line(young).version)).toBeLessThan(0)
  })

  test.each([
    ['gpt-5', 'gpt-5-mini'],
    ['anthropic/claude-opus-5', 'anthropic/claude-sonnet-5.5'],
    ['meta-llama/llama-3.1-8b', 'meta-llama/llama-3.3-70b'],
    ['deepseek/deepseek-v4-pro', 'deepseek/deepseek-v4.1-flash'],
  ])('%s and %s are different lines', (one, other) => {
    expect(line(one).line).not.toBe(line(other).line)
  })

  test.each([
    'google/gemini-3-flash-preview',
    'gpt-5.1-2025-11-13',
    'anthropic/claude-opus-4.7-20260416',
    'deepseek/deepseek-v4-flash-0731',
    'cohere/command-r-plus-08-2024',
    'x-ai/grok-4.5-latest',
    'z-ai/glm-5.3-fast',
    'gpt-5.1-codex-max',
    'gpt-4o-search-preview',
    'qwen/qwen3-vl-32b-instruct',
    'nvidia/llama-3.3-nemotron-super-49b-v1',
    'deepseek/deepseek-r1-distill-llama-70b',
    'nvidia/cosmos3-super',
  ])('%s is a variant', (id) => {
    expect(line(id).isVariant).toBe(true)
  })

  test.each(['gpt-4o', 'gpt-6-sol', 'mistralai/mixtral-8x22b', 'meta-llama/llama-4-scout', 'qwen/qwen3-32b'])(
    '%s is none',
    (id) => {
      expect(line(id).isVariant).toBe(false)
    },
  )

  test('tells small models by their maker and by their parameters, the active ones aside', () => {
    const small = [
      'gpt-5-mini',
      'google/gemini-3.8-flash',
      'qwen/qwen3.8-27b',
      'nvidia/nemotron-3-nano-30b-a3b',
    ]
    for (const id of small) expect(line(id).isSmall).toBe(true)
    for (const id of ['gpt-6-sol', 'qwen/qwen3.5-397b-a17b', 'qwen/qwen3.8-2.4t-a95b']) {
      expect(line(id).isSmall).toBe(false)
    }
  })

  test('counts versions in decimals, part by part; no version is the oldest', () => {
    expect(compareVersions([4.2], [4.3])).toBeLessThan(0)
    expect(compareVersions([3], [3, 5])).toBeLessThan(0)
    expect(compareVersions([], [1])).toBeLessThan(0)
    expect(compareVersions([4.1], [4.1])).toBe(0)
  })

  test.each(['', '/', 'a/', '---', '1', 'vendor/日本'])('takes any id: %j', (id) => {
    expect(modelLine(id, 'a')).toMatchObject({ isSmall: false })
  })
})
