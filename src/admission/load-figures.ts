import type { AccountStore } from '../accounts/account-store.ts'
import { createAllowanceStore } from '../billing/allowance-store.ts'
import type { HoldGate } from '../billing/hold-gate.ts'
import type { SpendStore } from '../billing/spend-store.ts'
import { createSingleFlight } from '../core/single-flight.ts'
import type { Redis } from '../platform/redis.ts'
import type { AdmissionDependencies } from './admit-call.ts'

/** Reads of a balance that Redis knows a newer one of. */
const LOADS_MAX = 5

/**
 * How admission brings figures that Redis does not know (yet, or any more) over from PostgreSQL. `restated`
 * resolves once workers have had time to tell an emptied Redis what they hold.
 */
export function createFigureLoaders(
  accounts: AccountStore,
  spend: SpendStore,
  gate: HoldGate,
  redis: Redis,
  restated: () => Promise<void>,
): Pick<AdmissionDependencies, 'loadBalance' | 'loadAllowance' | 'releaseHold'> {
  const balanceOf = async (accountId: string) => {
    const account = await accounts.find(accountId)
    if (!account) throw new Error(`account ${accountId} of a live key does not exist`)
    return account
  }
  const allowances = createAllowanceStore(redis, spend)
  const once = createSingleFlight()
  return {
    loadBalance: (accountId) =>
      once(accountId, async () => {
        await restated()
        for (let load = 0; load < LOADS_MAX; load++) {
          if (await gate.load(accountId, await balanceOf(accountId))) return
        }
      }),

    async releaseHold(accountId, callId) {
      await gate.apply(accountId, await balanceOf(accountId), [{ callId, chargePico: 0n }])
    },

    async loadAllowance({ keyId, accountId, limitPico }, period) {
      if (accountId === null || limitPico === null) throw new Error(`key ${keyId} has no allowance`)
      await allowances.load({ keyId, accountId, limitPico }, period)
    },
  }
}
