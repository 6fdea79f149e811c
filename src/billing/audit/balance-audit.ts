import type { PostgresTransaction } from '../../platform/postgres/postgres.ts'
import { type AuditFinding, openFindings, replaceFindings } from './audit-findings.ts'
import type { AuditTurn } from './audit-turn.ts'

export const BALANCE = "an account's balance is the sum of its entries"
const NOT_NEGATIVE = 'no balance is below zero'
const OWED = 'an account owes exactly what its receivable holds'
export const BALANCE_CHECKS = [BALANCE, NOT_NEGATIVE, OWED] as const

/** Whether a ledger account is compared with a row of `accounts`. */
export const OF_AN_ACCOUNT = "(ledger_account LIKE 'customer:%' OR ledger_account LIKE 'receivable:%')"

const ACCOUNTS_AT_ONCE = 5_000
/** Accounts that an audit compares although nothing was posted to them: all of most installations, others in turn. */
const IN_TURN = 100_000
/** With more entries than this that are not proven yet, balances are not compared. */
const TAIL_MAX = 200_000

/** Entries that are not proven yet, but in the balances of this snapshot. */
const TAIL = 'written_xact >= (SELECT proven_xact FROM audit_point)'
const TAIL_LENGTH = `
SELECT count(*)::int AS entries FROM (SELECT 1 FROM ledger_entries WHERE ${TAIL} LIMIT ${TAIL_MAX + 1}) AS tail`

const COMPARE = `
WITH tail AS MATERIALIZED (
  SELECT ledger_account, sum(amount_pico) AS total FROM ledger_entries
  WHERE ${TAIL} AND kind NOT IN ('carried_charges', 'carried_credits') GROUP BY 1
), compared AS (
  SELECT asked.id, account.balance_pico, account.owed_pico, account.id IS NULL AS is_missing,
         coalesce(balance.amount_pico, 0) + coalesce(balance_tail.total, 0) AS entries,
         coalesce(debt.amount_pico, 0) + coalesce(debt_tail.total, 0) AS debt
  FROM unnest($1::text[]) AS asked (id)
  LEFT JOIN accounts AS account ON account.id = asked.id
  LEFT JOIN audit_balances AS balance ON balance.ledger_account = 'customer:' || asked.id
  LEFT JOIN audit_balances AS debt ON debt.ledger_account = 'receivable:' || asked.id
  LEFT JOIN tail AS balance_tail ON balance_tail.ledger_account = 'customer:' || asked.id
  LEFT JOIN tail AS debt_tail ON debt_tail.ledger_account = 'receivable:' || asked.id
)
SELECT '${BALANCE.replaceAll("'", "''")}' AS "check", id, 'customer:' || id AS subject,
       'balance ' || coalesce(balance_pico::text, 'of no account') || ', entries ' || entries AS detail
FROM compared WHERE balance_pico <> entries OR (is_missing AND entries <> 0)
UNION ALL
SELECT '${NOT_NEGATIVE}', id, id, 'balance ' || balance_pico FROM compared WHERE balance_pico < 0
UNION ALL
SELECT '${OWED}', id, 'receivable:' || id,
       'owed ' || coalesce(owed_pico::text, 'by no account') || ', entries ' || debt
FROM compared WHERE owed_pico <> -debt OR (is_missing AND debt <> 0)`

const CHANGED = `
SELECT DISTINCT split_part(ledger_account, ':', 2) AS id FROM (
  SELECT ledger_account FROM audit_balances WHERE is_changed ORDER BY ledger_account LIMIT ${ACCOUNTS_AT_ONCE}
) AS changed`
const COMPARED = `
UPDATE audit_balances SET is_changed = false
WHERE is_changed AND ledger_account IN (SELECT prefix || id FROM unnest($1::text[]) AS id, unnest('{customer:,receivable:}'::text[]) AS prefix)`
const IN_ORDER = `SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT ${ACCOUNTS_AT_ONCE}`
const TURN_AT = 'UPDATE audit_point SET account_after = $1'

/**
 * Compares balances with proven entries and those that are not proven yet: of accounts with a finding or with new entries,
 * and of others in turn, or all with `all`. Yields the accounts of each step.
 */
export async function* auditBalances(turn: AuditTurn, { all }: { all: boolean }): AsyncGenerator<string[]> {
  if (await turn.step(isFarBehind)) return
  yield await turn.step(async (transaction) => {
    const open = await openFindings(transaction)
    const ids = [...new Set(BALANCE_CHECKS.flatMap((name) => open.get(name) ?? []))]
    await compare(transaction, ids)
    return ids
  })
  for (let changed: string[]; ; ) {
    changed = await turn.step(async (transaction) => {
      const ids = await idsOf(transaction, CHANGED)
      await compare(transaction, ids)
      return ids
    })
    if (changed.length === 0) break
    yield changed
  }
  yield* auditInTurn(turn, all)
}

/** Continues after the account at which the last audit ended; a round ends with the last account. */
async function* auditInTurn(turn: AuditTurn, all: boolean): AsyncGenerator<string[]> {
  if (all) await turn.step((transaction) => transaction.$executeRawUnsafe(TURN_AT, ''))
  for (let compared = 0; all || compared < IN_TURN; ) {
    const ids = await turn.step(async (transaction, { accountAfter }) => {
      const next = await idsOf(transaction, IN_ORDER, accountAfter)
      await compare(transaction, next)
      const isLast = next.length < ACCOUNTS_AT_ONCE
      await transaction.$executeRawUnsafe(TURN_AT, isLast ? '' : next.at(-1))
      return next
    })
    if (ids.length > 0) yield ids
    if (ids.length < ACCOUNTS_AT_ONCE) return
    compared += ids.length
  }
}

export async function isFarBehind(transaction: PostgresTransaction): Promise<boolean> {
  const [tail] = await transaction.$queryRawUnsafe<Array<{ entries: number }>>(TAIL_LENGTH)
  return tail!.entries > TAIL_MAX
}

async function compare(transaction: PostgresTransaction, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const found = await transaction.$queryRawUnsafe<Array<Omit<AuditFinding, 'waits'> & { check: string }>>(
    COMPARE,
    ids,
  )
  for (const name of BALANCE_CHECKS) {
    const own = found.filter(({ check }) => check === name)
    await replaceFindings(
      transaction,
      name,
      ids,
      own.map(({ id, subject, detail }) => ({ id, subject, detail, waits: false })),
    )
  }
  await transaction.$executeRawUnsafe(COMPARED, ids)
}

async function idsOf(transaction: PostgresTransaction, sql: string, ...values: unknown[]): Promise<string[]> {
  return (await transaction.$queryRawUnsafe<Array<{ id: string }>>(sql, ...values)).map(({ id }) => id)
}
