import pino from 'pino'
import { beforeAll, expect, test } from 'vitest'
import {
  settlementBytesKey,
  watchSettlementBacklog,
} from '../../../src/platform/queues/settlement-backlog.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testRedis } from '../../helpers/resources.ts'

let redis: Redis
const server = testRedis()
beforeAll(() => {
  redis = server.connect()
})

const watch = (maxBytes: number) => {
  const logged: Array<Record<string, unknown>> = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  return { ...watchSettlementBacklog({ redis, shard: 0, maxBytes, logger, lookMs: 10 }), logged }
}

test('is full from its bound on with an alarm, until a tenth of it is settled', async () => {
  await redis.set(settlementBytesKey(0), 999)
  const { isFull, stop, logged } = watch(1_000)
  await redis.set(settlementBytesKey(0), 1_000)
  await eventually(() => expect(isFull()).toBe(true))
  expect(logged).toMatchObject([{ alarm: 'settlement-backlog-full', bytes: 1_000, maxBytes: 1_000 }])
  await redis.set(settlementBytesKey(0), 900)
  await eventually(() => expect(isFull()).toBe(false))
  expect(logged).toHaveLength(2)
  expect(logged[1]).toMatchObject({ alarmsOver: ['settlement-backlog-full'] })
  await stop()
})

test('never fills more than half of the memory that Redis may use', async () => {
  await redis.config('SET', 'maxmemory', '100mb')
  await redis.set(settlementBytesKey(0), 50 * 1_048_576)
  const { isFull, stop } = watch(Number.MAX_SAFE_INTEGER)
  await eventually(() => expect(isFull()).toBe(true))
  await stop()
})
