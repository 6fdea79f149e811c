import type { AccountStore } from '../accounts/account-store.ts'
import type { HoldGate } from '../billing/hold-gate.ts'
import type { SpendStore } from '../billing/spend-store.ts'
import type { Redis } from '../platform/redis.ts'
import { apiKeyKeys } from '../platform/redis-keys.ts'
import type { AdmissionDependencies } from './admit-call.ts'

/** A key's allowance outlives its period by this, for calls that were admitted at its very end. */
const PERIOD_SLACK_MS = 3_600_000

/** How admission brings figures that Redis does not know (yet, or any more) over from PostgreSQL. */
export function createFigureLoaders(
  accounts: AccountStore,
  spend: SpendStore,
  gate: HoldGate,
  redis: Redis,
): Pick<AdmissionDependencies, 'loadBalance' | 'loadAllowance' | 'releaseHold'> {
  const balanceOf = async (accountId: string) => {
    const account = await accounts.find(accountId)
    if (!account) throw new Error(`account ${accountId} of a live key does not exist`)
    return account
  }
  return {
    async loadBalance(accountId) {
      await gate.apply(accountId, await balanceOf(accountId), [])
    },

    async releaseHold(accountId, callId) {
      await gate.apply(accountId, await balanceOf(accountId), [{ callId, chargePico: 0n }])
    },

    async loadAllowance(key, period) {
      if (key.accountId === null || key.limitPico === null)
        throw new Error(`key ${key.keyId} has no allowance`)
      const left = key.limitPico - (await spend.spentSince(key.keyId, period.startsAt))
      const name = apiKeyKeys(key.accountId, key.keyId, period.id).left
      // Only if absent: another instance may have loaded it, and calls been admitted, in the meantime.
      if (period.endsAt === null) await redis.set(name, String(left), 'NX')
      else await redis.set(name, String(left), 'PXAT', period.endsAt + PERIOD_SLACK_MS, 'NX')
    },
  }
}
