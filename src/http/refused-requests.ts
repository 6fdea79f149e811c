import { LRUCache } from 'lru-cache'
import { ApiError } from '../core/kernel/errors.ts'

export interface RefusedRequestsOptions {
  /** What a key may send of them in a minute. */
  refusedRequestsPerMinute: number
  refusedBytesPerMinute: number
  clock: () => number
}

const WINDOW_MS = 60_000
const KEYS_REMEMBERED = 10_000
/** What a request is refused with for what it says, or for what its balance does not cover. */
const REFUSED = new Set([400, 402, 404, 405, 413, 415, 422])

interface Counted {
  requests: number
  bytes: number
  endsAtMs: number
}

/**
 * Counts requests that were refused for what they say, in the memory of this instance: the balance cache never hears of
 * them.
 */
export function createRefusedRequests(options: RefusedRequestsOptions) {
  const { refusedRequestsPerMinute, refusedBytesPerMinute, clock } = options
  const counted = new LRUCache<string, Counted>({ max: KEYS_REMEMBERED })
  const current = (keyId: string): Counted | undefined => {
    const counts = counted.get(keyId)
    return counts && counts.endsAtMs > clock() ? counts : undefined
  }
  return {
    /** Throws ApiError 429 where a key sent too many of them, or too much, within a minute. */
    check(keyId: string): void {
      const counts = current(keyId)
      if (!counts || (counts.requests < refusedRequestsPerMinute && counts.bytes < refusedBytesPerMinute))
        return
      throw new ApiError(
        'rate_limit_exceeded',
        'Too many requests of this key were refused within a minute. Read their errors, and retry later.',
        { retryAfterSeconds: (counts.endsAtMs - clock()) / 1000 },
      )
    },

    note(keyId: string, status: number, bytes: number): void {
      if (!REFUSED.has(status)) return
      const counts = current(keyId) ?? { requests: 0, bytes: 0, endsAtMs: clock() + WINDOW_MS }
      counts.requests += 1
      counts.bytes += bytes
      counted.set(keyId, counts)
    },
  }
}
