import { describe, expect, test } from 'vitest'
import {
  addCount,
  bucketOf,
  type Counter,
  emptyCounts,
  formatCounter,
  HALF_LIFE_MS,
  parseCounter,
  SLOT_MS,
  type SlotCounts,
  slotOf,
  statsOf,
  tokensPerSecond,
} from '../../../src/core/routing/measures.ts'

const NOW = 1_700_000_000_000
const OFFER = 'acme/org/large 1@v/large'

/** The slot so long ago, with first tokens of these milliseconds. */
function slot(
  agoMs: number,
  firstTokensMs: number[],
  ends: Partial<SlotCounts['endings']> = {},
): [number, SlotCounts] {
  const counts = emptyCounts()
  for (const ms of firstTokensMs) addCount(counts, { kind: 'first-token', bucket: bucketOf(ms) }, 1)
  for (const [kind, count] of Object.entries(ends)) addCount(counts, { kind } as Counter, count)
  return [slotOf(NOW - agoMs), counts]
}
const times = (count: number, value: number): number[] => Array.from({ length: count }, () => value)

describe('percentiles', () => {
  test('are read off to within five percent', () => {
    const values = Array.from({ length: 1_000 }, (_, index) => 50 + index * 3)
    const { firstTokenMs } = statsOf([slot(0, values)], NOW)
    for (const [share, read] of [
      [0.5, firstTokenMs!.p50],
      [0.9, firstTokenMs!.p90],
      [0.99, firstTokenMs!.p99],
    ] as const) {
      const exact = values[Math.ceil(share * values.length) - 1]!
      expect(Math.abs(read / exact - 1)).toBeLessThan(0.05)
    }
  })

  test('lean to what is recent: an old measurement weighs half as much for every half-life', () => {
    const slots = [slot(2 * HALF_LIFE_MS, times(30, 1_000)), slot(0, times(10, 100))]
    // 30 a quarter each against 10: the recent ones have the median.
    expect(statsOf(slots, NOW).firstTokenMs!.p50).toBeLessThan(110)
    expect(
      statsOf([slot(HALF_LIFE_MS / 2, times(30, 1_000)), slots[1]!], NOW).firstTokenMs!.p50,
    ).toBeGreaterThan(900)
  })

  test('are not known of an offer that was hardly or long ago measured', () => {
    expect(statsOf([], NOW).firstTokenMs).toBeNull()
    expect(statsOf([slot(0, [100])], NOW).firstTokenMs).not.toBeNull()
    expect(statsOf([slot(HALF_LIFE_MS + SLOT_MS, [100])], NOW).firstTokenMs).toBeNull()
  })

  test('stay within the buckets there are, whatever was measured', () => {
    for (const value of [-1, 0, 0.001, 1e-300]) expect(bucketOf(value)).toBe(0)
    for (const value of [2 ** 24, 1e300, Number.POSITIVE_INFINITY])
      expect(bucketOf(value)).toBe(bucketOf(2 ** 24))
  })
})

describe('endings', () => {
  test('are summed over the last minute and the last ten', () => {
    const stats = statsOf(
      [
        slot(0, [], { success: 5 }),
        slot(50_000, [], { failure: 2 }),
        slot(500_000, [], { success: 10, 'rate-limited': 1 }),
        slot(700_000, [], { success: 100 }),
      ],
      NOW,
    )
    expect(stats.lastMinute).toEqual({ success: 5, failure: 2, 'rate-limited': 0 })
    expect(stats.lastTenMinutes).toEqual({ success: 15, failure: 2, 'rate-limited': 1 })
  })
})

describe('a counter', () => {
  test('survives being kept, and nothing else is taken for one', () => {
    const counters: Counter[] = [{ kind: 'success' }, { kind: 'rate-limited' }, { kind: 'speed', bucket: 57 }]
    for (const counter of counters)
      expect(parseCounter(formatCounter(OFFER, counter))).toEqual({ offerId: OFFER, counter })
    for (const field of ['', 's', 'x a/b', 't a/b', 's7 a/b', 't999 a/b', 't-1 a/b', 'constructor a/b'])
      expect(parseCounter(field)).toBeNull()
  })
})

describe('tokens a second', () => {
  const answer = {
    completionTokens: 101,
    startedAt: NOW,
    firstTokenAt: NOW + 1_000,
    endedAt: NOW + 3_000,
    reasoning: false,
  }

  test('count from the first token on', () => {
    expect(tokensPerSecond(answer)).toBe(50)
  })

  test('count over the whole attempt where the first token came late for thinking, or all came at once', () => {
    expect(tokensPerSecond({ ...answer, completionTokens: 300, reasoning: true })).toBe(100)
    expect(tokensPerSecond({ ...answer, endedAt: NOW + 1_001 })).toBeCloseTo(100.9, 1)
    expect(tokensPerSecond({ ...answer, firstTokenAt: NOW, endedAt: NOW })).toBe(101_000)
  })

  test('a short answer does not count towards tokens per second', () => {
    expect(tokensPerSecond({ ...answer, completionTokens: 7 })).toBeNull()
  })
})
