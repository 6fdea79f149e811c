import { type RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { ApiError } from '../core/kernel/errors.ts'

/** Increments the count of a key. Throws ApiError 429 above its limit; rejects if Redis is unavailable. */
export async function consume(limiter: RateLimiterRedis, key: string, again = inMinutes): Promise<void> {
  try {
    await limiter.consume(key)
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    const retryAfterSeconds = Math.ceil(refusal.msBeforeNext / 1000)
    throw new ApiError('rate_limit_exceeded', `Too many attempts. Try again ${again(retryAfterSeconds)}.`, {
      retryAfterSeconds,
    })
  }
}

function inMinutes(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  return `in ${minutes} minute${minutes === 1 ? '' : 's'}`
}
