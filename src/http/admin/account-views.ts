import type { ListedSuspension } from '../../accounts/account-directory.ts'
import type { Account } from '../../accounts/account-store.ts'
import type { StoredKey } from '../../accounts/key-store.ts'
import type { UsageRow } from '../../billing/reports/usage-store.ts'
import type { OperatorAccount, OperatorAccountDetail } from '../../core/api/accounts.ts'
import type { OperatorTopUp } from '../../core/api/billing.ts'
import type { OperatorKey } from '../../core/api/keys.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTime, isoTimeOrNull } from '../../core/kernel/time.ts'
import type { Payment } from '../../payments/payment-store.ts'

export const accountView = (account: Account): OperatorAccount => ({
  id: account.id,
  email: account.email,
  state: account.state,
  balance_usd: formatUsd(account.balancePico),
  owed_usd: formatUsd(account.owedPico),
  low_balance_usd: account.lowBalancePico === null ? null : formatUsd(account.lowBalancePico),
  requests_per_minute: account.requestsPerMinute,
  concurrent_calls: account.concurrentCalls,
  created_at: isoTime(account.createdAt),
})

/** A key without its secret. */
export const keyView = (key: StoredKey): OperatorKey => ({
  id: key.id,
  account_id: key.accountId,
  kind: key.kind,
  name: key.name,
  state: key.state,
  hint: `${key.prefix}…${key.suffix}`,
  limit_usd: key.limitPico === null ? null : formatUsd(key.limitPico),
  limit_reset: key.limitReset,
  requests_per_minute: key.requestsPerMinute,
  concurrent_calls: key.concurrentCalls,
  customer_requests_per_minute: key.customerRequestsPerMinute,
  customer_concurrent_calls: key.customerConcurrentCalls,
  expires_at: isoTimeOrNull(key.expiresAt),
  created_at: isoTime(key.createdAt),
  revoked_at: isoTimeOrNull(key.revokedAt),
})

export const topUpView = (payment: Payment): OperatorTopUp => ({
  id: payment.id,
  rail: payment.rail,
  state: payment.state,
  amount_usd: formatUsd(payment.amountPico),
  settled_usd: formatUsd(payment.settledPico),
  created_at: isoTime(payment.createdAt),
  settled_at: isoTimeOrNull(payment.settledAt),
})

export const suspensionView = (
  suspension: ListedSuspension,
): OperatorAccountDetail['suspensions'][number] => ({
  id: suspension.id,
  at: isoTime(suspension.createdAt),
  payment_id: suspension.paymentId,
  reason: suspension.reason,
  shortfall_usd: formatUsd(suspension.shortfallPico),
})

export const spendView = (row: UsageRow): OperatorAccountDetail['spend'][number] => ({
  day: row.group,
  calls: Number(row.calls),
  total_tokens: Number(row.promptTokens + row.completionTokens),
  cost_usd: formatUsd(row.chargePico),
})
