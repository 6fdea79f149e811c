import type { ListedSuspension } from '../../accounts/account-directory.ts'
import type { Account } from '../../accounts/account-store.ts'
import type { StoredKey } from '../../accounts/key-store.ts'
import type { UsageRow } from '../../billing/reports/usage-store.ts'
import { OperatorAccount, type OperatorAccountDetail, OperatorSuspension } from '../../core/api/accounts.ts'
import { OperatorTopUp } from '../../core/api/billing.ts'
import { OperatorKey } from '../../core/api/keys.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import type { Payment } from '../../payments/payment-store.ts'
import { jsonView } from '../json-view.ts'

export const accountView = (account: Account): OperatorAccount => jsonView(OperatorAccount, account)

/** A key without its secret. */
export const keyView = (key: StoredKey): OperatorKey =>
  jsonView(OperatorKey, { ...key, hint: `${key.prefix}…${key.suffix}` })

export const topUpView = (payment: Payment): OperatorTopUp => jsonView(OperatorTopUp, payment)

export const suspensionView = (suspension: ListedSuspension): OperatorSuspension =>
  jsonView(OperatorSuspension, { ...suspension, at: suspension.createdAt })

export const spendView = (row: UsageRow): OperatorAccountDetail['spend'][number] => ({
  day: row.group,
  calls: Number(row.calls),
  total_tokens: Number(row.promptTokens + row.completionTokens),
  cost_usd: formatUsd(row.chargePico),
})
