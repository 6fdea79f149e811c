import { RateLimiterRedis } from 'rate-limiter-flexible'
import { consume } from '../platform/redis/rate-limiter.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { throttlePrefix } from '../platform/redis/redis-keys.ts'

const PER_HOUR = 20
const HOUR_SECONDS = 3_600

/**
 * Limits how often an account saves settings that move money. Counted in Redis for the whole fleet. Throws ApiError 429
 * above the limit; rejects if Redis is unavailable.
 */
export function createSettingsThrottle(redis: Redis) {
  const autoTopUps = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: throttlePrefix('auto-top-up'),
    points: PER_HOUR,
    duration: HOUR_SECONDS,
  })
  return { autoTopUp: (accountId: string): Promise<void> => consume(autoTopUps, accountId) }
}
