import type { AccountStore } from '../../accounts/account-store.ts'
import { createAllowanceStore } from '../../billing/holds/allowance-store.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import type { SpendStore } from '../../billing/reports/usage-store.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import type { AdmissionDependencies } from './admit-call.ts'

/** Reads of a balance that Redis knows a newer one of. */
const LOADS_MAX = 5

/** What loading has to know of a Redis that lost its data. */
export interface Recovery {
  /** Resolves to the epoch of Redis's data, once workers have had time to tell it what they hold. */
  resynced: () => Promise<string>
  /** What PostgreSQL charged for some calls, of those that are settled. */
  charges: (callIds: string[]) => Promise<Map<string, bigint>>
}

/** How admission brings figures that Redis does not know (yet, or any more) over from PostgreSQL. */
export function createBalanceLoaders(
  accounts: Pick<AccountStore, 'find'>,
  spend: Pick<SpendStore, 'keysOf' | 'spending'>,
  holds: HoldStore,
  recovery: Recovery,
): Pick<AdmissionDependencies, 'loadBalance' | 'loadAllowance'> {
  const balanceOf = async (accountId: string) => {
    const account = await accounts.find(accountId)
    if (!account) throw new Error(`account ${accountId} of a live key does not exist`)
    return account
  }
  const allowances = createAllowanceStore(holds, spend)
  const once = createSingleFlight()
  return {
    loadBalance: (accountId) =>
      once(accountId, async () => {
        for (let load = 0; load < LOADS_MAX; load++) {
          const epoch = await recovery.resynced()
          await holds.announceLoad(accountId, epoch)
          // Asked again: the announcement itself must have been made within the epoch.
          if ((await recovery.resynced()) !== epoch) continue
          // Workers resync more than was lost: charges of settled calls are inside the balance already.
          const open = (await holds.openHolds(accountId)).map((hold) => hold.callId)
          const charges = open.length > 0 ? await recovery.charges(open) : new Map<string, bigint>()
          const settled = [...charges].map(([callId, chargePico]) => ({ callId, chargePico }))
          const ledger = await balanceOf(accountId)
          if (settled.length > 0) await holds.apply(accountId, ledger, settled)
          if (await holds.load(accountId, ledger, epoch)) return
        }
      }),

    loadAllowance: ({ period, ...budget }) => allowances.load(budget, period),
  }
}
