import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type CompletionArchive,
  createCompletionArchive,
  createCompletionDiscard,
  type KeyedCall,
} from '../../../src/calls/protocol/idempotency.ts'
import type { CallId } from '../../../src/core/kernel/ids.ts'
import { createRedis, type Redis } from '../../../src/platform/redis/redis.ts'
import { idempotencyKeys } from '../../../src/platform/redis/redis-keys.ts'
import { createTestRedis, type TestRedis } from '../../helpers/services.ts'

let server: TestRedis
let redis: Redis
let archive: CompletionArchive

beforeAll(async () => {
  server = await createTestRedis()
  redis = createRedis({ url: server.url, name: 'test', mode: 'fail-fast' })
  archive = createCompletionArchive(
    redis,
    { seal: (text) => text, open: (box) => box },
    { perAnswer: 500, perAccount: 1_000, inAll: 1_500 },
  )
})
afterAll(async () => {
  redis.disconnect()
  await server.close()
})
beforeEach(() => redis.flushall())

const call = (id: string, accountId = 'a'): KeyedCall => ({
  id: id as CallId,
  accountId,
  idempotencyRecord: `digest-${id}`,
})
/** An answer of about 400 bytes. */
const answer = {
  generation: 1,
  frames: [['text', 'x'.repeat(360)] as const, ['finish', 'stop', null] as const],
}
const kept = async (...ids: string[]) =>
  (await Promise.all(ids.map((id) => archive.read(call(id))))).map((found) => found !== null)
const sums = () => redis.hgetall(`${idempotencyKeys(0).answers}:sums`)

describe('answers kept for repeats', () => {
  test('kept completions are read back unchanged', async () => {
    await archive.end(call('1'), answer)
    expect(await archive.read(call('1'))).toEqual(answer)
  })

  test('an answer whose charge is credited is dropped with its record, unless another call has the key', async () => {
    const discard = createCompletionDiscard(redis)
    await redis.hset(idempotencyKeys(0).record('a', 'digest-1'), { fingerprint: 'f', call: '1' })
    await archive.end(call('1'), answer)
    await discard(call('1'))
    expect(await kept('1')).toEqual([false])
    expect(await redis.exists(idempotencyKeys(0).record('a', 'digest-1'))).toBe(0)
    expect(await sums()).toEqual({})
    await redis.hset(idempotencyKeys(0).record('a', 'digest-1'), { fingerprint: 'f', call: '2' })
    await discard(call('1'))
    expect(await redis.hget(idempotencyKeys(0).record('a', 'digest-1'), 'call')).toBe('2')
  })

  test('kept completions of one account are bounded: the oldest make room', async () => {
    for (const id of ['1', '2', '3', '4']) await archive.end(call(id), answer)
    await archive.end(call('other', 'b'), answer)
    expect(await kept('1', '2', '3', '4', 'other')).toEqual([false, false, true, true, true])
    expect(Number((await sums()).a)).toBeLessThanOrEqual(1_000)
  })

  test('kept completions of all accounts are bounded', async () => {
    for (const id of ['1', '2', '3', '4', '5']) await archive.end(call(id, `account-${id}`), answer)
    expect(await kept('1', '2', '3', '4', '5')).toEqual([false, false, true, true, true])
    expect(Number((await sums())['*'])).toBeLessThanOrEqual(1_500)
  })

  test('answers that are too long are not kept and evict none of the kept ones', async () => {
    await archive.end(call('1'), answer)
    await archive.end(call('2'), { generation: 1, frames: [['text', 'x'.repeat(600)]] })
    await archive.end(call('3'), null)
    expect(await kept('1', '2', '3')).toEqual([true, false, false])
  })

  test('count once when they are kept again, and no more once they have expired', async () => {
    await archive.end(call('1'), answer)
    const once = await sums()
    await archive.end(call('1'), answer)
    expect(await sums()).toEqual(once)
    await redis.zadd(`${idempotencyKeys(0).answers}:ends`, 1, idempotencyKeys(0).answer('1'))
    await redis.del(idempotencyKeys(0).answer('1'))
    await archive.end(call('2', 'b'), answer)
    expect(Object.keys(await sums()).toSorted()).toEqual(['*', 'b'])
  })
})

describe('the record of an Idempotency-Key', () => {
  const record = idempotencyKeys(0).record('a', 'digest-1')

  test('says that its call has ended, also where the answer is not kept, and stays', async () => {
    await redis.hset(record, 'call', '1')
    await archive.end(call('1'), null)
    await archive.forget(call('1'))
    expect(await redis.hgetall(record)).toEqual({ call: '1', ended: '1' })
  })

  test('of another call is neither ended nor deleted', async () => {
    await redis.hset(record, 'call', 'another')
    await archive.end(call('1'), answer)
    await archive.forget(call('1'))
    expect(await redis.hgetall(record)).toEqual({ call: 'another' })
  })

  test('a kept completion is deleted when its call did not complete', async () => {
    await redis.hset(record, 'call', '1')
    await archive.forget(call('1'))
    expect(await redis.exists(record)).toBe(0)
  })
})
