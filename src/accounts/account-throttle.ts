import { consume, createLimiter } from '../platform/redis/rate-limiter.ts'
import type { Redis } from '../platform/redis/redis.ts'

const MINUTE = 60
const HOUR = 3_600

/** How often an account may do something: times, seconds. */
const LIMITS = {
  /** Every API instance applies each edit of a key or a preset. */
  'key-edit': [60, MINUTE],
  /** Settings that move money. */
  'auto-top-up': [20, HOUR],
  /** Events of type `webhook.test`. */
  'webhook-test': [10, MINUTE],
  'webhook-retry': [10, MINUTE],
} as const satisfies Record<string, readonly [times: number, seconds: number]>

export type AccountThrottle = (action: keyof typeof LIMITS, accountId: string) => Promise<void>

/**
 * Limits actions of an account, counted in Redis for the whole fleet. Throws ApiError 429 above a limit; rejects if Redis
 * is unavailable.
 */
export function createAccountThrottle(redis: Redis): AccountThrottle {
  const limiters = new Map(
    Object.entries(LIMITS).map(([name, [times, seconds]]) => [
      name,
      createLimiter(redis, name, times, seconds),
    ]),
  )
  return (action, accountId) => consume(limiters.get(action)!, accountId)
}
