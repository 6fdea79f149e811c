import { pino } from 'pino'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import {
  createEpochReader,
  type EpochWatch,
  untilResynced,
  watchEpoch,
} from '../../../src/platform/redis/redis-epoch.ts'
import { epochKey } from '../../../src/platform/redis/redis-keys.ts'
import { onBusyMachine } from '../../helpers/eventually.ts'
import { testRedis } from '../../helpers/resources.ts'

describe("the epoch of Redis's data", () => {
  let redis: Redis
  let told: string[]

  const server = testRedis()
  beforeAll(() => {
    redis = server.connect()
  })
  beforeEach(async () => {
    told = []
    await redis.flushall()
  })

  const watch = async (): Promise<EpochWatch> => {
    const epoch = await watchEpoch({
      redis,
      readEpoch: createEpochReader(redis),
      logger: pino({ level: 'silent' }),
      pollMs: 20,
    })
    epoch.onEmptied(() => told.push('emptied'))
    epoch.onReconnected(() => told.push('reconnected'))
    return epoch
  }

  test('is one for every process, and another after the data was lost', async () => {
    const [first, second] = [createEpochReader(redis), createEpochReader(redis)]
    const { id } = await first()
    expect((await second()).id).toBe(id)
    await redis.flushall()
    const after = await second()
    expect(after.id).not.toBe(id)
    expect((await first()).id).toBe(after.id)
  })

  test('is noticed without a message, once', async () => {
    const epoch = await watch()
    const before = epoch.current()
    await redis.flushall()
    await expect.poll(() => told).toEqual(['emptied'])
    expect(epoch.current()).not.toBe(before)
    await epoch.check()
    expect(told).toEqual(['emptied'])
    epoch.stop()
  })

  test('the epoch stays over a lost connection, and the durability token changes', async () => {
    const epoch = await watch()
    const [before, durabilityToken] = [epoch.current(), await epoch.durabilityToken()]
    expect(await epoch.durabilityToken()).toBe(durabilityToken)
    const back = new Promise((resolve) => redis.once('ready', resolve))
    redis.disconnect(true)
    await back
    await expect.poll(() => told).toEqual(['reconnected'])
    expect(epoch.current()).toBe(before)
    expect(await epoch.durabilityToken()).not.toBe(durabilityToken)
    epoch.stop()
  })

  test('is not waited for longer where the clock of the server is behind that of the one before it', async () => {
    const readEpoch = createEpochReader(redis)
    await redis.set(epochKey(0), `begun:${Date.now() + 60_000}`)
    expect(await readEpoch()).toMatchObject({ id: 'begun', ageMs: 0 })
    await expect.poll(async () => (await readEpoch()).ageMs).toBeGreaterThan(0)
  })

  test('is waited for until it is old enough, from its own beginning', async () => {
    const readEpoch = createEpochReader(redis)
    const graceMs = 500
    await readEpoch()
    const startedAt = Date.now()
    await untilResynced(readEpoch, graceMs)
    expect((await readEpoch()).ageMs).toBeGreaterThanOrEqual(graceMs)
    expect(Date.now() - startedAt).toBeLessThan(onBusyMachine(graceMs))
    const reading = vi.fn(readEpoch)
    await untilResynced(reading, graceMs)
    expect(reading).toHaveBeenCalledOnce()
  })
})
