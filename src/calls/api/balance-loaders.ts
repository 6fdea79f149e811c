import { createAllowanceStore } from '../../billing/holds/allowance-store.ts'
import type { HoldStore, LedgerBalance } from '../../billing/holds/hold-store.ts'
import type { SpendStore } from '../../billing/reports/spend-store.ts'
import type { BudgetHolder } from '../../core/billing/budget.ts'
import { isGroupScope } from '../../core/billing/group-scopes.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import type { AdmissionDependencies } from './admit-call.ts'

/** Maximum loads of a balance while Redis knows newer ones. */
const LOADS_MAX = 5

/** The accounts of PostgreSQL. */
export interface AccountBalances {
  find: (accountId: string) => Promise<LedgerBalance | null>
}

/** The data that loading needs about a Redis that lost its data. */
export interface Recovery {
  /** Resolves to the epoch of Redis's data, once workers have had time to restore their holds. */
  resynced: () => Promise<string>
  /** PostgreSQL's charges of those calls that are settled. */
  charges: (callIds: string[]) => Promise<Map<string, bigint>>
}

/** Loads balances and allowances that Redis does not have from PostgreSQL, for admission. */
export function createBalanceLoaders(
  accounts: AccountBalances,
  spend: Pick<SpendStore, 'holdsOf' | 'spending'>,
  groupLimit: (group: BudgetHolder) => Promise<bigint>,
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
          // Checked again, because the announcement must have been made within the epoch.
          if ((await recovery.resynced()) !== epoch) continue
          // Workers restore more than was lost: the charges of settled calls are in the balance already.
          const open = (await holds.openHolds(accountId)).map((hold) => hold.callId)
          const charges = open.length > 0 ? await recovery.charges(open) : new Map<string, bigint>()
          const settled = [...charges].map(([callId, chargePico]) => ({ callId, chargePico }))
          const ledger = await balanceOf(accountId)
          if (settled.length > 0) await holds.apply(accountId, ledger, settled)
          if (await holds.load(accountId, ledger, epoch)) return
        }
      }),

    loadAllowance: async ({ period, ...budget }) => {
      const limitPico = isGroupScope(budget.scope) ? await groupLimit(budget) : budget.limitPico
      await allowances.load({ ...budget, limitPico }, period)
    },
  }
}
