import { describe, expect, test } from 'vitest'
import { StartError } from '../../../src/core/kernel/errors.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { accountKeys, shardOf } from '../../../src/platform/redis/redis-keys.ts'
import { refuseFormerKeys } from '../../../src/platform/redis/refuse-former-keys.ts'
import { testRedis } from '../../helpers/resources.ts'

describe('the shard of an account', () => {
  test('is the same for ever: installations keep balances under it', () => {
    const accounts = ['acct_1', 'acct_x402', 'acct_01jh5q3zk8r4v7n2m9d6c0b1ae']
    expect(accounts.map((id) => shardOf(id, { shards: 6 }))).toEqual([1, 4, 3])
    expect(accounts.map((id) => shardOf(id, { shards: 16 }))).toEqual([1, 8, 9])
    expect(accounts.map((id) => shardOf(id, { shards: 1 }))).toEqual([0, 0, 0])
  })

  test('has about as many accounts as every other', () => {
    const counts = Array.from({ length: 8 }, () => 0)
    for (let n = 0; n < 8_000; n++) counts[shardOf(`acct_${n}`, { shards: 8 })]! += 1
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150)
  })

  test('is the hash tag of every key of the account', () => {
    const sharded = { shards: 6 }
    const { prefix, absent, ...keys } = accountKeys('acct_1', sharded)
    for (const key of Object.values(keys)) expect(key.startsWith(prefix)).toBe(true)
    expect(prefix).toBe('{sy:1}:acct_1:')
    expect(absent.startsWith('{sy:1}:')).toBe(true)
  })
})

describe('keys of a version without shards', () => {
  const server = testRedis()
  const refusal = (redis: Redis) =>
    refuseFormerKeys(redis).then(
      () => null,
      (error: unknown) => error,
    )

  test('stop the start while a process of it runs, or a call of it waits', async () => {
    const redis = server.connect()
    expect(await refusal(redis)).toBeNull()
    await redis.zadd('sy:{ops}:processes', Date.now() - 60_000, 'api_gone', Date.now() - 1_000, 'api_runs')
    expect(await refusal(redis)).toBeInstanceOf(StartError)
    expect(String(await refusal(redis))).toMatch(/1 processes of a version without shards/)
    await redis.zrem('sy:{ops}:processes', 'api_runs')
    expect(await refusal(redis)).toBeNull()
    await redis.lpush('{sy:queues}:settlement:wait', 'settle_1')
    expect(String(await refusal(redis))).toMatch(/let the workers of that version finish/)
  })
})
