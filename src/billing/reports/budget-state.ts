import type { RunningBudget } from '../../core/billing/budget.ts'
import type { Reports } from './reports.ts'

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
  { spend, allowance }: Pick<Reports, 'spend' | 'allowance'>,
): Promise<SpentAndLeft> {
  const [{ spentPico }, known] = await Promise.all([
    spend.spending(budget, period, []),
    // Without Redis no call is admitted; the ledger still has the spending.
    allowance(budget, period).catch(() => null),
  ])
  const left = known ?? budget.limitPico - spentPico
  return { spentPico, leftPico: left < 0n ? 0n : left }
}
