import type { StoredKey } from '../../../accounts/key-store.ts'
import type { KeyActivity, KeyActivityStore } from '../../../billing/reports/usage-store.ts'
import { grantedLimits, keyLimits, type LimitDefaults } from '../../../core/accounts/api-key.ts'
import { boundedBy, type KeyAuthority, type SettingBounds } from '../../../core/accounts/key-authority.ts'
import type { KeyView } from '../../../core/api/keys.ts'
import { allowancePeriod } from '../../../core/billing/allowance-period.ts'
import { formatUsd } from '../../../core/kernel/money.ts'
import { isoTime, isoTimeOrNull } from '../../../core/kernel/time.ts'

/** Keys with their spending, for a person of the account. */
export async function keyViews(
  keys: readonly StoredKey[],
  reader: KeyAuthority,
  { keyActivity, limits }: { keyActivity: KeyActivityStore; limits: LimitDefaults },
  nowMs: number,
): Promise<KeyView[]> {
  const asked = keys.map((key) => ({ keyId: key.id, period: allowancePeriod(key.limitReset, nowMs) }))
  const activity = await keyActivity.activity(asked)
  return keys.map((key) => keyView(key, reader, limits, activity.get(key.id), nowMs))
}

function keyView(
  key: StoredKey,
  reader: KeyAuthority,
  defaults: LimitDefaults,
  activity: KeyActivity | undefined,
  nowMs: number,
): KeyView {
  const { requestsPerMinute, concurrentCalls } = keyLimits(key, defaults)
  const granted = grantedLimits(key, defaults)
  const spentPico = activity?.spentPico ?? 0n
  const leftPico = key.limitPico === null ? null : key.limitPico - spentPico
  const { endsAt } = allowancePeriod(key.limitReset, nowMs)
  return {
    id: key.id,
    name: key.name,
    hint: `${key.prefix}…${key.suffix}`,
    has_secret: key.suffix !== '',
    state: stateOf(key, nowMs),
    limit_usd: key.limitPico === null ? null : formatUsd(key.limitPico),
    limit_reset: key.limitReset,
    spent_usd: formatUsd(spentPico),
    remaining_usd: leftPico === null ? null : formatUsd(leftPico < 0n ? 0n : leftPico),
    resets_at: isoTimeOrNull(endsAt),
    requests_per_minute: requestsPerMinute,
    concurrent_calls: concurrentCalls,
    own_requests_per_minute: key.customerRequestsPerMinute,
    own_concurrent_calls: key.customerConcurrentCalls,
    max_requests_per_minute: granted.requestsPerMinute,
    max_concurrent_calls: granted.concurrentCalls,
    paused_at: isoTimeOrNull(key.pausedAt),
    paused_by: key.pausedBy,
    bounded_by: boundedBy((key.bounds ?? {}) as SettingBounds, reader),
    allowed_models: key.allowedModels,
    allowed_providers: key.allowedProviders,
    scopes: key.scopes,
    prompt_log_days: key.promptLogDays,
    expires_at: isoTimeOrNull(key.expiresAt),
    created_at: isoTime(key.createdAt),
    revoked_at: isoTimeOrNull(key.revokedAt),
    last_used_at: isoTimeOrNull(activity?.lastUsedAt),
  }
}

/** Why a key does not work, the most permanent reason first. */
function stateOf({ state, expiresAt, pausedAt }: StoredKey, nowMs: number): KeyView['state'] {
  if (state === 'revoked') return 'revoked'
  if (expiresAt && expiresAt.getTime() <= nowMs) return 'expired'
  return pausedAt ? 'paused' : 'active'
}
