import { LRUCache } from 'lru-cache'
import { LIMIT_RESETS } from '../core/billing/allowance-period.ts'
import type { BudgetHolder, RunningBudget } from '../core/billing/budget.ts'
import { isGroupScope } from '../core/billing/group-scopes.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import { DAY_MS, isoTimeOrNull } from '../core/kernel/time.ts'
import type { EventData } from '../core/webhooks/event.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { type Redis, redisOf } from '../platform/redis/redis.ts'
import { limitNoticeKey } from '../platform/redis/redis-keys.ts'
import { recordEvent } from './event-outbox.ts'

/** The key of a refused call. */
interface LimitedKey {
  keyId: string
  name: string
}

export interface LimitNoticeDependencies {
  redis: Redis
  postgres: Postgres
  /** The limit of a group, which its calls do not carry. */
  groupLimit: (group: BudgetHolder) => Promise<bigint>
  /** Repeats a task until it succeeds. */
  cleanup: { add: (task: () => Promise<void>) => void }
}

const REMEMBERED_MAX = 10_000
/** How long Redis remembers a notice; longer than a month's period. */
const NOTED_FOR_MS = 32 * DAY_MS

/**
 * Notifies an account that a budget refused a call of a key; once per budget and period. Notices are sent after the refusal and never delay it. This process remembers its own notices, Redis those of the
 * fleet, and the event's id makes a repetition harmless. A notice that is not written when the process dies is lost;
 * the refusal itself has informed the client.
 */
export function createLimitNotice({ redis, postgres, groupLimit, cleanup }: LimitNoticeDependencies) {
  const announced = new LRUCache<string, true>({ max: REMEMBERED_MAX })
  return (key: LimitedKey, budget: RunningBudget): void => {
    const { accountId, scope, period } = budget
    const cause = causeOf(budget)
    if (announced.has(`${scope} ${cause}`)) return
    announced.set(`${scope} ${cause}`, true)
    cleanup.add(async () => {
      const noted = limitNoticeKey(budget, period.id, redis)
      const client = redisOf(accountId, redis)
      if ((await client.set(noted, '1', 'PX', NOTED_FOR_MS, 'NX')) === null) return
      try {
        const data = {
          ...(await holderData(key, budget, postgres)),
          ...(await limitData(budget, groupLimit)),
        }
        const type = isGroupScope(scope) ? 'budget.limit_reached' : (`${scope}.limit_reached` as const)
        await recordEvent(postgres, { type, accountId, cause, data })
      } catch (error) {
        // The task is retried; no other process may take it for done.
        await client.del(noted)
        throw error
      }
    })
  }
}

/** A member may have a budget in each of several organisations, and names of groups are those of their account. */
const causeOf = ({ scope, accountId, id, period }: RunningBudget): string => {
  if (isGroupScope(scope)) return `${accountId}:${scope}:${id}:${period.id}`
  return scope === 'member' ? `${accountId}:${id}:${period.id}` : `${id}:${period.id}`
}

async function holderData(
  key: LimitedKey,
  { scope, id }: RunningBudget,
  postgres: Postgres,
): Promise<EventData> {
  switch (scope) {
    case 'key':
      return { key_id: key.keyId, name: key.name }
    case 'member': {
      const member = await postgres.account.findUnique({ where: { id }, select: { email: true } })
      return { member_id: id, member_email: member?.email ?? '' }
    }
    case 'account':
      return {}
    case 'project':
    case 'tag':
    case 'user':
      return { scope, name: id }
  }
}

async function limitData(
  budget: RunningBudget,
  groupLimit: LimitNoticeDependencies['groupLimit'],
): Promise<EventData> {
  const { scope, period } = budget
  const limitPico = isGroupScope(scope) ? await groupLimit(budget) : budget.limitPico
  return {
    limit_usd: formatUsd(picoUsd(limitPico)),
    // The first letter of a period is that of its kind; `total` has none.
    limit_reset: LIMIT_RESETS.find((reset) => reset[0] === period.id[0]) ?? 'none',
    resets_at: isoTimeOrNull(period.endsAt),
  }
}
