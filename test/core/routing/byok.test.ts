import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { costOf } from '../../../src/core/billing/pricing.ts'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { parseExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import type { Offer, Provider } from '../../../src/core/catalog/catalog.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { parseUsd } from '../../../src/core/kernel/money.ts'
import { type ByokKey, byokFailure, byokKeyStatus } from '../../../src/core/routing/byok.ts'
import { feeRate, feeRateVersion } from '../../../src/core/routing/plan-candidate.ts'
import { capacityFor, type PlanOptions } from '../../../src/core/routing/plan-offers.ts'
import { planOf } from '../../helpers/plan-of.ts'
import { offer, model as plainModel, provider, rates, snapshot } from '../../helpers/planned-catalog.ts'

const keyed = (id: string, more: Partial<Provider> = {}) => provider(id, { apiKeyEnv: `${id}_KEY`, ...more })
const model = (id: string, offers: Offer[]) =>
  plainModel(id, offers, { contextLength: 1_000, rate: rates(1_000_019, 2_000_000) })
const key = (id: string, providerId: string, allowFallback = false): ByokKey => ({
  id,
  providerId,
  allowFallback,
})

const a = offer(keyed('a', { zdr: true }), 10)
const b = offer(keyed('b'), 10)
const unshared = offer(keyed('c'), 10, { shared: false })
const keyless = offer(provider('d'), 10)
const seedless = offer(keyed('e', { quirks: { omit: ['seed'] } }), 10)
const seeds = offer(keyed('f'), 10)
const catalog = snapshot([
  model('x', [a, b, unshared]),
  model('y', [b]),
  model('z', [keyless]),
  { ...model('seeds', [seedless, seeds]), supportedParameters: ['temperature'] },
])

function plan(body: Record<string, unknown>, byokKeys: ByokKey[], more: Partial<PlanOptions> = {}) {
  const parse = body.seed === undefined ? parseChatRequest : parseExtendedRequest
  const request = parse({ messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100, ...body })
  const options = { defaultCompletionLimit: 100, byokFeePercent: 5, maxCandidates: 8, random: () => 0.5 }
  return planOf(request, 10, catalog, { ...options, byokKeys, ...more })
}
const targets = (body: Record<string, unknown>, keys: ByokKey[], more: Partial<PlanOptions> = {}) =>
  plan(body, keys, more).candidates.map(({ offerId, providerKeyId }) => [offerId, providerKeyId ?? 'ours'])
function refusal(body: Record<string, unknown>, keys: ByokKey[]) {
  try {
    plan(body, keys)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('a plan was made')
}

describe("a plan with the client's BYOK keys", () => {
  test('goes to the provider of the key, and to shared capacity only where the key allows it', () => {
    expect(targets({ model: 'x' }, [key('k', 'a')])).toEqual([['a/up', 'k']])
    const withFallback = targets({ model: 'x' }, [key('k', 'a', true)])
    expect(withFallback[0]).toEqual(['a/up', 'k'])
    expect(withFallback.slice(1).sort()).toEqual([
      ['a/up', 'ours'],
      ['b/up', 'ours'],
    ])
  })

  test('keeps to the key, and to the order of providers, where only another offer honours a hint', () => {
    const seed = { model: 'seeds', seed: 1 }
    expect(targets(seed, [])).toEqual([['f/up', 'ours']])
    expect(targets(seed, [key('k', 'e', true)])[0]).toEqual(['e/up', 'k'])
    expect(targets({ ...seed, provider: { order: ['e'] } }, [])[0]).toEqual(['e/up', 'ours'])
    expect(targets({ ...seed, provider: { require_parameters: true } }, [key('k', 'e', true)])).toEqual([
      ['f/up', 'ours'],
    ])
  })

  test('reaches offers that we hold no key for', () => {
    expect(targets({ model: 'x' }, [key('k', 'c')])).toEqual([['c/up', 'k']])
  })

  test('leaves models alone that none of the keys could serve', () => {
    expect(targets({ models: ['x', 'y'] }, [key('k', 'a')])).toEqual([
      ['a/up', 'k'],
      ['b/up', 'ours'],
    ])
  })

  test('keeps to BYOK keys as soon as one of them allows no fallback', () => {
    const keys = [key('k1', 'a', true), key('k2', 'b')]
    expect(
      targets({ model: 'x' }, keys)
        .map(([, used]) => used)
        .sort(),
    ).toEqual(['k1', 'k2'])
  })

  test('tries every key of one provider, in the order in which they were stored', () => {
    expect(targets({ model: 'x' }, [key('k1', 'a'), key('k2', 'a')])).toEqual([
      ['a/up', 'k1'],
      ['a/up', 'k2'],
    ])
  })

  test('keeps to the preferences, among the own and among the shared', () => {
    const both = [key('ka', 'a', true), key('kb', 'b', true)]
    expect(targets({ model: 'x', provider: { order: ['b', 'a'] } }, both)).toEqual([
      ['b/up', 'kb'],
      ['a/up', 'ka'],
      ['b/up', 'ours'],
      ['a/up', 'ours'],
    ])
    expect(targets({ model: 'x', provider: { zdr: true } }, both)).toEqual([
      ['a/up', 'ka'],
      ['a/up', 'ours'],
    ])
    expect(targets({ model: 'x', provider: { allow_fallbacks: false, only: ['b'] } }, both)).toEqual([
      ['b/up', 'kb'],
    ])
  })

  test('is refused, and says why, when the preferences leave no key and the keys no fallback', () => {
    const error = refusal({ model: 'x', provider: { ignore: ['a'] } }, [key('k', 'a')])
    expect(error).toMatchObject({ code: 'no_provider_available', details: { shouldRetry: false } })
    expect(error.message).toContain('allow_fallback')
    expect(targets({ model: 'x', provider: { ignore: ['a'] } }, [key('k', 'a', true)])).toEqual([
      ['b/up', 'ours'],
    ])
  })

  test('compares max_price with the listed rate, not with the fee', () => {
    const keys = [key('k', 'a')]
    expect(refusal({ model: 'x', provider: { max_price: { prompt: 0.5 } } }, keys).code).toBe(
      'no_provider_available',
    )
    const capped = plan({ model: 'x', provider: { max_price: { request: '0.00005' } } }, keys)
    const listed = costOf(
      { promptTokens: 10, completionTokens: capped.candidates[0]!.completionLimit },
      catalog.models.get('x')!.rate,
    )
    expect(capped.candidates[0]!.completionLimit).toBeGreaterThan(0)
    expect(listed).toBeLessThanOrEqual(parseUsd('0.00005'))
  })

  test('holds the fee alone where nothing else may be charged, else the listed rate', () => {
    const [own] = plan({ model: 'x' }, [key('k', 'a')]).candidates
    expect(own).toMatchObject({
      rate: { prompt: '50000', completion: '100000' },
      rateVersion: 'r1-byok-5',
      providerKeyId: 'k',
    })
    expect(plan({ model: 'x' }, [key('k', 'a')]).worstCase).toBe(10n * 50_000n + 100n * 100_000n)
    expect(plan({ model: 'x' }, [key('k', 'a', true)]).worstCase).toBe(10n * 1_000_019n + 100n * 2_000_000n)
  })

  test('is not kept from a provider that fares badly with our key', () => {
    const offerState = () => ({ health: 'down' as const })
    expect(targets({ model: 'x' }, [key('k', 'a', true)], { offerState, maxCandidates: 1 })).toEqual([
      ['a/up', 'k'],
    ])
  })

  test('sends prompts that would cost us more than they bring in to a key that somebody else pays for', () => {
    const long = offer(keyed('e'), 10, { coveredTokens: 1 })
    const small = snapshot([model('w', [long])])
    const request = parseChatRequest({ messages: [{ role: 'user', content: 'Hi' }], model: 'w' })
    const options = { defaultCompletionLimit: 100, byokFeePercent: 5, maxCandidates: 8, random: () => 0.5 }
    expect(() => planOf(request, 50, small, options)).toThrow('longer than the context')
    const own = planOf(request, 50, small, { ...options, byokKeys: [key('k', 'e', true)] })
    expect(own.candidates.map(({ providerKeyId }) => providerKeyId)).toEqual(['k'])
  })

  test('opens no shared capacity to a model that the provider of a key without fallback has left out of its list', () => {
    const unlisted = { ...model('m', [b]), withdrawn: [{ offer: a, reason: 'unlisted' as const }] }
    expect(capacityFor(unlisted, [key('k', 'a')])).toEqual({ own: new Map(), shared: [], ownOnly: true })
    expect(capacityFor(unlisted, [key('k', 'a', true)])).toMatchObject({ shared: [b], ownOnly: false })
  })

  test('brings no key to a provider that asks for none', () => {
    expect(targets({ model: 'z' }, [key('k', 'd')])).toEqual([['d/up', 'ours']])
    expect(capacityFor(catalog.models.get('z')!, [key('k', 'd')])).toMatchObject({
      ownOnly: false,
      shared: [keyless],
    })
  })
})

describe('the routing fee', () => {
  test('is the share of the listed rate cut down to whole pico-USD a token, so never above it', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 10n ** 12n),
        fc.bigInt(0n, 10n ** 12n),
        fc.integer({ min: 0, max: 100 }),
        fc.nat(1_000_000),
        fc.nat(1_000_000),
        (prompt, completion, percent, promptTokens, completionTokens) => {
          const listed = rates(prompt, completion)
          const usage = { promptTokens, completionTokens }
          const fee = costOf(usage, feeRate(listed, percent))
          const exactTimes100 = costOf(usage, listed) * BigInt(percent)
          expect(fee * 100n <= exactTimes100).toBe(true)
          const tokens = BigInt(promptTokens + completionTokens)
          expect(exactTimes100 - fee * 100n <= 99n * tokens).toBe(true)
        },
      ),
    )
  })

  test('has another version for another percentage or another listed rate', () => {
    const versions = [
      feeRateVersion({ rateVersion: 'r1' }, 5),
      feeRateVersion({ rateVersion: 'r1' }, 6),
      feeRateVersion({ rateVersion: 'r2' }, 5),
    ]
    expect(new Set(versions).size).toBe(3)
  })
})

test('a key is what its provider said of it last, and unchecked until it said anything', () => {
  const now = new Date()
  const fresh = { disabled: false, refusals: 0, lastError: null, failingSince: null, acceptedAt: null }
  expect(byokKeyStatus(fresh)).toBe('unchecked')
  expect(byokKeyStatus({ ...fresh, acceptedAt: now })).toBe('active')
  expect(byokKeyStatus({ ...fresh, acceptedAt: now, refusals: 1 })).toBe('refused')
  expect(byokKeyStatus({ ...fresh, refusals: 3, failingSince: now })).toBe('failing')
  expect(byokKeyStatus({ ...fresh, refusals: 9, failingSince: now, lastError: 'unreachable' })).toBe(
    'unreachable',
  )
  expect(byokKeyStatus({ ...fresh, acceptedAt: now, disabled: true })).toBe('disabled')
})

test.each([
  ['ok', 200, null],
  ['cancelled', null, null],
  ['bad-request', 400, null],
  ['refused', 401, 'unauthorized'],
  ['refused', 400, 'unauthorized'],
  ['refused', 402, 'payment_required'],
  ['refused', 403, 'forbidden'],
  ['refused', 404, 'model_not_found'],
  ['refused', null, 'not_in_use'],
  ['rate-limited', 429, 'rate_limited'],
  ['key-unavailable', null, 'unavailable'],
  ['server-error', 500, 'provider_failed'],
])('an attempt that ended as %s with %s fails by reason of %s', (outcome, status, reason) => {
  expect(byokFailure(outcome, status)).toBe(reason)
})
