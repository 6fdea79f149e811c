import { EventEmitter } from 'node:events'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { startFleetClock } from '../../../src/platform/redis/fleet-clock.ts'

const REDIS_MS = 1_800_000_000_000
const logger = pino({ level: 'silent' })

/** A clock beside a Redis whose own says REDIS_MS; a look at Redis takes `lookMs`. */
async function beside(clockMs: number, lookMs = 4) {
  let nowMs = clockMs
  const time = async () => {
    nowMs += lookMs
    return [String(REDIS_MS / 1_000), '0'] as never
  }
  const redis = Object.assign(new EventEmitter(), { time })
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

describe('a Redis that is replaced by one with another clock', () => {
  const startMs = REDIS_MS
  let redisAheadMs = 0
  const start = async () => {
    redisAheadMs = 0
    const time = async () => [String((startMs + redisAheadMs) / 1_000), '0'] as never
    const redis = Object.assign(new EventEmitter(), { time })
    const { now, stop } = await startFleetClock({ redis, logger, clock: () => startMs })
    const replaced = async (aheadMs: number) => {
      redisAheadMs = aheadMs
      redis.emit('ready')
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { now, stop, replaced }
  }

  test.each([20_000, -20_000])(
    'is noticed with the new connection, when it is ahead by %i ms',
    async (ms) => {
      const { now, stop, replaced } = await start()
      await replaced(ms)
      expect(now()).toBe(startMs + ms)
      stop()
    },
  )

  test('cuts no wait short that began before, and counts those that begin after', async () => {
    const { now, stop, replaced } = await start()
    const before = now()
    await replaced(20_000)
    expect(now(before)).toBe(startMs)
    const after = now()
    expect(now(after)).toBe(startMs + 20_000)
    await replaced(30_000)
    expect(now(before)).toBe(startMs)
    expect(now(after)).toBe(startMs + 20_000)
    stop()
  })
})
