import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { ApiError } from '../../core/kernel/errors.ts'
import { clientNetworks } from '../network/client-networks.ts'
import type { Redis } from './redis.ts'
import { throttlePrefix } from './redis-keys.ts'

/** What an IPv6 /48 may do, as a multiple of what an IPv4 address or an IPv6 /64 may. */
export const SITE_FACTOR = 4

/** A limiter that counts in Redis for the whole fleet. */
export const createLimiter = (
  redis: Redis,
  name: string,
  points: number,
  seconds: number,
): RateLimiterRedis =>
  new RateLimiterRedis({ storeClient: redis, keyPrefix: throttlePrefix(name), points, duration: seconds })

export type NetworkLimiter = ReturnType<typeof createNetworkLimiter>

/** Counts an address under its networks; a rejection by the narrower one does not count for the wider one. */
export function createNetworkLimiter(redis: Redis, name: string, points: number, seconds: number) {
  const bySubnet = createLimiter(redis, `${name}-address`, points, seconds)
  const bySite = createLimiter(redis, `${name}-site`, points * SITE_FACTOR, seconds)
  return {
    async consume(networkAddress: string, again?: () => string): Promise<void> {
      const { subnet, site } = clientNetworks(networkAddress)
      await consume(bySubnet, subnet, again)
      if (site !== null) await consume(bySite, site, again)
    },
    async reward(networkAddress: string): Promise<void> {
      const { subnet, site } = clientNetworks(networkAddress)
      await bySubnet.reward(subnet, 1)
      if (site !== null) await bySite.reward(site, 1)
    },
  }
}

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
