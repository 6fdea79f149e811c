import { pino } from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { keepSubscriberLimit } from '../../../src/platform/redis/redis-subscriber-limit.ts'
import { testRedis } from '../../helpers/resources.ts'

const SETTING = 'client-output-buffer-limit'

describe("Redis' limit for subscribers", () => {
  let redis: Redis
  let warnings: string[]
  const logger = pino(
    { level: 'warn' },
    { write: (line) => void warnings.push((JSON.parse(line) as { msg: string }).msg) },
  )

  const server = testRedis()
  beforeAll(() => {
    redis = server.connect()
  })

  const limit = async () => ((await redis.config('GET', SETTING)) as string[])[1]

  test('is raised where it is lower, also after a restart, and left alone where it is higher or none', async () => {
    warnings = []
    await redis.config('SET', SETTING, 'pubsub 33554432 8388608 60')
    await keepSubscriberLimit(redis, logger)
    expect(await limit()).toContain('pubsub 268435456 134217728 60')
    await redis.config('SET', SETTING, 'pubsub 33554432 8388608 60')
    redis.emit('ready')
    await expect.poll(limit).toContain('pubsub 268435456 134217728 60')
    for (const enough of ['pubsub 0 0 0', 'pubsub 536870912 536870912 90']) {
      await redis.config('SET', SETTING, enough)
      await keepSubscriberLimit(redis, logger)
      expect(await limit()).toContain(enough)
    }
    expect(warnings).toEqual([])
  })

  test('is warned of where it may not be changed', async () => {
    warnings = []
    const config = async () => {
      throw new Error("NOPERM this user has no permissions to run the 'config' command")
    }
    await keepSubscriberLimit({ on: () => undefined, config } as unknown as Redis, logger)
    expect(warnings).toEqual([expect.stringContaining('client-output-buffer-limit "pubsub 256mb 128mb 60"')])
  })
})
