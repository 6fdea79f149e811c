import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  partsFault,
  type UsageLimits,
  usageOf,
  withinHold,
} from '../../src/calls/worker/attempts/call-usage.ts'
import { catalogModel } from '../../src/catalog/model-list.ts'
import { pricingFeed } from '../../src/catalog/pricing-feed.ts'
import { costOf, mostPromptCost } from '../../src/core/billing/pricing.ts'
import { NOTHING_PRODUCED } from '../../src/core/calls/attempt-outcome.ts'
import type { ChatRequest } from '../../src/core/calls/chat-request.ts'
import { parsePreferences } from '../../src/core/calls/provider-preferences.ts'
import { readRates } from '../../src/core/catalog/token-rates.ts'
import { picoUsdPerToken } from '../../src/core/kernel/money.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'
import { candidateOf, chatOf, envelopeOf } from '../helpers/call-shapes.ts'
import { planOf } from '../helpers/plan-of.ts'

const LIST = { prompt: '1', completion: '4', cache_read: '0.1', cache_write: '1.25' }

const catalogOf = (offer: Record<string, unknown> = {}, model: Record<string, unknown> = {}) =>
  builtCatalog([
    {
      replace: true,
      providers: [{ id: 'alpha', base_url: 'http://alpha.test/v1', api_key_env: 'ALPHA_KEY' }],
      models: [
        {
          id: 'test/one',
          vendor: 'test',
          context_length: 100_000,
          list_price: LIST,
          offers: [{ provider: 'alpha', upstream_model: 'one', ...offer }],
          ...model,
        },
      ],
    },
  ])

test('tokens that stay in the cache for an hour, searches and programs have prices of their own', () => {
  const rate = readRates({
    prompt: '10',
    completion: '2',
    cacheWrite: '12',
    cacheWriteHour: '20',
    webSearch: '1000',
    codeExecution: '500',
  })
  const tokens = { promptTokens: 10, completionTokens: 1, cacheWriteTokens: 6, cacheWriteHourTokens: 4 }
  expect(costOf(tokens, rate)).toBe(BigInt(4 * 10 + 2 * 12 + 4 * 20 + 2))
  const uses = { webSearches: 3, codeExecutions: 1 }
  expect(costOf({ ...tokens, ...uses }, rate)).toBe(BigInt(4 * 10 + 2 * 12 + 4 * 20 + 2 + 3_500))
  const bound = { promptTokens: 10, audioTokens: 0, imageTokens: 0, ...uses }
  expect(mostPromptCost(bound, rate)).toBe(10n * 20n + 3_500n)
})

const modelOf = (...given: Parameters<typeof catalogOf>) => catalogOf(...given).models.get('test/one')!

const preferences = (maxPrompt?: bigint): ChatRequest['preferences'] => {
  const none = parsePreferences({})
  const prompt = maxPrompt === undefined ? undefined : picoUsdPerToken(maxPrompt)
  return { ...none, maxPrice: { ...none.maxPrice, prompt } }
}

const plan = (
  snapshot: ReturnType<typeof catalogOf>,
  { extended, ...request }: Partial<ChatRequest> & { extended?: true },
  byokKeys: Array<{ id: string; providerId: string; allowFallback: boolean }> = [],
) =>
  planOf(
    {
      models: ['test/one'],
      stream: false,
      completionLimit: 10,
      preferences: preferences(),
      content: chatOf('Hi', extended && { extended }),
      ...request,
    },
    100,
    snapshot,
    { defaultCompletionLimit: 100, byokKeys, byokFeePercent: 10, maxCandidates: 8, random: () => 0.5 },
  )

const planned = (...given: Parameters<typeof plan>) => plan(...given).candidates[0]!.rate

const EXTENDED = { extended: true } as const

describe('cache rates', () => {
  test('have the discount of the others and stand in the feed and in the version', () => {
    const model = modelOf()
    expect(model.rate).toEqual({
      prompt: 950_000n,
      completion: 3_800_000n,
      cacheRead: 95_000n,
      cacheWrite: 1_187_500n,
    })
    const plain = modelOf({}, { list_price: { prompt: '1', completion: '4' } })
    expect(plain.rateVersion).not.toBe(model.rateVersion)
    expect(pricingFeed(catalogOf(), new Map()).data[0]).toMatchObject({
      cache_read: '0.095',
      cache_write: '1.1875',
      list_cache_read: '0.10',
      list_cache_write: '1.25',
      discount: '0.05',
    })
  })

  test('are on the candidates of an extended call, and not on those of POST /v1/chat/completions', () => {
    const snapshot = catalogOf()
    expect(planned(snapshot, EXTENDED)).toEqual({
      prompt: '950000',
      completion: '3800000',
      cacheRead: '95000',
      cacheWrite: '1187500',
    })
    expect(planned(snapshot, {})).toEqual({ prompt: '950000', completion: '3800000' })
  })

  test.each<[string, Record<string, unknown>]>([
    ['has list prices of its own and none for its cache', { list_price: { prompt: '1', completion: '4' } }],
    ['takes more for its cache than we do', { list_price: { ...LIST, cache_read: '0.2' } }],
    ['is said to cost more', { cost: { prompt: '0.9', completion: '3', cache_write: '1.2' } }],
  ])("are not on candidates whose provider %s: its cached tokens cost the prompt's rate", (_, offer) => {
    const snapshot = catalogOf(offer)
    expect(snapshot.models.get('test/one')!.offers[0]).toMatchObject({ shared: true, lossCache: true })
    expect(planned(snapshot, EXTENDED)).toEqual({ prompt: '950000', completion: '3800000' })
    const { offers } = catalogModel(snapshot.models.get('test/one')!)
    expect(Object.keys(offers[0]!.margin)).toEqual(['prompt', 'completion'])
  })

  test("become the fee's on a BYOK key, whatever the cache would cost us", () => {
    const byokKeys = [{ id: 'pkey_1', providerId: 'alpha', allowFallback: false }]
    const snapshot = catalogOf({ list_price: { prompt: '1', completion: '4' } })
    expect(planned(snapshot, EXTENDED, byokKeys)).toEqual({
      prompt: '95000',
      completion: '380000',
      cacheRead: '9500',
      cacheWrite: '118750',
    })
  })

  test('of writing count towards max_price.prompt of an extended call', () => {
    const capped = (extended: boolean, most: bigint) =>
      plan(catalogOf(), { ...(extended && EXTENDED), preferences: preferences(most) }).candidates.length
    expect(capped(false, 950_000n)).toBe(1)
    expect(capped(true, 1_187_500n)).toBe(1)
    expect(() => capped(true, 1_187_499n)).toThrow()
  })
})

const limitsOf = (limits: Partial<UsageLimits> = {}): UsageLimits => ({
  promptTokensBound: 100,
  contextLength: 100_000,
  completionLimit: 10,
  hasMedia: false,
  pricesCache: true,
  contentBytes: 10,
  mayReason: false,
  ...limits,
})

describe('the hold', () => {
  test('is taken at the dearest of the rates that a prompt may be charged at', () => {
    expect(plan(catalogOf(), EXTENDED).dearestPrompt).toBe(100n * 1_187_500n)
    expect(plan(catalogOf(), {}).dearestPrompt).toBe(100n * 950_000n)
  })

  test('covers any split of a prompt into its parts, whatever the rates', () => {
    const [tokens, bound] = [fc.nat(3_000), fc.nat(1_000)]
    const price = fc.option(
      fc.nat(1_000).map((pico) => picoUsdPerToken(BigInt(pico))),
      { nil: undefined },
    )
    const parts = fc.record({
      promptTokens: tokens,
      audioTokens: tokens,
      imageTokens: tokens,
      cachedTokens: tokens,
      cacheWriteTokens: tokens,
    })
    const prices = fc.record({ promptAudio: price, promptImage: price, cacheRead: price, cacheWrite: price })
    fc.assert(
      fc.property(parts, prices, fc.tuple(bound, bound, bound), (said, rates, [prompt, audio, image]) => {
        const known = Object.fromEntries(Object.entries(rates).filter(([, each]) => each !== undefined))
        const rate = { prompt: picoUsdPerToken(100n), completion: picoUsdPerToken(0n), ...known }
        const bounds = { audioTokensBound: audio, imageTokensBound: image }
        const limits = limitsOf({ promptTokensBound: prompt, ...bounds })
        const used = withinHold({ ...said, completionTokens: 0 }, limits)
        const {
          promptTokens,
          audioTokens = 0,
          imageTokens = 0,
          cachedTokens = 0,
          cacheWriteTokens = 0,
        } = used
        expect(audioTokens + imageTokens + cachedTokens + cacheWriteTokens).toBeLessThanOrEqual(promptTokens)
        expect(costOf(used, rate)).toBeLessThanOrEqual(
          mostPromptCost({ promptTokens: prompt, audioTokens: audio, imageTokens: image }, rate),
        )
      }),
    )
  })
})

describe('what a provider reports of its prompt cache', () => {
  const usage = (cachedTokens: number, cacheWriteTokens = 0) => ({
    promptTokens: 50,
    completionTokens: 1,
    cachedTokens,
    cacheWriteTokens,
  })

  test.each<[string, ReturnType<typeof usage>, 'absurd' | null]>([
    ['stands where it can be', usage(40, 10), null],
    ['cannot be more than the prompt', usage(40, 11), 'absurd'],
    ['cannot be below zero', usage(-1), 'absurd'],
    ['cannot be a fraction', usage(0.5), 'absurd'],
  ])('%s', (_, reported, fault) => {
    expect(partsFault(reported, limitsOf())).toBe(fault)
  })

  const charged = async (cachedTokens: number, rate: Record<string, string>) => {
    const served = candidateOf({ rate: { prompt: '10', completion: '2', ...rate } })
    const answer = {
      text: 'one two three',
      finalUsage: { promptTokens: 80, completionTokens: 3, cachedTokens },
      produced: NOTHING_PRODUCED,
    }
    const call = { envelope: envelopeOf(), content: chatOf(), served }
    const { used } = await usageOf(answer, call, { text: async () => 3, prompt: async () => 90 })
    return { ...used, cost: costOf(used.usage, readRates(served.rate)) }
  }

  test('is charged at its own rates, exactly', async () => {
    expect(await charged(60, { cacheRead: '1' })).toMatchObject({
      usage: { promptTokens: 80, completionTokens: 3, cachedTokens: 60 },
      usageClamped: false,
      cost: 20n * 10n + 60n + 3n * 2n,
    })
  })

  test('is replaced by our own count of the prompt where it cannot be', async () => {
    expect(await charged(81, { cacheRead: '1' })).toMatchObject({
      usage: { promptTokens: 90, completionTokens: 3 },
      usageClamped: true,
      cost: 906n,
    })
  })

  test('is reported, and costs as much as the other tokens, where it has no rate of its own', async () => {
    for (const [cachedTokens, told] of [
      [60, { cachedTokens: 60 }],
      [9_999, {}],
      [0.5, {}],
    ] as const) {
      const { usage: used, usageClamped, cost } = await charged(cachedTokens, {})
      expect({ used, usageClamped, cost }).toEqual({
        used: { promptTokens: 80, completionTokens: 3, ...told },
        usageClamped: false,
        cost: 806n,
      })
    }
  })
})
