import type { AccountActionName, ActionDetails } from '../core/accounts/account-action.ts'
import { newId } from '../core/kernel/ids.ts'
import { type IdPage, newestFirst, type Postgres } from '../platform/postgres/postgres.ts'

export interface NewAccountAction {
  accountId: string
  /** The personal account of the person who acted. */
  personId: string
  action: AccountActionName
  /** The id of the target. */
  target: string
  details: ActionDetails
}

/** An action repeated within a minute, with no other in between, is recorded once. */
const RECORD = `
INSERT INTO account_actions (id, account_id, person_id, action, target, details)
SELECT $1, $2, $3, $4, $5, $6::jsonb WHERE NOT EXISTS (
  SELECT FROM (SELECT * FROM account_actions WHERE account_id = $2 ORDER BY id DESC LIMIT 1) AS latest
  WHERE person_id = $3 AND action = $4 AND target = $5 AND details = $6::jsonb
    AND created_at > now() - interval '1 minute')`

const PRUNED_AT_ONCE = 1_000

/** People's actions on accounts in the console; append-only for 400 days, enforced by the database. */
export type AccountActionStore = ReturnType<typeof createAccountActionStore>

export function createAccountActionStore(postgres: Postgres) {
  return {
    async record({ accountId, personId, action, target, details }: NewAccountAction): Promise<void> {
      const values = [newId('act'), accountId, personId, action, target, JSON.stringify(details)]
      await postgres.$executeRawUnsafe(RECORD, ...values)
    },

    /** Newest first, after an action's id; on some targets, or all. */
    page: (accountId: string, { targets, ...page }: { targets: string[] | null } & IdPage) =>
      postgres.accountAction.findMany(
        newestFirst(page, { accountId, ...(targets && { target: { in: targets } }) }),
      ),
  }
}

/** Deletes actions that are old enough for the database to allow it. */
export async function pruneAccountActions(postgres: Postgres): Promise<void> {
  let deleted: number
  do {
    deleted = await postgres.$executeRaw`
      DELETE FROM account_actions WHERE id IN (
        SELECT id FROM account_actions WHERE created_at < now() - interval '400 days' LIMIT ${PRUNED_AT_ONCE})`
  } while (deleted === PRUNED_AT_ONCE)
}
