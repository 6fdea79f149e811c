import { LRUCache } from 'lru-cache'
import type { Redis } from '../../platform/redis/redis.ts'
import { REFUSED_ACCOUNTS } from '../../platform/redis/redis-keys.ts'
import type { AdmitToRedis } from './admission.ts'

const REMEMBERED_MAX = 10_000
/** One process marks an account at most this often, however many of its calls are refused. */
const MARKED_FOR_MS = 2_000

/**
 * Marks accounts that had a call refused for lack of balance. A balance that is short because of open holds is not low
 * in the ledger, so automatic top-ups find it by this mark. A lost mark is set by the next refusal.
 */
export function markRefused(admit: AdmitToRedis, redis: Redis): AdmitToRedis {
  const marked = new LRUCache<string, true>({ max: REMEMBERED_MAX, ttl: MARKED_FOR_MS })
  return async (asked) => {
    const answer = await admit(asked)
    const { accountId } = asked
    if (answer.kind === 'insufficient-balance' && !marked.has(accountId)) {
      marked.set(accountId, true)
      redis.sadd(REFUSED_ACCOUNTS, accountId).catch(() => marked.delete(accountId))
    }
    return answer
  }
}

/** Removes and returns up to `limit` marked accounts. */
export const takeRefused = (redis: Redis, limit: number): Promise<string[]> =>
  redis.spop(REFUSED_ACCOUNTS, limit)
