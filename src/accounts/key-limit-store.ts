import type { RateLimits } from '../core/accounts/api-key.ts'
import type { LimitReset } from '../core/billing/allowance-period.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** An operator's limits for a key; absent: unchanged, null: no limit. Amounts in pico-USD. */
export interface KeyLimits extends Partial<RateLimits> {
  limitPico?: bigint | null
  limitReset?: LimitReset
}

/** Changes the limits of a key. False if there is no such active key. */
export async function setKeyLimits(postgres: Postgres, keyId: string, limits: KeyLimits): Promise<boolean> {
  const { count } = await postgres.apiKey.updateMany({
    where: { id: keyId, state: 'active' },
    data: limits,
  })
  return count === 1
}
