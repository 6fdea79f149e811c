import type { Logger } from '../platform/observability/logger.ts'
import type { Account, AccountStore } from './account-store.ts'

/** Makes posted credit spendable. */
export type MakeSpendable = (accountId: string) => Promise<void>

/** `loadBalance` makes the ledger balance spendable; if it fails, maintenance does it later. */
export function createMakeSpendable(deps: {
  accounts: Pick<AccountStore, 'find'>
  loadBalance: (account: Account) => Promise<unknown>
  logger: Logger
}): MakeSpendable {
  return async (accountId) => {
    try {
      const account = await deps.accounts.find(accountId)
      if (account) await deps.loadBalance(account)
    } catch (error) {
      deps.logger.warn({ err: error, accountId }, 'free credit posted, balance cache not updated yet')
    }
  }
}
