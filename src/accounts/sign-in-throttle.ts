import { createHash } from 'node:crypto'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Redis } from '../platform/redis.ts'
import { throttlePrefix } from '../platform/redis-keys.ts'

export type Throttled = { kind: 'let_through' } | { kind: 'too_many'; retryAfterSeconds: number }

/**
 * Bounds guessing: attempts to sign in count by address of the network and by email, accounts opened by address of
 * the network. Counted in Redis for the whole fleet. Rejects when Redis is away: then nobody guesses.
 */
export interface SignInThrottle {
  signIn(networkAddress: string, email: string): Promise<Throttled>
  /** The attempt was right: it does not count. */
  signedIn(networkAddress: string, email: string): Promise<void>
  signUp(networkAddress: string): Promise<Throttled>
  /** Signing in with an admin key. */
  operator(networkAddress: string): Promise<Throttled>
  /** Wrong current passwords of a session that asks to change it. */
  changePassword(accountId: string): Promise<Throttled>
}

export interface ThrottleLimits {
  /** Within a quarter of an hour: on one email from one address; from all addresses ten times as many. */
  signInsPerEmail: number
  signInsPerAddress: number
  /** Within an hour. */
  signUpsPerAddress: number
}

const QUARTER_HOUR_SECONDS = 900
/** So many times more attempts on one email from all addresses together. */
const ADDRESSES_FACTOR = 10
const HOUR_SECONDS = 3_600

export function createSignInThrottle(redis: Redis, limits: ThrottleLimits): SignInThrottle {
  const limiter = (name: string, points: number, duration: number) =>
    new RateLimiterRedis({ storeClient: redis, keyPrefix: throttlePrefix(name), points, duration })
  // Whoever guesses from one address keeps nobody else from signing in to that account.
  const byBoth = limiter('sign-in-email-address', limits.signInsPerEmail, QUARTER_HOUR_SECONDS)
  const byEmail = limiter('sign-in-email', limits.signInsPerEmail * ADDRESSES_FACTOR, QUARTER_HOUR_SECONDS)
  const byAddress = limiter('sign-in-address', limits.signInsPerAddress, QUARTER_HOUR_SECONDS)
  const signUps = limiter('sign-up-address', limits.signUpsPerAddress, HOUR_SECONDS)
  const changes = limiter('password-change', limits.signInsPerEmail, QUARTER_HOUR_SECONDS)

  return {
    async signIn(networkAddress, email) {
      const fromAddress = await consume(byAddress, networkAddress)
      if (fromAddress.kind === 'too_many') return fromAddress
      const ofBoth = await consume(byBoth, bothKey(networkAddress, email))
      return ofBoth.kind === 'too_many' ? ofBoth : consume(byEmail, emailKey(email))
    },
    async signedIn(networkAddress, email) {
      await Promise.all([
        byAddress.reward(networkAddress, 1),
        byBoth.delete(bothKey(networkAddress, email)),
        byEmail.reward(emailKey(email), 1),
      ])
    },
    signUp: (networkAddress) => consume(signUps, networkAddress),
    operator: (networkAddress) => consume(byAddress, networkAddress),
    changePassword: (accountId) => consume(changes, accountId),
  }
}

/** No email rests in Redis. */
const emailKey = (email: string): string => createHash('sha256').update(email.toLowerCase()).digest('hex')

const bothKey = (networkAddress: string, email: string): string => `${networkAddress}/${emailKey(email)}`

async function consume(limiter: RateLimiterRedis, key: string): Promise<Throttled> {
  try {
    await limiter.consume(key)
    return { kind: 'let_through' }
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal
    return { kind: 'too_many', retryAfterSeconds: Math.ceil(refusal.msBeforeNext / 1000) }
  }
}
