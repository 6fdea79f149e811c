import { describe, expect, test } from 'vitest'
import {
  accountShare,
  accountSubject,
  type BreakerEntry,
  breakerState,
  firstCooldownMs,
  formatBreakerEntry,
  isOfOffer,
  offerOfAccountSubject,
  parseBreakerEntry,
  probeVerdict,
  providerOfOffer,
  reopened,
} from '../../../src/core/failover/circuit-breaker.ts'

const entry = { reason: 'failing', untilMs: 1_000, cooldownMs: 500 } as const

describe('the breaker', () => {
  test('is closed without an entry, open until its time, half-open from then on', () => {
    expect(breakerState(undefined, 0)).toBe('closed')
    expect(breakerState(entry, 999)).toBe('open')
    expect(breakerState(entry, 1_000)).toBe('half-open')
  })

  test('doubles its cooldown with every failed probe, up to fifteen seconds', () => {
    expect(reopened(entry, 2_000, 2_000)).toEqual({ reason: 'failing', untilMs: 3_000, cooldownMs: 1_000 })
    expect(reopened({ ...entry, cooldownMs: 10_000 }, 0, 0).cooldownMs).toBe(15_000)
    expect(firstCooldownMs('failing', 60_000)).toBe(15_000)
  })

  test('probes again fifteen seconds after a probe began, or soon after one that took longer', () => {
    const longest = { ...entry, cooldownMs: 15_000 }
    expect(reopened(longest, 10_000, 0).untilMs).toBe(15_000)
    expect(reopened(longest, 30_000, 0).untilMs).toBe(33_750)
  })

  test('an account breaker is separate from the breaker of the offer, and closes with it', () => {
    const subject = accountSubject('acme/large@1#x', 'acct_1')
    expect(offerOfAccountSubject(subject)).toBe('acme/large@1#x')
    expect(offerOfAccountSubject('acme/large@1#x')).toBeNull()
    expect(isOfOffer(subject, 'acme/large@1#x')).toBe(true)
    expect(providerOfOffer(subject)).toBe('acme')
    expect([1, 2, 5, 10].map(accountShare)).toEqual([1, 1, 2, 4])
  })

  test('stays open longer for an offer that refuses us, and is probed ever more rarely, up to half an hour', () => {
    expect(firstCooldownMs('refused', 10_000)).toBe(6 * firstCooldownMs('failing', 10_000))
    let refused: BreakerEntry = { reason: 'refused', untilMs: 0, cooldownMs: 60_000 }
    const minutes: number[] = []
    for (let probe = 0; probe < 7; probe++) {
      refused = reopened(refused, 0, 0)
      minutes.push(refused.cooldownMs / 60_000)
    }
    expect(minutes).toEqual([2, 4, 8, 16, 30, 30, 30])
  })

  test('belongs to the provider whose id the offer’s begins with', () => {
    expect(providerOfOffer('acme/large-1')).toBe('acme')
    expect(providerOfOffer('acme/org/large-1@vendor/large')).toBe('acme')
    expect(providerOfOffer('acme')).toBe('acme')
  })

  test.each([
    ['success', 'offer', { outcome: 'close', tellsOfOffer: false }],
    ['success', 'provider', { outcome: 'close', tellsOfOffer: false }],
    ['failure', 'offer', { outcome: 'reopen', tellsOfOffer: false }],
    // An outage says nothing of our key.
    ['failure', 'provider', { outcome: 'abandon', tellsOfOffer: true }],
    ['none', 'offer', { outcome: 'abandon', tellsOfOffer: false }],
    ['none', 'provider', { outcome: 'abandon', tellsOfOffer: false }],
  ] as const)('a probe with %s at the breaker of the %s', (kind, level, verdict) => {
    expect(probeVerdict({ kind }, level, 'failing')).toEqual(verdict)
  })

  test('a probe that is refused reopens the breaker it is about, and no other', () => {
    const byProvider = { kind: 'refused', by: 'provider' } as const
    const byOffer = { kind: 'refused', by: 'offer' } as const
    expect(probeVerdict(byProvider, 'provider', 'refused').outcome).toBe('reopen')
    expect(probeVerdict(byOffer, 'offer', 'refused').outcome).toBe('reopen')
    // The key was taken: only this model is refused.
    expect(probeVerdict(byOffer, 'provider', 'refused')).toEqual({ outcome: 'close', tellsOfOffer: true })
    expect(probeVerdict(byProvider, 'offer', 'refused')).toEqual({ outcome: 'abandon', tellsOfOffer: true })
    // From failing to refused it opens anew.
    expect(probeVerdict(byOffer, 'offer', 'failing')).toEqual({ outcome: 'abandon', tellsOfOffer: true })
  })

  test('an entry survives being kept, and nothing else is taken for one', () => {
    expect(parseBreakerEntry(formatBreakerEntry(entry))).toEqual(entry)
    for (const text of ['', 'failing:1', 'broken:1:2', 'failing:x:2'])
      expect(parseBreakerEntry(text)).toBeNull()
  })
})
