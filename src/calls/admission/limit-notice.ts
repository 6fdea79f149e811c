import { LRUCache } from 'lru-cache'
import type { KeyRecord } from '../../accounts/key-cache.ts'
import type { AllowancePeriod } from '../../core/billing/allowance-period.ts'
import { formatUsd, picoUsd } from '../../core/kernel/money.ts'
import { DAY_MS, isoTimeOrNull } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { limitNoticeKey } from '../../platform/redis/redis-keys.ts'
import { recordEvent } from '../../webhooks/event-outbox.ts'
import type { CleanupTasks } from '../cleanup-tasks.ts'

/** Tells a key's account that a call was refused by the key's spending limit; once a key and period. */
export type NoteLimitReached = (key: KeyRecord & { accountId: string }, period: AllowancePeriod) => void

export interface LimitNoticeDependencies {
  redis: Redis
  postgres: Postgres
  cleanup: CleanupTasks
}

const REMEMBERED_MAX = 10_000
/** How long Redis remembers; longer than a month's period. */
const NOTED_FOR_MS = 32 * DAY_MS

/**
 * Notices run behind the refusal and never in its way. This process remembers what it told, Redis what the
 * fleet told, and the event's id makes a repeat harmless. A notice that is still to be written when the
 * process dies is lost: the refusal itself has told the caller.
 */
export function createLimitNotice({ redis, postgres, cleanup }: LimitNoticeDependencies): NoteLimitReached {
  const told = new LRUCache<string, true>({ max: REMEMBERED_MAX })
  return (key, period) => {
    const cause = `${key.keyId}:${period.id}`
    if (told.has(cause)) return
    told.set(cause, true)
    cleanup.add(async () => {
      const noted = limitNoticeKey(key.accountId, key.keyId, period.id)
      if ((await redis.set(noted, '1', 'PX', NOTED_FOR_MS, 'NX')) === null) return
      try {
        await recordEvent(postgres, {
          type: 'key.limit_reached',
          accountId: key.accountId,
          cause,
          data: limitData(key, period),
        })
      } catch (error) {
        // The task runs again; no other process may take it for done.
        await redis.del(noted)
        throw error
      }
    })
  }
}

const limitData = (key: KeyRecord, period: AllowancePeriod) => ({
  key_id: key.keyId,
  name: key.name,
  limit_usd: key.limitPico === null ? null : formatUsd(picoUsd(key.limitPico)),
  limit_reset: key.limitReset,
  resets_at: isoTimeOrNull(period.endsAt),
})
