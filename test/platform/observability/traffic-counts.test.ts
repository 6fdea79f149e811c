import { expect, test } from 'vitest'
import {
  countsOf,
  minuteOf,
  trafficField,
  trafficSlots,
} from '../../../src/platform/observability/traffic-counts.ts'

const NOON = Date.UTC(2027, 0, 31, 12)

test('a figure is counted in the second of its minute', () => {
  expect(trafficField(NOON + 59_999, 'requests:2xx')).toBe('59:requests:2xx')
  expect(minuteOf(NOON + 59_999)).toBe(minuteOf(NOON))
})

test('seconds are summed into steps, empty ones included, and nothing outside the span is counted', () => {
  const minute = minuteOf(NOON)
  const minutes = new Map<number, Record<string, string>>([
    [minute - 1, { '59:calls:completed': '100' }],
    [minute, { '0:calls:completed': '1', '9:calls:completed': '2', '10:calls:failed': '3', nonsense: 'x' }],
    [minute + 1, { '0:calls:completed': '100' }],
  ])
  const slots = trafficSlots(minutes, { fromMs: NOON, toMs: NOON + 30_000, stepMs: 10_000 })
  expect(slots.map(({ atMs }) => atMs - NOON)).toEqual([0, 10_000, 20_000])
  expect(slots.map(({ counts }) => countsOf(counts, 'calls'))).toEqual([{ completed: 3 }, { failed: 3 }, {}])
})

test('amounts beyond 2^53 are summed exactly', () => {
  const minutes = new Map([[minuteOf(NOON), { '0:spend_pico': '9007199254740993', '1:spend_pico': '1' }]])
  const [slot] = trafficSlots(minutes, { fromMs: NOON, toMs: NOON + 10_000, stepMs: 10_000 })
  expect(slot?.counts.get('spend_pico')).toBe(9_007_199_254_740_994n)
})
