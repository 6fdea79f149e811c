import { RateLimiterRedis } from 'rate-limiter-flexible'
import { consume } from '../platform/redis/rate-limiter.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { throttlePrefix } from '../platform/redis/redis-keys.ts'

const PER_MINUTE = 10
const MINUTE_SECONDS = 60

/**
 * Limits manually requested deliveries of an account. Counted in Redis for the whole fleet. Throws ApiError 429 above
 * a limit; rejects if Redis is unavailable.
 */
export function createWebhookThrottle(redis: Redis) {
  const limiter = (name: string) =>
    new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: throttlePrefix(name),
      points: PER_MINUTE,
      duration: MINUTE_SECONDS,
    })
  const tests = limiter('webhook-test')
  const retries = limiter('webhook-retry')
  return {
    /** Events of type `webhook.test`. */
    test: (accountId: string): Promise<void> => consume(tests, accountId),
    retry: (accountId: string): Promise<void> => consume(retries, accountId),
  }
}
