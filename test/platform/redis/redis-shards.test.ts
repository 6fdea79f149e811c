import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { createHoldStore } from '../../../src/billing/holds/hold-store.ts'
import {
  checkRedisSettings,
  createRedis,
  defineScript,
  type Redis,
} from '../../../src/platform/redis/redis.ts'
import { checkShards } from '../../../src/platform/redis/redis-epoch.ts'
import { accountKeys, epochKey, shardNumbers } from '../../../src/platform/redis/redis-keys.ts'
import { testRedis } from '../../helpers/resources.ts'

const [first, second] = [testRedis(), testRedis()]
const opened: Redis[] = []
const open = (urls: string[], shards: number): Redis => {
  const redis = createRedis({ url: urls.join(','), name: 'test', mode: 'wait', shards })
  opened.push(redis)
  return redis
}
afterEach(async () => {
  for (const redis of opened.splice(0)) for (const client of redis.openedClients()) client.disconnect()
  for (const server of [first, second]) await server.connect().flushall()
})

/** An account of each of four shards, in their order. */
const ACCOUNTS = ['acct_5', 'acct_1', 'acct_4', 'acct_0']

test('the keys of a shard are on its server, by scripts and by commands', async () => {
  const redis = open([first.url, second.url], 4)
  const holds = createHoldStore(redis)
  for (const accountId of ACCOUNTS) {
    expect(await holds.load(accountId, { balancePico: 100n, version: 1n })).toBe(true)
    expect(await holds.balance(accountId)).toMatchObject({ availPico: 100n })
  }
  for (const [shard, accountId] of ACCOUNTS.entries()) {
    const { record } = accountKeys(accountId, redis)
    expect(record).toContain(`{sy:${shard}}`)
    const there = await Promise.all([first, second].map((server) => server.connect().exists(record)))
    expect(there).toEqual(shard % 2 === 0 ? [1, 0] : [0, 1])
  }
  expect([...(await holds.versions(ACCOUNTS)).keys()].sort()).toEqual([...ACCOUNTS].sort())
  expect((await holds.accounts()).sort()).toEqual([...ACCOUNTS].sort())
  // One connection for each server, and one script for both.
  expect(redis.openedClients()).toHaveLength(2)
  const echo = defineScript(redis, 'testEcho', `return redis.call('SET', KEYS[1], 'x') and KEYS[1]`)
  expect(await echo(['{sy:3}:x'], [])).toBe('{sy:3}:x')
  expect(await second.connect().get('{sy:3}:x')).toBe('x')
})

test('one server has one connection for all shards', () => {
  const redis = open([first.url], 4)
  expect(new Set(shardNumbers(redis).map((shard) => redis.shard(shard)))).toEqual(new Set([redis]))
})

test('the number of shards is fixed with the first start', async () => {
  await checkShards(open([first.url], 4))
  await checkShards(open([first.url], 4))
  await expect(checkShards(open([first.url], 1))).rejects.toThrow(
    'REDIS_SHARDS is 1, but this Redis was set up with 4',
  )
  await first.connect().set(epochKey(0), 'of-one:1')
  await expect(checkShards(open([first.url], 4))).rejects.toThrow('was set up with 1')
  await checkShards(open([first.url], 1))
})

test('a server that has the data of another shard is refused', async () => {
  await checkShards(open([first.url, second.url], 4))
  await expect(checkShards(open([second.url, first.url], 4))).rejects.toThrow('do not change the servers')
})

test('each server must not evict keys', async () => {
  await second.connect().config('SET', 'maxmemory-policy', 'allkeys-lru')
  const check = checkRedisSettings(open([first.url, second.url], 2), pino({ level: 'silent' }))
  await expect(check).rejects.toThrow('noeviction, not allkeys-lru')
  await second.connect().config('SET', 'maxmemory-policy', 'noeviction')
})
