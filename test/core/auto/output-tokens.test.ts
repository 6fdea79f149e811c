import { describe, expect, test } from 'vitest'
import { readShippedCatalogs } from '../../../src/catalog/catalog-file.ts'
import { expectedTokens } from '../../../src/core/auto/output-tokens.ts'
import type { TaskKind } from '../../../src/core/auto/quality-figure.ts'
import type { ReasoningEffort } from '../../../src/core/calls/request-parameters.ts'
import type { Model } from '../../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot } from '../../../src/core/catalog/catalog-snapshot.ts'

const OPTIONS = {
  generatedAt: 0,
  discountPercent: 10,
  openWeightsDiscountPercent: 20,
  isUsable: () => true,
}
const built = buildCatalogSnapshot(await readShippedCatalogs(null), OPTIONS)
if (built.kind !== 'snapshot') throw new Error(built.problems.join('\n'))
const { models } = built.snapshot
const ladder = built.snapshot.autoLadder

const ofLadder = expectedTokens(ladder)

/** Expected tokens by model id, of the shipped catalog's ladder or of another one. */
function tokensOf(id: string, kind: TaskKind, effort?: ReasoningEffort, of: readonly Model[] = ladder) {
  const tokens = of === ladder ? ofLadder : expectedTokens(of)
  return tokens(kind, effort)[of.findIndex((model) => model.id === id)]!
}

const PICO_PER_USD = 1e12

/** By how much the larger one exceeds the smaller. */
const timesApart = (a: number, b: number) => Math.max(a, b) / Math.min(a, b)

describe('expected output tokens of the shipped catalog', () => {
  // Tokens of single calls, read where the figures of the catalog are not from: the Coding Agent Index of Artificial
  // Analysis of 2026-09-29 (tokens of a task by its steps), two published benchmarks of single answers of that month.
  test.each<[string, TaskKind, ReasoningEffort | undefined, number]>([
    ['gpt-6.1-sol', 'agentic', 'low', 417],
    ['gpt-6.1-sol', 'agentic', 'medium', 579],
    ['gpt-6.1-sol', 'agentic', 'high', 744],
    ['gpt-6.1-sol', 'agentic', 'xhigh', 875],
    ['gpt-6.1-sol', 'agentic', 'max', 1_512],
    ['gpt-6-astra', 'agentic', 'max', 1_205],
    ['gpt-6-luna', 'agentic', 'max', 1_101],
    ['anthropic/claude-sonnet-5.5', 'agentic', 'high', 1_108],
    ['anthropic/claude-sonnet-5.5', 'agentic', 'xhigh', 1_615],
    ['anthropic/claude-sonnet-5.5', 'agentic', 'max', 2_259],
    ['anthropic/claude-opus-5.5', 'agentic', 'max', 2_148],
    ['gpt-6.1-sol', 'code', 'medium', 573],
    ['gpt-6-astra', 'code', 'medium', 476],
    ['gpt-6-luna', 'code', 'medium', 580],
    ['deepseek/deepseek-v4.1-flash', 'other', undefined, 1_270],
  ])('takes %s at %s and %s to write about %i times', (id, kind, effort, measured) => {
    expect(timesApart(tokensOf(id, kind, effort), measured)).toBeLessThan(1.5)
  })

  // USD for the output tokens of one task of the Intelligence Index, as Artificial Analysis publishes it.
  test.each<[string, ReasoningEffort, number]>([
    ['gpt-6-luna', 'medium', 0.00573],
    ['gpt-6.1-sol', 'medium', 0.0807],
    ['gpt-6-astra', 'medium', 0.4795],
    ['anthropic/claude-sonnet-5.5', 'high', 0.3733],
    ['anthropic/claude-opus-5.5', 'medium', 0.5149],
    ['google/gemini-3.8-flash', 'high', 0.2663],
    ['x-ai/grok-4.7', 'high', 0.3954],
    ['deepseek/deepseek-v4.1-flash', 'high', 0.1063],
    ['z-ai/glm-5.3', 'high', 0.313],
    ['moonshotai/kimi-k3', 'high', 0.7268],
    ['qwen/qwen3.8-max', 'high', 0.6464],
    ['xiaomi/mimo-v2.6-pro', 'high', 0.0559],
  ])('prices the published task of %s at %s near the published %f USD', (id, effort, usd) => {
    const { outputTokens, listPrice } = models.get(id)!
    const ours = (outputTokens!.byEffort![effort]! * Number(listPrice.completion)) / PICO_PER_USD
    expect(timesApart(ours, usd)).toBeLessThan(1.5)
  })

  test('counts no reasoning of a model that does not reason, and none where a plain call asks for none', () => {
    expect(tokensOf('gpt-4.1', 'formulas', 'high')).toBe(tokensOf('gpt-4.1', 'formulas'))
    expect(tokensOf('anthropic/claude-opus-4.8', 'formulas')).toBe(tokensOf('gpt-4.1', 'formulas'))
    expect(tokensOf('anthropic/claude-opus-4.8', 'formulas', 'high')).toBeGreaterThan(1_000)
    expect(tokensOf('gpt-6-luna', 'formulas', 'none')).toBeCloseTo(tokensOf('gpt-4.1', 'formulas'))
  })

  test('expected tokens rise with the requested effort, also between published efforts', () => {
    const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
    for (const id of ['gpt-6-luna', 'anthropic/claude-haiku-5.5', 'moonshotai/kimi-k3']) {
      const tokens = efforts.map((effort) => tokensOf(id, 'code', effort))
      expect(tokens, id).toEqual(tokens.toSorted((a, b) => a - b))
      expect(new Set(tokens).size, id).toBe(efforts.length)
    }
  })

  test('gives an unpublished model the tokens of its line, or of its maker, or of all', () => {
    const published = (id: string) => models.get(id)!
    const like = (id: string, vendor: string): Model => {
      const { outputTokens: _none, ...rest } = published('gpt-6-luna')
      return { ...rest, id, vendor }
    }
    const some = [
      published('gpt-6-luna'),
      published('gpt-6.1-sol'),
      published('deepseek/deepseek-v4.1-flash'),
      like('gpt-6.2-sol', 'openai'),
      like('gpt-7-comet', 'openai'),
      like('acme/thinker-1', 'acme'),
    ]
    const at = (id: string) => tokensOf(id, 'other', undefined, some)
    expect(at('gpt-6.2-sol')).toBe(at('gpt-6.1-sol'))
    expect(at('gpt-7-comet')).toBe(at('gpt-6-luna'))
    expect(at('acme/thinker-1')).toBe(at('gpt-6-luna'))
    expect(tokensOf('acme/thinker-1', 'other', undefined, [like('acme/thinker-1', 'acme')])).toBe(650)
  })

  test('takes what is stated for a kind, and scales it by the effort that a call asks for', () => {
    const some = [{ ...models.get('gpt-6-luna')!, completionTokens: { code: 2_000 } }]
    const at = (kind: TaskKind, effort?: ReasoningEffort) => tokensOf('gpt-6-luna', kind, effort, some)
    expect(at('code')).toBe(2_000)
    expect(at('code', 'medium')).toBe(2_000)
    expect(at('code', 'high')).toBeCloseTo(
      (2_000 * tokensOf('gpt-6-luna', 'code', 'high')) / tokensOf('gpt-6-luna', 'code'),
    )
    expect(at('chat')).toBe(tokensOf('gpt-6-luna', 'chat'))
  })
})
