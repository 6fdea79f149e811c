import type { PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { LedgerBalance } from '../holds/hold-store.ts'

export interface LockedAccount extends LedgerBalance {
  owedPico: bigint
}

const LOCK_ACCOUNT = `
SELECT balance_pico AS "balancePico", version, owed_pico AS "owedPico" FROM accounts WHERE id = $1 FOR UPDATE`

const CHANGE_DEBT = 'UPDATE accounts SET owed_pico = owed_pico + $2::bigint WHERE id = $1'

/** Locks an account's row: until the transaction ends its balance moves by this transaction alone. */
export async function lockAccount(
  transaction: PostgresTransaction,
  accountId: string,
): Promise<LockedAccount> {
  const [account] = await transaction.$queryRawUnsafe<LockedAccount[]>(LOCK_ACCOUNT, accountId)
  if (!account) throw new Error(`account ${accountId} does not exist`)
  return account
}

/** Changes what an account owes, in the transaction of the posting that changes its receivable. */
export async function changeDebt(
  transaction: PostgresTransaction,
  accountId: string,
  changePico: bigint,
): Promise<void> {
  if (changePico !== 0n) await transaction.$executeRawUnsafe(CHANGE_DEBT, accountId, changePico)
}
