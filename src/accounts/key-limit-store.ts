import type { RateLimits } from '../core/accounts/rate-limits.ts'
import type { LimitReset } from '../core/billing/allowance-period.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** What an operator grants a key; what is absent stays as it is, null lifts a limit. Amounts in pico-USD. */
export interface KeyLimits extends Partial<RateLimits> {
  limitPico?: bigint | null
  limitReset?: LimitReset
}

/** Changes the limits of a key. False when there is no such key that is in use. */
export async function setKeyLimits(postgres: Postgres, keyId: string, limits: KeyLimits): Promise<boolean> {
  const { count } = await postgres.apiKey.updateMany({
    where: { id: keyId, state: 'active' },
    data: limits,
  })
  return count === 1
}
