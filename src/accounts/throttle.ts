import { type RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'

export interface TooMany {
  kind: 'too_many'
  retryAfterSeconds: number
}

export type Throttled = { kind: 'let_through' } | TooMany

export const LET_THROUGH = { kind: 'let_through' } as const

/** Increments the count of a key. Rejects if Redis is unavailable. */
export async function consume(limiter: RateLimiterRedis, key: string): Promise<Throttled> {
  try {
    await limiter.consume(key)
    return LET_THROUGH
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    return { kind: 'too_many', retryAfterSeconds: Math.ceil(refusal.msBeforeNext / 1000) }
  }
}
