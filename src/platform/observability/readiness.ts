import { withTimeout } from '../process/with-timeout.ts'
import { isRefusedWrite, type Redis, serversOf } from '../redis/redis.ts'
import { readinessKey, shardNumbers } from '../redis/redis-keys.ts'

/** What is away while calls are taken: `redis-shards` is a server of some shards. */
type Away = 'postgresql' | 'redis-shards'

/**
 * Whether an instance can take calls. Redis admits every call, so none is possible without it; without the server of some
 * shards, those of other accounts are. PostgreSQL is needed
 * only for new calls of keys and balances that were not used recently, for reports and for the console.
 */
export type Readiness =
  | { status: 'ready' }
  | { status: 'degraded'; away: Away[] }
  | { status: 'not-ready'; reason: 'redis-away' | 'redis-refuses-writes' | 'stopping' }

const WITHIN_MS = 2_500
const MARK_LIFETIME_MS = 60_000

/**
 * Returns a function that reads the readiness. It never rejects and resolves within a deadline. Each service has at
 * most one command in flight, however often readiness is read: blocked probes must not occupy the connections of calls.
 */
export function createReadiness(options: {
  apiId: string
  redis: Redis
  /** Rejects while no frame of the calls of a shard would reach the instance. */
  untilReceiving: (shard: number) => Promise<void>
  askPostgres: () => Promise<unknown>
  /** Deadline after which a service counts as away. */
  withinMs?: number
}): () => Promise<Readiness> {
  const { apiId, redis, untilReceiving, askPostgres, withinMs = WITHIN_MS } = options
  const redisProbes = serversOf(redis).map(({ shard, client }) => {
    const shards = shardNumbers(redis).filter((each) => redis.shard(each) === client)
    return createProbe(withinMs, async () => {
      // A write, since a read-only Redis cannot admit calls.
      await client.set(readinessKey(apiId, shard), '1', 'PX', MARK_LIFETIME_MS)
      await Promise.all(shards.map(untilReceiving))
    })
  })
  const postgresProbe = createProbe(withinMs, askPostgres)
  return async () => {
    const asked = Promise.all(redisProbes.map((probe) => probe()))
    const [fromRedis, fromPostgres] = await Promise.all([asked, postgresProbe()])
    const [failure, ...others] = fromRedis.filter((each) => each !== null)
    if (failure && others.length + 1 === fromRedis.length)
      return {
        status: 'not-ready',
        reason: isRefusedWrite(failure) ? 'redis-refuses-writes' : 'redis-away',
      }
    const away: Away[] = []
    if (fromPostgres !== null) away.push('postgresql')
    if (failure) away.push('redis-shards')
    return away.length === 0 ? { status: 'ready' } : { status: 'degraded', away }
  }
}

/** Probes a service; null when it responded, otherwise the failure. */
export function createProbe(withinMs: number, ask: () => Promise<unknown>): () => Promise<Error | null> {
  let running: Promise<Error | null> | null = null
  return async () => {
    running ??= ask()
      .then(
        () => null,
        (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
      )
      .finally(() => {
        running = null
      })
    return withTimeout<Error | null>(running, withinMs, new Error('no response in time'))
  }
}
