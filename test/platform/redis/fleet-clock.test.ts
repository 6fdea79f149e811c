import pino from 'pino'
import { expect, test } from 'vitest'
import { startFleetClock } from '../../../src/platform/redis/fleet-clock.ts'

const REDIS_MS = 1_800_000_000_000
const logger = pino({ level: 'silent' })

/** A clock beside a Redis whose own says REDIS_MS; a look at Redis takes `lookMs`. */
async function beside(clockMs: number, lookMs = 4) {
  let nowMs = clockMs
  const redis = {
    time: async () => {
      nowMs += lookMs
      return [String(REDIS_MS / 1_000), '0'] as never
    },
  }
  const clock = await startFleetClock({ redis, logger, clock: () => nowMs })
  clock.stop()
  return clock.now() - REDIS_MS
}

test.each([60_000, -60_000])(
  'a process whose clock is wrong by %i ms knows the time of the fleet',
  async (wrongMs) => {
    expect(Math.abs(await beside(REDIS_MS + wrongMs))).toBeLessThan(10)
  },
)

test('a process whose clock is about right goes by its own', async () => {
  expect(await beside(REDIS_MS + 300)).toBe(304)
})

test('an answer that took long is not believed', async () => {
  expect(await beside(REDIS_MS + 60_000, 2_000)).toBe(62_000)
})
