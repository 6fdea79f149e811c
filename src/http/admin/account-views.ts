import type { ListedAccount, ListedSuspension } from '../../accounts/account-directory.ts'
import type { StoredKey } from '../../accounts/key-store.ts'
import type { UsageRow } from '../../billing/reports/usage-store.ts'
import type {
  OperatorAccount,
  OperatorAccountDetail,
  OperatorKey,
  OperatorTopUp,
} from '../../core/api/operator-api.ts'
import { formatUsd, picoUsd } from '../../core/kernel/money.ts'
import type { Payment } from '../../payments/payment-store.ts'

/** An amount of pico-USD as a decimal string of USD. */
export const usd = (amountPico: bigint): string => formatUsd(picoUsd(amountPico))

export const accountView = (account: ListedAccount): OperatorAccount => ({
  id: account.id,
  email: account.email,
  state: account.state,
  balance_usd: usd(account.balancePico),
  owed_usd: usd(account.owedPico),
  low_balance_usd: account.lowBalancePico === null ? null : usd(account.lowBalancePico),
  requests_per_minute: account.requestsPerMinute,
  concurrent_calls: account.concurrentCalls,
  created_at: account.createdAt.toISOString(),
})

/** A key without its secret. */
export const keyView = (key: StoredKey): OperatorKey => ({
  id: key.id,
  account_id: key.accountId,
  kind: key.kind,
  name: key.name,
  state: key.state,
  hint: `${key.prefix}…${key.suffix}`,
  limit_usd: key.limitPico === null ? null : usd(key.limitPico),
  limit_reset: key.limitReset,
  requests_per_minute: key.requestsPerMinute,
  concurrent_calls: key.concurrentCalls,
  customer_requests_per_minute: key.customerRequestsPerMinute,
  customer_concurrent_calls: key.customerConcurrentCalls,
  expires_at: key.expiresAt?.toISOString() ?? null,
  created_at: key.createdAt.toISOString(),
  revoked_at: key.revokedAt?.toISOString() ?? null,
})

export const topUpView = (payment: Payment): OperatorTopUp => ({
  id: payment.id,
  rail: payment.rail,
  state: payment.state,
  amount_usd: usd(payment.amountPico),
  settled_usd: usd(payment.settledPico),
  created_at: payment.createdAt.toISOString(),
  settled_at: payment.settledAt?.toISOString() ?? null,
})

export const suspensionView = (
  suspension: ListedSuspension,
): OperatorAccountDetail['suspensions'][number] => ({
  id: suspension.id,
  at: suspension.createdAt.toISOString(),
  payment_id: suspension.paymentId,
  reason: suspension.reason,
  shortfall_usd: usd(suspension.shortfallPico),
})

export const spendView = (row: UsageRow): OperatorAccountDetail['spend'][number] => ({
  day: row.group,
  calls: Number(row.calls),
  total_tokens: Number(row.promptTokens + row.completionTokens),
  cost_usd: usd(row.chargePico),
})
