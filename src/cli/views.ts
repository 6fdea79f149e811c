import type { Account } from '../accounts/account-store.ts'
import type { StoredKey } from '../accounts/key-store.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'

/** An amount of pico-USD as a decimal string of USD. */
export const usd = (amountPico: bigint): string => formatUsd(picoUsd(amountPico))

/** An account as commands print it. */
export const accountView = (account: Account) => ({
  account_id: account.id,
  email: account.email,
  state: account.state,
  balance_usd: usd(account.balancePico),
  low_balance_usd: account.lowBalancePico === null ? null : usd(account.lowBalancePico),
  requests_per_minute: account.requestsPerMinute,
  concurrent_calls: account.concurrentCalls,
  created_at: account.createdAt.toISOString(),
})

/** A key as commands print it, without its secret. */
export const keyView = (key: StoredKey) => ({
  key_id: key.id,
  account_id: key.accountId,
  kind: key.kind,
  name: key.name,
  state: key.state,
  hint: `${key.prefix}…${key.suffix}`,
  limit_usd: key.limitPico === null ? null : usd(key.limitPico),
  limit_reset: key.limitReset,
  expires_at: key.expiresAt?.toISOString() ?? null,
  requests_per_minute: key.requestsPerMinute,
  concurrent_calls: key.concurrentCalls,
  customer_requests_per_minute: key.customerRequestsPerMinute,
  customer_concurrent_calls: key.customerConcurrentCalls,
  created_at: key.createdAt.toISOString(),
  revoked_at: key.revokedAt?.toISOString() ?? null,
})

/** Lines of `name  value`, aligned, for people. Nulls and empty texts are left out. */
export function lines(view: Record<string, unknown>): string {
  const shown = Object.entries(view).filter(([, value]) => value !== null && value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${String(value)}`).join('\n')
}
