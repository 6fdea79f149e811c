import { RateLimiterRedis } from 'rate-limiter-flexible'
import { networkLimiter } from '../../platform/redis/rate-limiter.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { throttlePrefix } from '../../platform/redis/redis-keys.ts'

const MINUTE_SECONDS = 60

export type QuoteThrottle = ReturnType<typeof createQuoteThrottle>

/** Limits requests without a key by network address, because each is parsed and quoted for free. */
export function createQuoteThrottle(
  redis: Redis,
  { x402QuotesPerAddress, x402QuotesPerSite }: { x402QuotesPerAddress: number; x402QuotesPerSite: number },
) {
  const limiter = (name: string, points: number) =>
    new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: throttlePrefix(name),
      points,
      duration: MINUTE_SECONDS,
    })
  return networkLimiter(
    limiter('quote-address', x402QuotesPerAddress),
    limiter('quote-site', x402QuotesPerSite),
  )
}
