import { LRUCache } from 'lru-cache'
import type { KeyRecord } from '../accounts/key-cache.ts'
import type { RateLimited } from '../billing/holds/admission.ts'
import { rateLimitExceeded } from '../calls/api/admit-call.ts'
import { effectiveLimits, type LimitDefaults } from '../core/accounts/api-key.ts'
import { ApiError } from '../core/kernel/errors.ts'

const REMEMBERED = 10_000

/** Limit for requests of an account besides its calls, such as reports and rejected calls. */
const OTHER_REQUESTS = 100

export interface LimitedCallersOptions {
  limits: LimitDefaults
  clock: () => number
}

/**
 * Keys and accounts that the balance cache refused for their requests per minute: until it would accept one again,
 * their calls are refused from memory, before their body is read. Also counts the requests in flight of an account.
 */
export function createLimitedCallers({ limits, clock }: LimitedCallersOptions) {
  /** By key and by account: the period, and the limit that was exceeded. */
  const limited = new LRUCache<string, { fromMs: number; untilMs: number; perMinute: number }>({
    max: REMEMBERED,
  })
  /** With a higher limit, or after the clock was set back, the balance cache decides again. */
  const retryAfter = (id: string, perMinute: number, now: number): number | null => {
    const found = limited.get(id)
    return found && found.fromMs <= now && now < found.untilMs && perMinute <= found.perMinute
      ? found.untilMs - now
      : null
  }
  const underWay = new Map<string, number>()
  const scopesOf = (key: KeyRecord) => {
    const { requestsPerMinute, accountRequestsPerMinute } = effectiveLimits(key, limits)
    return {
      key: { id: key.keyId, perMinute: requestsPerMinute },
      account: { id: key.accountId ?? key.keyId, perMinute: accountRequestsPerMinute },
    }
  }
  return {
    /** `askedAtMs`: a time before the request to the balance cache. */
    note(key: KeyRecord, { scope, retryAfterMs }: RateLimited, askedAtMs: number): void {
      const { id, perMinute } = scopesOf(key)[scope]
      limited.set(id, { fromMs: askedAtMs, untilMs: askedAtMs + retryAfterMs, perMinute })
    },

    /** Throws ApiError 429 if the balance cache would refuse a call of the key now. */
    check(key: KeyRecord): void {
      const now = clock()
      const scopes = scopesOf(key)
      for (const scope of ['key', 'account'] as const) {
        const { id, perMinute } = scopes[scope]
        const retryAfterMs = retryAfter(id, perMinute, now)
        if (retryAfterMs !== null) throw rateLimitExceeded({ scope, retryAfterMs })
      }
    },

    /** Counts a request of an account; the returned function ends it. Throws ApiError 429 if there are too many. */
    begin(key: KeyRecord & { accountId: string }): () => void {
      const { accountId } = key
      const count = underWay.get(accountId) ?? 0
      if (count >= 2 * effectiveLimits(key, limits).accountConcurrentCalls + OTHER_REQUESTS)
        throw new ApiError(
          'concurrency_limit_exceeded',
          'This account has reached its limit of concurrent requests. Wait for one to end.',
          { retryAfterSeconds: 1 },
        )
      underWay.set(accountId, count + 1)
      return () => {
        const left = (underWay.get(accountId) ?? 1) - 1
        if (left === 0) underWay.delete(accountId)
        else underWay.set(accountId, left)
      }
    },
  }
}
