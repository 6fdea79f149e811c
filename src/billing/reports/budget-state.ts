import type { BudgetHolder, RunningBudget } from '../../core/billing/budget.ts'
import { type Redis, redisOf } from '../../platform/redis/redis.ts'
import { allowanceKey } from '../../platform/redis/redis-keys.ts'
import type { SpendStore } from './spend-store.ts'

/**
 * The rest of some budgets of one account in their periods, less open holds, pico-USD, by one command; null for one that is not
 * in Redis. Below zero nothing may be spent.
 */
export type Allowances = ReturnType<typeof createAllowances>

export const createAllowances =
  (redis: Redis) => async (budgets: ReadonlyArray<BudgetHolder & Pick<RunningBudget, 'period'>>) => {
    const [first] = budgets
    if (!first) return []
    const keys = budgets.map((budget) => allowanceKey(budget, budget.period.id, redis))
    const found = await redisOf(first.accountId, redis).mget(keys)
    return found.map((text) => (text === null ? null : BigInt(text)))
  }

/** The spending of a budget in its period, and the maximum cost of its next call, pico-USD. */
export interface SpentAndLeft {
  spentPico: bigint
  leftPico: bigint
}

/**
 * The remaining amount comes from the balance cache, which subtracts open holds; without it, it is the budget less the
 * spending. Rejects when PostgreSQL is away.
 */
export async function readBudget(
  { period, ...budget }: RunningBudget,
  { spend, allowances }: { spend: Pick<SpendStore, 'spending'>; allowances: Allowances },
): Promise<SpentAndLeft> {
  const [{ spentPico }, [known]] = await Promise.all([
    spend.spending(budget, period, []),
    // Without Redis no call is admitted; the ledger still has the spending.
    allowances([{ ...budget, period }]).catch(() => []),
  ])
  const left = known ?? budget.limitPico - spentPico
  return { spentPico, leftPico: left < 0n ? 0n : left }
}
