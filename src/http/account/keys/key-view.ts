import type { StoredKey } from '../../../accounts/key-store.ts'
import type { KeyActivity, KeyActivityStore } from '../../../billing/reports/spend-store.ts'
import { grantedLimits, keyLimits, type LimitDefaults } from '../../../core/accounts/api-key.ts'
import { boundedBy, type KeyAuthority, type SettingBounds } from '../../../core/accounts/key-authority.ts'
import { jsonView } from '../../../core/api/json-view.ts'
import { KeyView } from '../../../core/api/keys.ts'
import { allowancePeriod } from '../../../core/billing/allowance-period.ts'
import { isoTimeOrNull } from '../../../core/kernel/time.ts'

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
  const effective = keyLimits(key, defaults)
  const granted = grantedLimits(key, defaults)
  const spentPico = activity?.spentPico ?? 0n
  const { previousUntil } = key
  const leftPico = key.limitPico === null ? null : key.limitPico - spentPico
  const { endsAt } = allowancePeriod(key.limitReset, nowMs)
  return jsonView(KeyView, {
    ...key,
    spentPico,
    hint: `${key.prefix}…${key.suffix}`,
    hasSecret: key.suffix !== '',
    previousSecretUntil: previousUntil && previousUntil.getTime() > nowMs ? previousUntil : null,
    state: stateOf(key, nowMs),
    remainingPico: leftPico !== null && leftPico < 0n ? 0n : leftPico,
    resetsAt: isoTimeOrNull(endsAt),
    effectiveRequestsPerMinute: effective.requestsPerMinute,
    effectiveConcurrentCalls: effective.concurrentCalls,
    operatorRequestsPerMinute: granted.requestsPerMinute,
    operatorConcurrentCalls: granted.concurrentCalls,
    boundedBy: boundedBy((key.bounds ?? {}) as SettingBounds, reader),
    lastUsedAt: isoTimeOrNull(activity?.lastUsedAt),
  })
}

/** Why a key does not work, the most permanent reason first. */
function stateOf({ state, expiresAt, pausedAt }: StoredKey, nowMs: number): KeyView['state'] {
  if (state === 'revoked') return 'revoked'
  if (expiresAt && expiresAt.getTime() <= nowMs) return 'expired'
  return pausedAt ? 'paused' : 'active'
}
