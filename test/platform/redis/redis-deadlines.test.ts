import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createRedis } from '../../../src/platform/redis/redis.ts'
import { enforceDeadlines, isRedisAway, RedisAwayError } from '../../../src/platform/redis/redis-deadlines.ts'
import { testRedis } from '../../helpers/resources.ts'
import { startTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'

let proxy: TcpProxy
const clients: Redis[] = []

const server = testRedis()
beforeAll(async () => {
  proxy = await startTcpProxy(server.url)
})
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect()
  server.resume()
  proxy.restore()
})
afterAll(async () => {
  await proxy.close()
})

const opened = (client: Redis): Redis => {
  clients.push(client)
  return client
}
/** Resolves to the error of a command that fails. */
const failure = (command: Promise<unknown>): Promise<unknown> =>
  command.then(
    (value) => Promise.reject(new Error(`answered ${String(value)}`)),
    (error: unknown) => error,
  )

describe('a client that fails fast', () => {
  test('fails a thousand commands of a server that hangs together, and the next ones at once', async () => {
    const redis = opened(createRedis({ url: server.url, name: 'test', mode: 'fail-fast' }))
    await redis.ping()
    server.pause()
    let failed = 0
    const waiting = Array.from({ length: 1_000 }, () => failure(redis.get('a')).finally(() => failed++))
    await waiting[0]
    expect(failed).toBeGreaterThanOrEqual(1)
    await new Promise(setImmediate)
    expect(failed).toBe(1_000)
    expect(await waiting[999]).toBeInstanceOf(RedisAwayError)

    // Not one of these waits for a connection, or is sent once there is one.
    const refused = await Promise.all(Array.from({ length: 100 }, () => failure(redis.incr('refused'))))
    for (const error of refused) expect(isRedisAway(error)).toBe(true)
    server.resume()
    await expect.poll(() => redis.set('b', 'back').catch(() => null)).toBe('OK')
    expect(await redis.get('refused')).toBeNull()
  })

  test('rides out a connection that breaks, and fails when it stays away', async () => {
    const redis = opened(createRedis({ url: proxy.url, name: 'test', mode: 'fail-fast' }))
    await redis.ping()
    proxy.refuse()
    const bridged = redis.set('c', 'bridged')
    proxy.restore()
    expect(await bridged).toBe('OK')
    proxy.refuse()
    expect(await failure(redis.get('c'))).toBeInstanceOf(RedisAwayError)
  })
})

describe('a client that waits', () => {
  const DEADLINES = { silenceMs: 400, awayMs: null, idlePingMs: 400 }
  const patient = () => {
    const redis = opened(new Redis(proxy.url, { retryStrategy: () => 20, maxRetriesPerRequest: null }))
    redis.on('error', () => undefined)
    enforceDeadlines(redis, DEADLINES)
    return redis
  }

  test('sends its commands again over a new connection when the old one is silent', async () => {
    const redis = patient()
    await redis.set('d', 'kept')
    proxy.swallow()
    const answer = redis.get('d')
    await new Promise((resolve) => redis.once('close', resolve))
    proxy.restore()
    expect(await answer).toBe('kept')
  })

  test('a waiting client notices a dead subscription and renews it', async () => {
    const subscriber = patient()
    await subscriber.subscribe('news')
    proxy.swallow()
    await new Promise((resolve) => subscriber.once('close', resolve))
    proxy.restore()
    const heard = new Promise((resolve) => subscriber.once('message', (_, message) => resolve(message)))
    const publisher = opened(createRedis({ url: server.url, name: 'test', mode: 'wait' }))
    await expect.poll(() => publisher.publish('news', 'told')).toBe(1)
    expect(await heard).toBe('told')
  })
})

test('a subscriber for messages of calls leaves a silent server when commands of calls do, before workers give it up', async () => {
  const left: string[] = []
  const connections = (['wait', 'follow', 'fail-fast'] as const).flatMap((mode) =>
    ['idle', 'pending'].map((state) => ({
      mode,
      state,
      redis: opened(createRedis({ url: proxy.url, name: 'test', mode })),
    })),
  )
  for (const { redis } of connections) await redis.ping()
  proxy.swallow()
  for (const { mode, state, redis } of connections) {
    redis.on('close', () => left.push(`${mode} ${state}`))
    redis.on('error', () => undefined)
    if (state === 'pending') redis.ping().catch(() => undefined)
  }
  await expect.poll(() => left).toEqual(expect.arrayContaining(['follow idle', 'follow pending']))
  expect(left).not.toContain('wait idle')
  const pending = left.filter((name) => name.endsWith('pending'))
  expect(pending.slice(0, 2).toSorted()).toEqual(['fail-fast pending', 'follow pending'])
})

test.each(['redis+sentinel://host', 'rediss-cluster://host', '127.0.0.1:6379'])(
  'refuses the address %s',
  (url) => {
    expect(() => createRedis({ url, name: 'test', mode: 'wait' })).toThrow(/^REDIS_URL (?:must be|needs)/)
  },
)
