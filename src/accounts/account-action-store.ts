import type { AccountActionName, ActionDetails } from '../core/accounts/account-action.ts'
import { newId } from '../core/kernel/ids.ts'
import { type IdPage, newestFirst, type Postgres } from '../platform/postgres/postgres.ts'

export interface NewAccountAction {
  accountId: string
  /** The personal account of who did it. */
  personId: string
  action: AccountActionName
  /** The id of what was acted on. */
  target: string
  details: ActionDetails
}

/** What people did to accounts in the console; append-only. */
export type AccountActionStore = ReturnType<typeof createAccountActionStore>

export function createAccountActionStore(postgres: Postgres) {
  return {
    async record(action: NewAccountAction): Promise<void> {
      await postgres.accountAction.create({ data: { id: newId('act'), ...action } })
    },

    /** Newest first, after an action's id. */
    page: (accountId: string, page: IdPage) =>
      postgres.accountAction.findMany(newestFirst(page, { accountId })),
  }
}
