import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import pino from 'pino'
import { ulid } from 'ulid'
import { expect, onTestFinished, test } from 'vitest'
import { createMonthPartitions } from '../../../src/billing/archive/month-partitions.ts'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { postLedger } from '../../../src/billing/ledger/ledger-store.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { creditPosting } from '../../../src/core/billing/postings.ts'
import { type CallId, newId } from '../../../src/core/kernel/ids.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import { DAY_MS } from '../../../src/core/kernel/time.ts'
import { applyMigrations } from '../../../src/platform/postgres/migrate.ts'
import { createPostgres, type Postgres, sqlStateOf } from '../../../src/platform/postgres/postgres.ts'
import { openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'
import { createTestDatabase } from '../../helpers/services.ts'

const MIGRATIONS = 'prisma/migrations'
const PARTITIONS = '20261125140000_partitions'
const RESTRICT_VIOLATION = '23001'
const CHECK_VIOLATION = '23514'

const ledger = testLedger()
const logger = pino({ level: 'silent' })

/** `2026_11` of the month that begins `ahead` months after this one. */
function monthName(ahead: number): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead))
    .toISOString()
    .slice(0, 7)
    .replace('-', '_')
}

const timeIn = (ahead: number): number => Date.parse(`${monthName(ahead).replace('_', '-')}-15T12:00:00Z`)

/** Unlike `newCallId`, any time in any order. */
const callIdAt = (unixMs: number): CallId => `chatcmpl_${ulid(unixMs)}`

/** The partition that has the row of a call. */
async function partitionOf(
  postgres: Postgres,
  table: string,
  key: string,
  callId: string,
): Promise<string[]> {
  const rows = await postgres.$queryRawUnsafe<Array<{ name: string }>>(
    `SELECT DISTINCT tableoid::regclass::text AS name FROM ${table} WHERE ${key} = $1`,
    callId,
  )
  return rows.map(({ name }) => name)
}

async function brokenChecks(postgres: Postgres): Promise<string[]> {
  const { checks } = await auditLedger(postgres, { reach: 'full' })
  return checks
    .filter(
      ({ name, broken }) =>
        broken > 0 && name !== 'every call has the rates that were published as the version it names',
    )
    .map(({ name }) => name)
}

const refusal = async (postgres: Postgres, sql: string, ...values: unknown[]): Promise<string | null> => {
  try {
    await postgres.$executeRawUnsafe(sql, ...values)
    return null
  } catch (error) {
    return sqlStateOf(error)
  }
}

test('a call and its postings are in the partitions of the month of its id', async () => {
  const { postgres } = ledger
  const account = await openTestAccount(postgres, 1_000n)
  const [now, later] = [settlementOf(account), settlementOf(account, { id: callIdAt(timeIn(2)) })]
  await createSettlementStore(postgres).settle([now, later])
  for (const [table, key] of [
    ['call_records', 'id'],
    ['ledger_transactions', 'id'],
    ['ledger_entries', 'transaction_id'],
  ] as const) {
    expect(await partitionOf(postgres, table, key, now.id)).toEqual([`${table}_until_${monthName(0)}`])
    expect(await partitionOf(postgres, table, key, later.id)).toEqual([`${table}_${monthName(2)}`])
  }
})

test('a month without a partition fails no settlement, and gets its rows when it is created', async () => {
  const { postgres } = ledger
  const account = await openTestAccount(postgres, 1_000n)
  const store = createSettlementStore(postgres)
  const tables = ['ledger_entries', 'ledger_transactions', 'ledger_notes', 'call_records', 'prompt_logs']
  for (const table of tables) await postgres.$executeRawUnsafe(`DROP TABLE ${table}_${monthName(3)}`)
  const call = settlementOf(account, { id: callIdAt(timeIn(3)) })
  expect((await store.settle([call])).quarantined).toEqual([])
  expect(await partitionOf(postgres, 'call_records', 'id', call.id)).toEqual(['call_records_unplaced'])
  await createMonthPartitions({ postgres, logger })
  expect(await partitionOf(postgres, 'call_records', 'id', call.id)).toEqual([`call_records_${monthName(3)}`])
  expect(await partitionOf(postgres, 'ledger_entries', 'transaction_id', call.id)).toEqual([
    `ledger_entries_${monthName(3)}`,
  ])
  await createMonthPartitions({ postgres, logger })
  const [again] = (await store.settle([call])).accounts
  expect(again?.balancePico).toBe(950n)
  expect(await brokenChecks(postgres)).toEqual([])
})

test('several processes create partitions at once', async () => {
  const { postgres } = ledger
  await postgres.$executeRawUnsafe(`DROP TABLE operator_actions_${monthName(3)}`)
  await Promise.all([1, 2, 3].map(() => createMonthPartitions({ postgres, logger })))
  const [row] = await postgres.$queryRawUnsafe<Array<{ exists: boolean }>>(
    `SELECT to_regclass('operator_actions_${monthName(3)}') IS NOT NULL AS "exists"`,
  )
  expect(row).toEqual({ exists: true })
})

const name = (table: string) => `${table}_${monthName(1)}`
test.each([
  `UPDATE ${name('ledger_entries')} SET amount_pico = 1`,
  `DELETE FROM ${name('ledger_transactions')}`,
  `DELETE FROM ${name('ledger_notes')}`,
  `TRUNCATE ${name('ledger_entries')}`,
  `DELETE FROM ${name('operator_actions')}`,
  `TRUNCATE ${name('operator_actions')}`,
  'DELETE FROM ledger_entries_above',
  'DELETE FROM ledger_entries_unplaced',
])('a partition refuses what its table refuses: %s', async (sql) => {
  expect(await refusal(ledger.postgres, sql)).toBe(RESTRICT_VIOLATION)
})

test('a partition refuses a transaction that does not balance', async () => {
  const { postgres } = ledger
  const account = await openTestAccount(postgres, 1_000n)
  const sql = `
    WITH t AS (INSERT INTO ${name('ledger_transactions')} (id, kind, account_id) VALUES ($1, 'adjustment', $2))
    INSERT INTO ${name('ledger_entries')} (transaction_id, kind, ledger_account, amount_pico)
    VALUES ($1, 'adjustment', 'revenue', -5), ($1, 'adjustment', 'adjustments', 6)`
  expect(await refusal(postgres, sql, callIdAt(timeIn(1)), account)).toBe(CHECK_VIOLATION)
})

test('a database of the version before keeps every row, and its audit is in order', async () => {
  const database = await createTestDatabase()
  const before = mkdtempSync(join(tmpdir(), 'shuntyard-migrations-'))
  const client = new Client({ connectionString: database.url })
  const postgres = createPostgres({ databaseUrl: database.url, name: 'test', poolSize: 2 })
  onTestFinished(async () => {
    await client.end()
    await postgres.$disconnect()
    await database.drop()
    rmSync(before, { recursive: true, force: true })
  })
  for (const folder of readdirSync(MIGRATIONS, { withFileTypes: true }))
    if (folder.isDirectory() && folder.name < PARTITIONS)
      cpSync(join(MIGRATIONS, folder.name), join(before, folder.name), { recursive: true })
  await client.connect()
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  await applyMigrations({ databaseUrl: database.url, directory: before })

  // By SQL: this version's client knows columns that are not there yet.
  const account = newId('acct')
  await client.query("INSERT INTO accounts (id, email, state) VALUES ($1, 'ann@example.test', 'exhausted')", [
    account,
  ])
  await postgres.$transaction((transaction) =>
    postLedger(transaction, creditPosting('evt_1', account, picoUsd(1_000n))),
  )
  const ids = [-40, -20, 0].map((months) => callIdAt(Date.now() + months * 30 * DAY_MS))
  await client.query(
    `INSERT INTO call_records (id, account_id, key_id, request_id, status, requested_model, stream, served_offer_id,
       served_model_id, prompt_rate_pico, completion_rate_pico, prompt_cost_pico, completion_cost_pico, rate_version,
       prompt_tokens, completion_tokens, usage_source, usage_clamped, hold_pico, charge_pico, attempts, admitted_at_ms, finished_at_ms)
     SELECT id, $2, 'key', 'request', 'completed', 'a/b', false, 'p/a/b', 'a/b', 1, 2, 1, 1, 'v', 10, 20, 'upstream', false, 100, 50,
            '[]', 1, 2 FROM unnest($1::text[]) AS id`,
    [ids, account],
  )
  await client.query(
    `WITH t AS (INSERT INTO ledger_transactions (id, kind, account_id) SELECT id, 'capture', $2 FROM unnest($1::text[]) AS id)
     INSERT INTO ledger_entries SELECT id, 'capture', account, amount
     FROM unnest($1::text[]) AS id, (VALUES ('customer:' || $2, -50), ('revenue', 50)) AS entry (account, amount)`,
    [ids, account],
  )
  await client.query(
    'UPDATE accounts SET balance_pico = balance_pico - 150, version = version + 3 WHERE id = $1',
    [account],
  )
  const rows = async () =>
    (
      await client.query(`
        SELECT count(*), sum(hashtextextended(ledger_account || amount_pico || transaction_id || kind, 0)) AS hash FROM ledger_entries
        UNION ALL SELECT count(*), sum(hashtextextended(id || charge_pico, 0)) FROM call_records
        UNION ALL SELECT count(*), sum(hashtextextended(id || kind || account_id || created_at, 0)) FROM ledger_transactions`)
    ).rows
  const kept = await rows()

  expect(await applyMigrations({ databaseUrl: database.url, directory: MIGRATIONS })).toContain(PARTITIONS)
  expect(await rows()).toEqual(kept)
  expect(await brokenChecks(postgres)).toEqual([])
  const analyzed = await postgres.$queryRawUnsafe<unknown[]>(
    "SELECT FROM pg_stats WHERE tablename = 'ledger_entries' AND inherited AND attname = 'ledger_account'",
  )
  expect(analyzed).toHaveLength(1)
  // The credit of the account is of no call, so no month holds it.
  const [credit] = await postgres.ledgerTransaction.findMany({
    where: { accountId: account, kind: 'credit' },
  })
  expect(await partitionOf(postgres, 'ledger_entries', 'transaction_id', credit!.id)).toEqual([
    'ledger_entries_above',
  ])
  expect(await partitionOf(postgres, 'call_records', 'id', ids[0]!)).toEqual([
    `call_records_until_${monthName(0)}`,
  ])
  expect(
    (await createSettlementStore(postgres).settle([settlementOf(account)])).accounts[0]?.balancePico,
  ).toBe(800n)
})
