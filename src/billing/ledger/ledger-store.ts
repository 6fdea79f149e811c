import { assertBalanced, balanceChange, type Posting } from '../../core/billing/postings.ts'
import type { PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { LedgerBalance } from '../holds/hold-store.ts'

interface PostedBalance extends LedgerBalance {
  /** False if this (id, kind) was already in the ledger, in which case nothing changed. */
  posted: boolean
}

/**
 * One statement, so that the database's checks see a transaction together with its entries. It locks the account's row
 * first: postings of one account are serialized, each with the next version. The account's state follows by
 * `account_state_after`.
 */
const POST = `
WITH account AS MATERIALIZED (
  SELECT id, balance_pico, version FROM accounts WHERE id = $3 FOR UPDATE
), posted AS (
  INSERT INTO ledger_transactions (id, kind, account_id)
  SELECT $1, $2::ledger_kind, account.id FROM account
  ON CONFLICT (id, kind) DO NOTHING
  RETURNING id, kind
), entries AS (
  INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
  SELECT posted.id, posted.kind, entry.ledger_account, entry.amount_pico
  FROM posted, json_to_recordset($4::json) AS entry (ledger_account text, amount_pico bigint)
), changed AS (
  UPDATE accounts SET
    balance_pico = accounts.balance_pico + $5::bigint,
    version = accounts.version + 1,
    state = account_state_after(accounts.state, accounts.balance_pico + $5::bigint, $5::bigint, $2::ledger_kind,
                                accounts.least_call_pico)
  FROM account, posted WHERE accounts.id = account.id
  RETURNING accounts.balance_pico, accounts.version
)
SELECT coalesce(changed.balance_pico, account.balance_pico) AS "balancePico",
       coalesce(changed.version, account.version) AS "version",
       changed.version IS NOT NULL AS "posted"
FROM account LEFT JOIN changed ON true`

/**
 * Writes one posting and updates its account's balance and version. A posting whose (id, kind) is already in the ledger
 * changes nothing and returns the current balance. Throws when the account is unknown, or when the database rejects it
 * (a balance below zero).
 */
export async function postLedger(postgres: PostgresTransaction, posting: Posting): Promise<PostedBalance> {
  assertBalanced(posting)
  const entries = posting.entries.map((entry) => ({
    ledger_account: entry.ledgerAccount,
    amount_pico: String(entry.amountPico),
  }))
  const [row] = await postgres.$queryRawUnsafe<PostedBalance[]>(
    POST,
    posting.id,
    posting.kind,
    posting.accountId,
    JSON.stringify(entries),
    balanceChange(posting),
  )
  if (!row) throw new Error(`account ${posting.accountId} does not exist`)
  return row
}

interface LockedAccount extends LedgerBalance {
  owedPico: bigint
}

const LOCK_ACCOUNT = `
SELECT balance_pico AS "balancePico", version, owed_pico AS "owedPico" FROM accounts WHERE id = $1 FOR UPDATE`

const CHANGE_DEBT = 'UPDATE accounts SET owed_pico = owed_pico + $2::bigint WHERE id = $1'

/** Locks an account's row: until the transaction ends, no other can change its balance. */
export async function lockAccount(
  transaction: PostgresTransaction,
  accountId: string,
): Promise<LockedAccount> {
  const [account] = await transaction.$queryRawUnsafe<LockedAccount[]>(LOCK_ACCOUNT, accountId)
  if (!account) throw new Error(`account ${accountId} does not exist`)
  return account
}

/** Changes the debt of an account, in the transaction of the posting that changes its receivable. */
export async function changeDebt(
  transaction: PostgresTransaction,
  accountId: string,
  changePico: bigint,
): Promise<void> {
  if (changePico !== 0n) await transaction.$executeRawUnsafe(CHANGE_DEBT, accountId, changePico)
}
