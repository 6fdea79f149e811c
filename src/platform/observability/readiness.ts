import { withTimeout } from '../process/with-timeout.ts'
import { isRefusedWrite, type Redis } from '../redis/redis.ts'
import { readinessKey } from '../redis/redis-keys.ts'

/**
 * Whether an instance can take calls. Redis admits every call, so without it there is none; PostgreSQL is missed by
 * few: new calls of keys and balances that were not used lately, reports, and the console.
 */
export type Readiness =
  | { status: 'ready' }
  | { status: 'degraded'; away: ['postgresql'] }
  | { status: 'not-ready'; reason: 'redis-away' | 'redis-refuses-writes' | 'stopping' }

const WITHIN_MS = 2_500
const MARK_LIFETIME_MS = 60_000

/**
 * Returns how to ask. Never rejects, and answers in time whatever hangs. However often it is asked, each service is
 * asked by one command at a time: probes that hang must not take the connections that calls need.
 */
export function createReadiness(options: {
  apiId: string
  redis: Pick<Redis, 'set'>
  askPostgres: () => Promise<unknown>
  /** A service that has not answered by then is away. */
  withinMs?: number
}): () => Promise<Readiness> {
  const { apiId, redis, askPostgres, withinMs = WITHIN_MS } = options
  // A write, since a Redis that only reads admits nothing.
  const redisProbe = createProbe(withinMs, () => redis.set(readinessKey(apiId), '1', 'PX', MARK_LIFETIME_MS))
  const postgresProbe = createProbe(withinMs, askPostgres)
  return async () => {
    const [fromRedis, fromPostgres] = await Promise.all([redisProbe(), postgresProbe()])
    if (fromRedis !== null)
      return {
        status: 'not-ready',
        reason: isRefusedWrite(fromRedis) ? 'redis-refuses-writes' : 'redis-away',
      }
    return fromPostgres === null ? { status: 'ready' } : { status: 'degraded', away: ['postgresql'] }
  }
}

/** Asks a service; null when it answered, else what went wrong. */
function createProbe(withinMs: number, ask: () => Promise<unknown>): () => Promise<Error | null> {
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
    return withTimeout<Error | null>(running, withinMs, new Error('no answer in time'))
  }
}
