import type { KeyEdit, NewKey, StoredKey } from '../../../accounts/key-store.ts'
import { grantedLimits, type LimitDefaults } from '../../../core/accounts/api-key.ts'
import {
  EXPIRY_WORDING,
  KeyEditBody,
  type NewCustomerKeyBody,
  type NewKeyBody,
} from '../../../core/api/keys.ts'
import { readUsd } from '../../../core/api/request-fields.ts'
import type { LimitReset } from '../../../core/billing/allowance-period.ts'
import { ApiError, invalid } from '../../../core/kernel/errors.ts'

/** The settings of a new key, of its account or of an operator. Throws ApiError. */
export function readNewKey(body: NewKeyBody & NewCustomerKeyBody, nowMs: number): NewKey {
  const limitPico = readUsd(body.limit_usd)
  const limitReset = body.limit_reset ?? 'none'
  refuseResetAlone(limitReset, limitPico)
  return {
    name: body.name.trim(),
    limitPico,
    limitReset,
    expiresAt: readExpiry(body.expires_at ?? null, nowMs),
    requestsPerMinute: body.operator_requests_per_minute ?? null,
    concurrentCalls: body.operator_concurrent_calls ?? null,
    customerRequestsPerMinute: body.customer_requests_per_minute ?? null,
    customerConcurrentCalls: body.customer_concurrent_calls ?? null,
  }
}

/** The changes of a key; rate limits up to the operator's maximum. Throws ApiError. */
export function readKeyEdit(
  body: KeyEditBody,
  key: StoredKey,
  defaults: LimitDefaults,
  nowMs: number,
): KeyEdit {
  if (Object.keys(body).length === 0)
    throw new ApiError('invalid_request', `Send at least one of ${FIELDS.join(', ')}.`)
  const granted = grantedLimits(key, defaults)
  const { customer_requests_per_minute: requests, customer_concurrent_calls: calls } = body
  refuseMore('customer_requests_per_minute', requests, granted.requestsPerMinute)
  refuseMore('customer_concurrent_calls', calls, granted.concurrentCalls)
  return {
    ...readSpendingLimit(body, key),
    ...(body.name !== undefined && { name: body.name.trim() }),
    ...(body.expires_at !== undefined && { expiresAt: readExpiry(body.expires_at, nowMs) }),
    ...(requests !== undefined && { customerRequestsPerMinute: requests }),
    ...(body.prompt_log_days !== undefined && { promptLogDays: body.prompt_log_days }),
    ...(body.cache_seconds !== undefined && { cacheSeconds: body.cache_seconds }),
    ...(calls !== undefined && { customerConcurrentCalls: calls }),
  }
}

const FIELDS = Object.keys(KeyEditBody.properties)

/** The changed spending limit; removing the limit also removes its period. */
function readSpendingLimit({ limit_usd: limit, limit_reset: reset }: KeyEditBody, key: StoredKey): KeyEdit {
  if (limit === undefined && reset === undefined) return {}
  const limitPico = limit === undefined ? key.limitPico : readUsd(limit)
  const limitReset = reset === undefined && limitPico !== null ? key.limitReset : (reset ?? 'none')
  refuseResetAlone(limitReset, limitPico)
  return limitPico === key.limitPico && limitReset === key.limitReset ? {} : { limitPico, limitReset }
}

function refuseResetAlone(limitReset: LimitReset, limitPico: bigint | null): void {
  if (limitReset !== 'none' && limitPico === null)
    throw invalid('limit_reset', '`limit_reset` requires `limit_usd`.')
}

function refuseMore(param: string, wanted: number | null | undefined, granted: number): void {
  if (wanted != null && wanted > granted)
    throw invalid(param, `\`${param}\` must be at most ${granted}, the operator's limit.`)
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** A future time; null for none. Throws ApiError. */
export function readExpiry(text: string | null, nowMs: number): Date | null {
  if (text === null) return null
  const at = ISO_TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at <= nowMs) throw invalid('expires_at', EXPIRY_WORDING)
  return new Date(at)
}
