import { beforeAll, describe, expect, test } from 'vitest'
import { type PostgresTransaction, sqlStateOf } from '../../src/platform/postgres/postgres.ts'
import { openTestAccount } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const CHECK_VIOLATION = '23514'
const FOREIGN_KEY_VIOLATION = '23503'
const RESTRICT_VIOLATION = '23001'
const UNIQUE_VIOLATION = '23505'

describe('the database itself keeps the ledger', () => {
  let accountId: string

  const ledger = testLedger()
  beforeAll(async () => {
    accountId = await openTestAccount(ledger.postgres, 1_000n)
  })

  /** The SQLSTATE a statement is refused with, or null when it is not. */
  const refusal = async (sql: string, ...values: unknown[]): Promise<string | null> => {
    try {
      await ledger.postgres.$executeRawUnsafe(sql, ...values)
      return null
    } catch (error) {
      return sqlStateOf(error)
    }
  }
  const insertBoth = (entries: string) => `
    WITH t AS (INSERT INTO ledger_transactions (id, kind, account_id) VALUES ($1, 'adjustment', $2))
    INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
    SELECT $1, 'adjustment', account, amount::bigint FROM (VALUES ${entries}) AS entry (account, amount)`
  const insertEntries = (entries: string) => `
    INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
    SELECT $1, 'adjustment', account, amount::bigint FROM (VALUES ${entries}) AS entry (account, amount)`

  test.each([
    'UPDATE ledger_entries SET amount_pico = amount_pico + 1',
    'UPDATE ledger_transactions SET created_at = now()',
    'DELETE FROM ledger_entries',
    'DELETE FROM ledger_transactions',
    'TRUNCATE ledger_entries',
    'TRUNCATE ledger_transactions, ledger_entries',
    'DELETE FROM accounts',
    "UPDATE accounts SET id = id || 'x'",
    'TRUNCATE accounts CASCADE',
  ])('%s is refused', async (sql) => {
    expect(await refusal(sql)).toBe(RESTRICT_VIOLATION)
  })

  test('a transaction whose entries balance is taken', async () => {
    expect(await refusal(insertBoth(`('revenue', -5), ('adjustments', 5)`), 'evt_good', accountId)).toBeNull()
  })

  test('no insert reads the whole ledger, also in a session that began with an empty one', async () => {
    const post = (tx: PostgresTransaction, from: number, to: number) =>
      tx.$executeRawUnsafe(
        `WITH added AS (SELECT 'evt_scan' || number AS id FROM generate_series($2::int, $3::int) AS number),
         t AS (INSERT INTO ledger_transactions (id, kind, account_id) SELECT id, 'adjustment', $1 FROM added)
         INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
         SELECT id, 'adjustment', account, amount::bigint
         FROM added, (VALUES ('revenue', -5), ('adjustments', 5)) AS entry (account, amount)`,
        accountId,
        from,
        to,
      )
    const read = await ledger.postgres.$transaction(async (tx) => {
      const scans = () => tx.$queryRaw<Array<{ scans: number }>>`
        SELECT sum(seq_scan)::int AS scans FROM pg_stat_xact_user_tables
        WHERE relname ~ '^ledger_(transactions|entries)'`
      await post(tx, 1, 2)
      const [before] = await scans()
      await post(tx, 3, 200)
      const [after] = await scans()
      return after!.scans - before!.scans
    })
    expect(read).toBe(0)
  })

  test('a transaction whose entries do not balance is refused', async () => {
    expect(await refusal(insertBoth(`('revenue', -5), ('adjustments', 6)`), 'evt_odd', accountId)).toBe(
      CHECK_VIOLATION,
    )
  })

  test('a transaction without entries is refused', async () => {
    const sql = `INSERT INTO ledger_transactions (id, kind, account_id) VALUES ('evt_hollow', 'adjustment', $1)`
    expect(await refusal(sql, accountId)).toBe(CHECK_VIOLATION)
  })

  test('an unbalanced entry is refused in an old transaction too', async () => {
    expect(await refusal(insertBoth(`('revenue', -5), ('adjustments', 5)`), 'evt_old', accountId)).toBeNull()
    expect(await refusal(insertEntries(`('promotional_credit', 1)`), 'evt_old')).toBe(CHECK_VIOLATION)
  })

  test('unbalanced entries of two transactions do not cancel each other out', async () => {
    expect(await refusal(insertBoth(`('revenue', -5), ('adjustments', 5)`), 'evt_one', accountId)).toBeNull()
    expect(await refusal(insertBoth(`('revenue', -5), ('adjustments', 5)`), 'evt_two', accountId)).toBeNull()
    const sql = `INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico)
                 VALUES ('evt_one', 'adjustment', 'x', 1), ('evt_two', 'adjustment', 'x', -1)`
    expect(await refusal(sql)).toBe(CHECK_VIOLATION)
  })

  test('entries of no transaction are refused', async () => {
    const sql = insertEntries(`('revenue', -5), ('adjustments', 5)`)
    expect(await refusal(sql, 'evt_nothing')).toBe(FOREIGN_KEY_VIOLATION)
  })

  test('a transaction of no account is refused', async () => {
    const sql = insertBoth(`('revenue', -5), ('adjustments', 5)`)
    expect(await refusal(sql, 'evt_stray', 'acct_nobody')).toBe(FOREIGN_KEY_VIOLATION)
  })

  test('the same transaction twice is refused', async () => {
    const sql = insertBoth(`('revenue', -5), ('adjustments', 5)`)
    expect(await refusal(sql, 'evt_twice', accountId)).toBeNull()
    expect(await refusal(sql, 'evt_twice', accountId)).toBe(UNIQUE_VIOLATION)
  })

  test('a balance below zero is refused', async () => {
    expect(await refusal('UPDATE accounts SET balance_pico = -1 WHERE id = $1', accountId)).toBe(
      CHECK_VIOLATION,
    )
  })
})
