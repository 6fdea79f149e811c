import type { AccountStore } from '../accounts/account-store.ts'
import type { AccountCosts, UnchargedCostStore } from '../billing/reports/uncharged-cost-store.ts'
import { type UnchargedCostLimits, unchargedCostStanding } from '../core/billing/uncharged-cost.ts'
import { newId } from '../core/kernel/ids.ts'
import { formatUsd } from '../core/kernel/money.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { Operator, RunAudited } from './audit-log.ts'

export interface LimitUnchargedCostDependencies {
  costs: UnchargedCostStore
  accounts: Pick<AccountStore, 'suspend'>
  announce: (change: KeyChange) => Promise<void>
  auditedAction: RunAudited
  limits: UnchargedCostLimits
  logger: Logger
  clock: () => number
}

/** The actor in the audit log for the gateway's automatic actions. */
const GATEWAY = 'gateway'

/**
 * Slows accounts whose uncharged cost exceeds their share, suspends those that continue, and ends the slowdown of the
 * others. Each step is in the audit log and raises an alarm. `account resume` waives the cost so far.
 */
export async function limitUnchargedCost(deps: LimitUnchargedCostDependencies): Promise<void> {
  for (const account of await deps.costs.suspects(deps.limits.floorPico)) {
    if (account.isSuspended) continue
    const standing = unchargedCostStanding(account, deps.limits)
    if (standing === 'stopped') await act(account, 'account.suspend', deps)
    else if (standing === 'slowed' && !account.isSlowed) await act(account, 'account.slow', deps)
    else if (standing === 'normal' && account.isSlowed) await act(account, 'account.unslow', deps)
  }
}

async function act(
  account: AccountCosts,
  action: 'account.suspend' | 'account.slow' | 'account.unslow',
  { accounts, costs, announce, auditedAction, logger, clock }: LimitUnchargedCostDependencies,
): Promise<void> {
  const { accountId } = account
  const details = {
    reason: 'uncharged provider cost',
    caused_usd: formatUsd(account.causedPico),
    charged_usd: formatUsd(account.chargedPico),
  }
  const gateway: Operator = { actor: GATEWAY, requestId: newId('cmd') }
  await auditedAction(gateway, { action, target: accountId, details }, async () => {
    if (action === 'account.suspend') await accounts.suspend(accountId)
    else await costs.setSlowed(accountId, action === 'account.slow' ? new Date(clock()) : null)
    await announce({ accountId })
  })
  if (action === 'account.unslow') return
  const alarm = { alarm: 'uncharged-cost', accountId, subject: accountId, action, ...details }
  logger.error(alarm, 'uncharged provider cost of an account exceeds its limit')
}
