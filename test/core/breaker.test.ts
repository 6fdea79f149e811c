import { describe, expect, test } from 'vitest'
import {
  BREAKER_MAX_COOLDOWN_MS,
  breakerState,
  firstCooldownMs,
  formatBreakerEntry,
  parseBreakerEntry,
  reopened,
} from '../../src/core/breaker.ts'

const entry = { reason: 'failing', untilMs: 1_000, cooldownMs: 500 } as const

describe('the breaker', () => {
  test('is closed without an entry, open until its time, half-open from then on', () => {
    expect(breakerState(undefined, 0)).toBe('closed')
    expect(breakerState(entry, 999)).toBe('open')
    expect(breakerState(entry, 1_000)).toBe('half-open')
  })

  test('doubles its cooldown with every failed probe, up to two minutes', () => {
    expect(reopened(entry, 2_000)).toEqual({ reason: 'failing', untilMs: 3_000, cooldownMs: 1_000 })
    expect(reopened({ ...entry, cooldownMs: 100_000 }, 0).cooldownMs).toBe(BREAKER_MAX_COOLDOWN_MS)
  })

  test('stays open longer for an offer that refuses us', () => {
    expect(firstCooldownMs('refused', 10_000)).toBeGreaterThan(firstCooldownMs('failing', 10_000))
  })

  test('an entry survives being kept, and nothing else is taken for one', () => {
    expect(parseBreakerEntry(formatBreakerEntry(entry))).toEqual(entry)
    for (const text of ['', 'failing:1', 'broken:1:2', 'failing:x:2'])
      expect(parseBreakerEntry(text)).toBeNull()
  })
})
