import { type UnchargedCostLimits, unchargedCostStanding } from '../../core/billing/uncharged-cost.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { createUnchargedCostStore } from '../reports/uncharged-cost-store.ts'
import { type CheckResult, SAMPLES } from './audit-findings.ts'

const NAME = 'every account with twice the allowed unpaid cost is slowed or suspended'

/** Accounts whose uncharged provider cost exceeds the limit for suspension, but that were not even slowed. */
export async function auditUnchargedCost(
  postgres: Postgres,
  limits: UnchargedCostLimits,
): Promise<CheckResult> {
  const suspects = await createUnchargedCostStore(postgres).suspects(limits.floorPico)
  const found = suspects.filter(
    (account) =>
      !account.isSuspended && !account.isSlowed && unchargedCostStanding(account, limits) === 'stopped',
  )
  return {
    name: NAME,
    broken: found.length,
    discrepancies: found.slice(0, SAMPLES).map(({ accountId, causedPico, chargedPico }) => ({
      check: NAME,
      subject: accountId,
      detail: `caused ${formatUsd(causedPico)} USD of unpaid cost, was charged ${formatUsd(chargedPico)} USD`,
    })),
  }
}
