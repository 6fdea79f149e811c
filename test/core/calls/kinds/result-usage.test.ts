import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { usageOf } from '../../../../src/calls/worker/attempts/call-usage.ts'
import { costOf, mostPromptCost } from '../../../../src/core/billing/pricing.ts'
import { NOTHING_PRODUCED } from '../../../../src/core/calls/attempt-outcome.ts'
import type { CallEnvelope, Candidate } from '../../../../src/core/calls/call-job.ts'
import { kindOf, type ResultContent } from '../../../../src/core/calls/kinds/call-kinds.ts'
import { readRates } from '../../../../src/core/catalog/token-rates.ts'
import { promptBoundOf } from '../../../../src/core/text-tokens/prompt-tokens.ts'
import { candidateOf, envelopeOf } from '../../../helpers/call-shapes.ts'

const rerank = (query: string, documents: string[]): ResultContent => ({
  kind: 'rerank',
  query,
  documents,
  returnDocuments: false,
})

const needsOf = (content: ResultContent) => kindOf(content).needs(content)
const tokensBound = (content: ResultContent) => needsOf(content).prompt.textTokens
const unitsBound = (content: ResultContent) => needsOf(content).result!.unitsBound({})

describe('the bounds of a call for a result', () => {
  test('count every text, and the query of a rerank with every document', () => {
    const texts = ['one text', 'and another']
    const sum = tokensBound({ kind: 'moderation', input: texts })
    expect(tokensBound({ kind: 'embeddings', input: texts, encoding: 'float' })).toBe(sum)
    const query = tokensBound({ kind: 'moderation', input: ['a query'] })
    expect(tokensBound(rerank('a query', texts))).toBe(sum + 2 * query)
  })

  test('count token ids one by one', () => {
    const ids = Array.from({ length: 500 }, (_, id) => id)
    const bound = tokensBound({ kind: 'embeddings', input: [ids, ids], encoding: 'float' })
    expect(bound).toBeGreaterThanOrEqual(1_000)
    expect(bound).toBeLessThan(1_100)
  })

  test('a search has up to 100 documents, and a long document counts for several', () => {
    expect(unitsBound(rerank('q', Array(100).fill('short')))).toBe(1)
    expect(unitsBound(rerank('q', Array(101).fill('short')))).toBe(2)
    expect(unitsBound(rerank('q', Array(100).fill('日本語の長い文章'.repeat(200))))).toBeGreaterThan(2)
  })
})

describe('the usage of a call for a result', () => {
  const candidate = (more: Partial<Candidate> = {}) =>
    candidateOf({
      rate: { prompt: '7', completion: '0', units: '1900000000' },
      contextLength: 100,
      promptTokensBound: 50,
      units: { kind: 'search', bound: 2 },
      completionLimit: 0,
      ...more,
    })
  /** The hold of the candidate, and what seven tokens more cost. */
  const envelope = envelopeOf({ holdPico: String(50 * 7 + 2 * 1_900_000_000 + 7 * 7) })
  const content = rerank('a query', ['a document'])
  const counts = { text: async () => 0, prompt: async () => 20 }

  test.each([
    ['is the provider’s', { promptTokens: 30, units: 2 }, { promptTokens: 30, units: 2 }, 'upstream', null],
    ['is counted where it tells none', null, { promptTokens: 20, units: 1 }, 'counted', null],
    ['is counted in part', { promptTokens: 0, units: 2 }, { promptTokens: 20, units: 2 }, 'upstream', null],
    ['cannot be negative', { promptTokens: -1 }, { promptTokens: 20, units: 1 }, 'counted', 'absurd'],
    [
      'can be beyond our bound of tokens, and is charged as far as the hold reaches',
      { promptTokens: 57, units: 2 },
      { promptTokens: 57, units: 2 },
      'upstream',
      'beyond-bound',
    ],
    [
      'is charged no further than that',
      { promptTokens: 58, units: 2 },
      { promptTokens: 57, units: 2 },
      'counted',
      'beyond-hold',
    ],
    [
      'can be beyond our bound of searches',
      { promptTokens: 5, units: 3 },
      { promptTokens: 5, units: 2 },
      'counted',
      'beyond-hold',
    ],
    [
      'is not to be believed of texts longer than the window',
      { promptTokens: 101, units: 2 },
      { promptTokens: 20, units: 1 },
      'counted',
      'absurd',
    ],
    [
      'cannot be a million times as much',
      { promptTokens: 5e7 },
      { promptTokens: 20, units: 1 },
      'counted',
      'absurd',
    ],
  ] as const)('%s', async (_, reported, used, source, fault) => {
    const finalUsage = reported && { ...reported, completionTokens: 0 }
    const result = await usageOf(
      { text: '', finalUsage, produced: NOTHING_PRODUCED },
      { envelope, content, served: candidate() },
      counts,
    )
    expect(result.used).toEqual({
      usage: { ...used, completionTokens: 0 },
      usageSource: source,
      usageClamped: fault === 'absurd' || fault === 'beyond-hold',
    })
    expect(result.faults.prompt).toBe(fault)
  })

  test.each([
    [3, 10, 40, 10],
    [25, 10, 40, 25],
    [40, 10, 40, 40],
    [3, undefined, 40, 3],
  ])('of %i units and %s at least, held for %i, charges %i', async (units, least, bound, charged) => {
    const served: Candidate = {
      ...candidate(),
      units: { kind: 'second', bound, ...(least !== undefined && { least }) },
    }
    const finalUsage = { promptTokens: 0, completionTokens: 0, units }
    const { used } = await usageOf(
      { text: '', finalUsage, produced: NOTHING_PRODUCED },
      { envelope, content, served },
      counts,
    )
    expect(used.usage.units).toBe(charged)
  })

  test('never costs more than was held for, whatever is reported or counted', async () => {
    const count = fc.integer({ min: -10, max: 1_000 })
    await fc.assert(
      fc.asyncProperty(
        count,
        count,
        fc.nat(1_000),
        fc.boolean(),
        fc.nat(5_000),
        async (promptTokens, units, counted, hasUnits, more) => {
          const { units: bound, ...plain } = candidate()
          const served: Candidate = hasUnits && bound ? { ...plain, units: bound } : plain
          const finalUsage = { promptTokens, units, completionTokens: 0 }
          const rate = readRates(served.rate)
          const held = mostPromptCost(promptBoundOf(served), rate) + BigInt(more)
          const call = { envelope: { holdPico: String(held) } as CallEnvelope, content, served }
          const { used } = await usageOf({ text: '', finalUsage, produced: NOTHING_PRODUCED }, call, {
            ...counts,
            prompt: async () => counted,
          })
          expect(costOf(used.usage, rate)).toBeLessThanOrEqual(held)
        },
      ),
    )
  })
})
