import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Redis } from '../platform/redis/redis.ts'
import { throttlePrefix } from '../platform/redis/redis-keys.ts'
import { consume } from './throttle.ts'

/**
 * Limits manually requested deliveries of an account. Counted in Redis for the whole fleet. Throws ApiError 429 above
 * a limit; rejects if Redis is unavailable.
 */
export interface WebhookThrottle {
  /** Events of type `webhook.test`. */
  test(accountId: string): Promise<void>
  /** Retries of deliveries that were given up. */
  retry(accountId: string): Promise<void>
}

const PER_MINUTE = 10
const MINUTE_SECONDS = 60

export function createWebhookThrottle(redis: Redis): WebhookThrottle {
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
    test: (accountId) => consume(tests, accountId),
    retry: (accountId) => consume(retries, accountId),
  }
}
