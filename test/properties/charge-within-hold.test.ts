import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { usageOf } from '../../src/calls/worker/attempts/call-usage.ts'
import { assertBalanced, balanceChange, capturePosting } from '../../src/core/billing/postings.ts'
import { settlementOf } from '../../src/core/billing/settlement.ts'
import { NOTHING_PRODUCED } from '../../src/core/calls/attempt-outcome.ts'
import type { Candidate } from '../../src/core/calls/call-job.ts'
import type { ChatRequest } from '../../src/core/calls/chat-request.ts'
import { parsePreferences } from '../../src/core/calls/provider-preferences.ts'
import { ApiError } from '../../src/core/kernel/errors.ts'
import { parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import type { CallPlan } from '../../src/core/routing/call-plan.ts'
import type { PlanOptions } from '../../src/core/routing/plan-offers.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'
import { chatOf, envelopeOf } from '../helpers/call-shapes.ts'
import { planOf } from '../helpers/plan-of.ts'

const price = fc.tuple(fc.nat(400), fc.nat(999_999)).map(([whole, decimals]) => `${whole}.${decimals}`)
const model = fc.record({
  list_price: fc.record({ prompt: price, completion: price }),
  max_output_tokens: fc.integer({ min: 1, max: 8_000 }),
  open_weights: fc.boolean(),
})
const models = fc.array(model, { minLength: 1, maxLength: 4 })

const catalogOf = (described: Array<Record<string, unknown>>) =>
  builtCatalog([
    {
      replace: true,
      providers: ['alpha', 'beta'].map((id) => ({
        id,
        base_url: `http://${id}.test/v1`,
        api_key_env: `${id.toUpperCase()}_KEY`,
      })),
      models: described.map((fields, index) => ({
        id: `test/${index}`,
        vendor: 'test',
        context_length: 100_000,
        offers: ['alpha', 'beta'].map((provider) => ({ provider, upstream_model: `m${index}` })),
        ...fields,
      })),
    },
  ])

const asked = fc.record({
  /** Which models, in what order; `auto` when none. */
  picks: fc.array(fc.nat(3), { maxLength: 4 }),
  prompt: fc.string({ maxLength: 200, unit: 'grapheme' }),
  completionLimit: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined }),
  maxPrice: fc.option(fc.integer({ min: 0, max: 5_000_000 }), { nil: undefined }),
})

/** The client's BYOK keys, and the share of the listed rate that is charged for calls on them. */
const owned = fc.record({
  byokKeys: fc.array(
    fc.record({
      id: fc.uuid(),
      providerId: fc.constantFrom('alpha', 'beta'),
      allowFallback: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  byokFeePercent: fc.nat(100),
})

/** Anything a provider may say it used. */
const claim = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.nat({ max: 30_000 }),
  fc.constantFrom(-1, 0, 1e15, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY),
)

/** What admission may grant: the whole plan, or what a short balance affords. */
const granted = fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined })

const limited = (candidate: Candidate, limit: number): Candidate => ({
  ...candidate,
  completionLimit: Math.min(candidate.completionLimit, limit),
})

describe('a charge is never above its hold', () => {
  test('for any plan, any grant of admission, and any usage a provider may claim', async () => {
    let planned = 0
    let onOwnKeys = 0
    await fc.assert(
      fc.asyncProperty(
        models,
        asked,
        owned,
        granted,
        claim,
        claim,
        fc.nat(7),
        async (described, ask, own, grant, prompt, completion, at) => {
          const catalog = catalogOf(described)
          const request = requestFor(ask, described.length)
          const { messages, parameters } = request.content
          const bound = promptTokensBound(messages, parameters)
          const plan = tryPlan(request, bound, catalog, own)
          if (!plan) return
          planned += 1
          const limit = Math.min(grant ?? plan.completionLimit, plan.completionLimit)
          // As src/billing/holds/admit.lua holds: the worst case, or the dearest terms at what the balance affords.
          const hold =
            grant === undefined
              ? plan.worstCase
              : plan.dearestPrompt + BigInt(limit) * plan.dearestCompletionRate
          const candidates = plan.candidates.map((candidate) => limited(candidate, limit))
          const envelope = envelopeOf({ candidates, holdPico: String(hold) })
          const served = candidates[at % candidates.length]!
          const finalUsage = { promptTokens: prompt, completionTokens: completion }
          const { used } = await usageOf(
            { text: 'An answer.', finalUsage, produced: NOTHING_PRODUCED },
            { envelope, content: request.content, served },
          )
          const end = {
            status: 'completed' as const,
            finishReason: 'stop' as const,
            message: { content: 'An answer.' },
            served,
            attempts: [],
            firstTokenAt: null,
            ...used,
          }
          if (served.providerKeyId !== undefined) onOwnKeys += 1
          const record = settlementOf(end, envelope, catalog, { claimedAt: 0, finishedAt: 0 })

          const charge = BigInt(record.chargePico)
          expect(charge).toBeGreaterThanOrEqual(0n)
          expect(charge).toBeLessThanOrEqual(hold)
          // Not by cutting the charge, but because the usage cannot be more: the record explains the charge.
          expect(charge).toBe(
            BigInt(record.usage.promptTokens) * BigInt(served.rate.prompt) +
              BigInt(record.usage.completionTokens) * BigInt(served.rate.completion),
          )
          if (ask.maxPrice !== undefined)
            expect(charge).toBeLessThanOrEqual(BigInt(ask.maxPrice) * 1_000_000n)
        },
      ),
      { numRuns: 3_000 },
    )
    expect(planned).toBeGreaterThan(1_000)
    expect(onOwnKeys).toBeGreaterThan(300)
  })

  test('the entries of any charge sum to zero, and take exactly the charge from its customer', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 2n ** 63n - 1n), (charge) => {
        const posting = capturePosting('chatcmpl_1', 'acct_1', picoUsd(charge))
        assertBalanced(posting)
        expect(posting.entries.reduce((sum, entry) => sum + entry.amountPico, 0n)).toBe(0n)
        expect(balanceChange(posting)).toBe(-charge)
      }),
    )
  })
})

function tryPlan(
  request: ChatRequest,
  bound: number,
  catalog: Parameters<typeof planOf>[2],
  own: Pick<PlanOptions, 'byokKeys' | 'byokFeePercent'>,
): CallPlan | null {
  try {
    const options = { defaultCompletionLimit: 4_096, ...own, maxCandidates: 8, random: () => 0.5 }
    return planOf(request, bound, catalog, options)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

function requestFor(
  {
    picks,
    prompt,
    completionLimit,
    maxPrice,
  }: { picks: number[]; prompt: string } & {
    completionLimit: number | undefined
    maxPrice: number | undefined
  },
  modelCount: number,
): ChatRequest {
  return {
    models: picks.length === 0 ? ['auto'] : picks.map((pick) => `test/${pick % modelCount}`),
    stream: false,
    completionLimit,
    preferences: {
      ...parsePreferences({}),
      maxPrice: {
        prompt: undefined,
        completion: undefined,
        // In millionths of a USD.
        request: maxPrice === undefined ? undefined : picoUsd(BigInt(maxPrice) * parseUsd('0.000001')),
      },
    },
    content: chatOf(prompt),
  }
}
