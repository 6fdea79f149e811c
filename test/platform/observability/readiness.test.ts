import { expect, test } from 'vitest'
import { createReadiness } from '../../../src/platform/observability/readiness.ts'

const answers = async () => 'OK' as const
const hangs = () => new Promise<never>(() => undefined)
const fails = (message: string) => async () => {
  throw new Error(message)
}

/** Of an instance with a Redis server for each of these. */
const readiness = (
  sets: (() => Promise<'OK'>) | Array<() => Promise<'OK'>>,
  askPostgres: () => Promise<unknown>,
  untilReceiving: (shard: number) => Promise<void> = async () => undefined,
) => {
  const servers = [sets].flat().map((set) => ({ set }))
  const redis = { shards: servers.length, shard: (shard: number) => servers[shard] }
  return createReadiness({ apiId: 'api_1', redis: redis as never, untilReceiving, askPostgres, withinMs: 20 })
}

test('an instance is ready while both services answer', async () => {
  expect(await readiness(answers, answers)()).toEqual({ status: 'ready' })
})

test.each([
  ['hangs', hangs],
  ['fails', fails('connect ECONNREFUSED')],
])('an instance whose PostgreSQL %s is degraded, and says so', async (_, askPostgres) => {
  expect(await readiness(answers, askPostgres)()).toEqual({ status: 'degraded', away: ['postgresql'] })
})

test.each([
  ['hangs', hangs, 'redis-away'],
  ['is away', fails('redis is not connected'), 'redis-away'],
  [
    'is out of memory',
    fails("OOM command not allowed when used memory > 'maxmemory'."),
    'redis-refuses-writes',
  ],
  ['is a replica', fails("READONLY You can't write against a read only replica."), 'redis-refuses-writes'],
  ['cannot write its file', fails('MISCONF Errors writing to the AOF file'), 'redis-refuses-writes'],
])('an instance whose Redis %s is not ready', async (_, set, reason) => {
  expect(await readiness(set, hangs)()).toEqual({ status: 'not-ready', reason })
})

test('an instance is degraded while the Redis server of some shards is away, and not ready without all', async () => {
  const isAway = fails('redis is not connected')
  expect(await readiness([answers, isAway], answers)()).toEqual({
    status: 'degraded',
    away: ['redis-shards'],
  })
  expect(await readiness([isAway, isAway], answers)()).toEqual({ status: 'not-ready', reason: 'redis-away' })
})

test('an instance whose Redis answers, but delivers it no frames of calls, is not ready', async () => {
  const unheard = fails('redis does not deliver messages')
  expect(await readiness(answers, answers, unheard)()).toEqual({ status: 'not-ready', reason: 'redis-away' })
  const ofSecondShard = async (shard: number) => void (shard === 1 && (await unheard()))
  expect(await readiness([answers, answers], answers, ofSecondShard)()).toEqual({
    status: 'degraded',
    away: ['redis-shards'],
  })
})

test('a service that hangs is asked once, however often the instance is', async () => {
  let asked = 0
  const ask = readiness(answers, () => {
    asked += 1
    return hangs()
  })
  await Promise.all(Array.from({ length: 100 }, ask))
  await ask()
  expect(asked).toBe(1)
})
