import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { coalesced, tickEvery } from '../../../src/platform/process/coalesced-timers.ts'
import { pollEvery } from '../../../src/platform/process/poll-every.ts'

const stops: Array<() => unknown> = []

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  vi.useRealTimers()
})

const clockMs = () => Number(process.hrtime.bigint() / 1_000_000n)
const failed = (error: unknown) => expect.unreachable(String(error))

test.each([250, 500, 1_000, 1_250, 5_000, 30_000])(
  'a timer of %d ms comes into step, waits no longer than that and no less than half',
  (ms) => {
    for (let offset = 0; offset < 1_000; offset += 7) {
      vi.advanceTimersByTime(7)
      const [first, atMs] = [coalesced(ms), clockMs()]
      expect(first).toBeLessThanOrEqual(ms)
      expect(first).toBeGreaterThanOrEqual(ms / 2)
      vi.advanceTimersByTime(first)
      vi.advanceTimersByTime(coalesced(ms))
      expect(clockMs() % 250).toBe(0)
      expect(coalesced(ms)).toBe(ms)
      expect(clockMs()).toBeLessThanOrEqual(atMs + 2 * ms)
    }
  },
)

test.each([0, 20, 200, 700])('a timer of %d ms is exact', (ms) => {
  for (let offset = 0; offset < 1_000; offset += 7) {
    vi.advanceTimersByTime(7)
    expect(coalesced(ms)).toBe(ms)
  }
})

test('ticks and polls that began at any time wake the process together', async () => {
  const wokenAt = new Map<number, string[]>()
  const note = (name: string) => wokenAt.set(clockMs(), [...(wokenAt.get(clockMs()) ?? []), name])
  stops.push(pollEvery(1_000, async () => void note('poll'), failed))
  await vi.advanceTimersByTimeAsync(130)
  stops.push(tickEvery(1_000, () => note('tick')))
  await vi.advanceTimersByTimeAsync(333)
  stops.push(pollEvery(500, async () => void note('often'), failed))
  await vi.advanceTimersByTimeAsync(3_000)
  wokenAt.clear()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(wokenAt.size).toBe(20)
  const whole = [...wokenAt].filter(([atMs]) => atMs % 1_000 === 0)
  expect(whole.map(([, names]) => names.toSorted())).toEqual(
    Array.from({ length: 10 }, () => ['often', 'poll', 'tick']),
  )
})

test('a timer receives its delay and reads the time again at each tick', async () => {
  const late: number[] = []
  let ms = 100
  const stop = tickEvery(
    () => ms,
    (lateMs) => {
      late.push(lateMs)
      if (late.length === 2) ms = 40
    },
  )
  await vi.advanceTimersByTimeAsync(200)
  expect(late).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(80)
  expect(late).toHaveLength(4)
  for (const lateMs of late) expect(lateMs).toBeCloseTo(0)
  stop()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(late).toHaveLength(4)
})

test('a tick that stops itself does not come again', async () => {
  let ticks = 0
  const stop = tickEvery(50, () => {
    ticks++
    stop()
  })
  await vi.advanceTimersByTimeAsync(500)
  expect(ticks).toBe(1)
})
