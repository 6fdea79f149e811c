import type { LimitReset } from '../core/allowance-period.ts'
import type { Postgres } from '../platform/postgres.ts'

/** What a key may do; what is absent stays as it is, null lifts a limit. Amounts in pico-USD. */
export interface KeyLimits {
  limitPico?: bigint | null
  limitReset?: LimitReset
  requestsPerMinute?: number | null
  concurrentCalls?: number | null
}

/** Changes the limits of a key. False when there is no such key that is in use. */
export async function setKeyLimits(postgres: Postgres, keyId: string, limits: KeyLimits): Promise<boolean> {
  const { count } = await postgres.apiKey.updateMany({
    where: { id: keyId, state: 'active' },
    data: limits,
  })
  return count === 1
}
