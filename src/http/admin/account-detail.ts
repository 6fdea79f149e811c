import type { Account } from '../../accounts/account-store.ts'
import type { OperatorAccountDetail } from '../../core/api/accounts.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Services } from '../../services.ts'
import { accountView, keyView, spendView, suspensionView, topUpView } from './account-views.ts'
import { actionView } from './alarm-routes.ts'

const SPEND_DAYS = 30
const LISTED = 20

export type AccountDetailServices = Pick<
  Services,
  'holds' | 'keys' | 'usage' | 'payments' | 'directory' | 'auditLog'
> & { clock: () => number }

/** All that operators see of one account. Redis being away does not hide what the ledger knows. */
export async function accountDetail(
  account: Account,
  services: AccountDetailServices,
): Promise<OperatorAccountDetail> {
  const { keys, usage, payments, directory, auditLog, clock } = services
  const { id } = account
  const now = clock()
  const lastDays = { fromMs: now - SPEND_DAYS * DAY_MS, toMs: now + 1 }
  const [holds, byokKeys, spend, topUps, suspensions, done] = await Promise.all([
    services.holds.inspect(id).catch(() => null),
    keys.list(id),
    usage.usage(id, lastDays, 'day', SPEND_DAYS + 1),
    payments.list({ accountId: id, limit: LISTED }),
    directory.suspensions(id, LISTED),
    auditLog.page({ target: id, after: null, limit: LISTED }),
  ])
  return {
    object: 'account',
    ...accountView(account),
    available_usd: holds && formatUsd(holds.availPico ?? account.balancePico),
    held_usd: holds && formatUsd(holds.heldPico),
    open_holds: holds?.openHolds ?? null,
    keys: byokKeys.map(keyView),
    spend: (spend?.rows ?? []).map(spendView),
    top_ups: topUps.map(topUpView),
    suspensions: suspensions.map(suspensionView),
    actions: done.map(actionView),
  }
}
