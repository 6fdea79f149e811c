import type { RunningBudget } from '../../core/billing/budget.ts'
import type { Reports } from './reports.ts'

/** What was spent of a budget in its period, and what its next call may cost, pico-USD. */
export interface SpentAndLeft {
  spentPico: bigint
  leftPico: bigint
}

/**
 * Left is the balance cache's own figure, which leaves out what open calls hold, or where it has none the budget less
 * what was spent. Rejects when PostgreSQL is away.
 */
export async function readBudget(
  { period, ...budget }: RunningBudget,
  { spend, allowance }: Pick<Reports, 'spend' | 'allowance'>,
): Promise<SpentAndLeft> {
  const [{ spentPico }, known] = await Promise.all([
    spend.spending(budget, period, []),
    // Without Redis no call is admitted; the ledger still says what is left.
    allowance(budget, period).catch(() => null),
  ])
  const left = known ?? budget.limitPico - spentPico
  return { spentPico, leftPico: left < 0n ? 0n : left }
}
