import { RateLimiterRedis } from 'rate-limiter-flexible'
import { consume } from '../platform/redis/rate-limiter.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { throttlePrefix } from '../platform/redis/redis-keys.ts'

const PER_MINUTE = 60
const MINUTE_SECONDS = 60

/**
 * Limits how often an account edits its keys, since every API instance applies each edit. Counted in Redis for the
 * whole fleet. Throws ApiError 429 above the limit; rejects if Redis is unavailable.
 */
export function createKeyEditThrottle(redis: Redis): (accountId: string) => Promise<void> {
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: throttlePrefix('key-edit'),
    points: PER_MINUTE,
    duration: MINUTE_SECONDS,
  })
  return (accountId) => consume(limiter, accountId)
}
