import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyMigrations } from '../../../src/platform/postgres/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/services.ts'

const MIGRATIONS = 'prisma/migrations'
/** The migrations of version 0.1 as they were, name → SQL. The baseline replaces them. */
const REPLACED: Record<string, string> = JSON.parse(
  gunzipSync(readFileSync(join(import.meta.dirname, 'version-0.1-migrations.json.gz'))).toString('utf8'),
)
const NAMES = Object.keys(REPLACED)

const DATA = `
INSERT INTO accounts (id, email, state, balance_pico) VALUES ('acct_1', 'a@x.test', 'active', 5);
INSERT INTO api_keys (id, account_id, kind, hash, prefix, suffix) VALUES ('key_1', 'acct_1', 'standard', '\\x05', 'a', 'b');
WITH entries AS (
  INSERT INTO ledger_entries VALUES ('credit_1', 'credit', 'platform', -5), ('credit_1', 'credit', 'acct_1', 5)
)
INSERT INTO ledger_transactions (id, kind, account_id) VALUES ('credit_1', 'credit', 'acct_1');
UPDATE alarm_cursor SET entry_id = '7-0'`

/** Every object of the schema, a line each, as the catalogs of PostgreSQL state it. */
const SCHEMA = `
SELECT format('%s %s %s %s', relkind, relname, relpersistence, reloptions) AS line
  FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT format('column %s %s %s %s not null %s default %s identity %s storage %s', attrelid::regclass,
    row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname, format_type(atttypid, atttypmod), attnotnull,
    pg_get_expr(adbin, adrelid), attidentity, attstorage)
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT format('constraint %s %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT format('%s enabled %s', pg_get_triggerdef(pg_trigger.oid), tgenabled)
  FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind <> 'a'
UNION ALL SELECT format('aggregate %s by %s from %s', aggfnoid, aggtransfn, agginitval)
  FROM pg_aggregate JOIN pg_proc ON pg_proc.oid = aggfnoid WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT format('enum %s %s', enumtypid::regtype, string_agg(enumlabel, ' ' ORDER BY enumsortorder))
  FROM pg_enum GROUP BY enumtypid
ORDER BY line`

let database: TestDatabase
let directory: string
let client: Client
beforeEach(async () => {
  database = await createTestDatabase()
  directory = mkdtempSync(join(tmpdir(), 'shuntyard-migrations-'))
  client = new Client({ connectionString: database.url })
  await client.connect()
})
afterEach(async () => {
  await client.end()
  await database.drop()
  rmSync(directory, { recursive: true, force: true })
})

const apply = (from = MIGRATIONS) => applyMigrations({ databaseUrl: database.url, directory: from })

/** Makes the database one of version 0.1 that applied the first `count` migrations. */
async function goBack(count = NAMES.length): Promise<void> {
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  for (const name of NAMES.slice(0, count)) {
    mkdirSync(join(directory, name))
    writeFileSync(join(directory, name, 'migration.sql'), REPLACED[name]!)
  }
  await apply(directory)
}

async function lines(sql: string): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(sql)
  return rows.map(({ line }) => line)
}

/**
 * Every row of every table, those of partitions by their partitioned table. Nulls are left out: columns that a migration adds
 * are null in the rows that were there.
 */
async function contents(): Promise<string[]> {
  const tables = await lines(
    `SELECT oid::regclass AS line FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  )
  const rows = tables.map(
    // A column that rows have got since then, with a value.
    (table) =>
      `SELECT '${table} ' || jsonb_strip_nulls(to_jsonb(t) - 'weekly_mail')::text AS line FROM ${table} AS t`,
  )
  return lines(`${rows.join(' UNION ALL ')} ORDER BY line`)
}

/** Without the records of migrations, and without totals, which a migration computes from the other rows. */
const withoutRecords = (rows: string[]) =>
  rows.filter((row) => !/^(_prisma_migrations|\w+_totals) /.test(row))

test('a database of version 0.1 gets the schema of a new one, and keeps its rows', async () => {
  const [schema, rows] = [await lines(SCHEMA), withoutRecords(await contents())]
  await goBack()
  expect(withoutRecords(await contents())).toEqual(rows)
  await client.query(DATA)
  const before = await contents()
  await apply()
  expect(await lines(SCHEMA)).toEqual(schema)
  expect(await contents()).toEqual(expect.arrayContaining(before))
  expect(withoutRecords(await contents())).toEqual(withoutRecords(before))
  expect(await apply()).toEqual([])
})

test('a database of version 0.1 is upgraded once when several processes start together', async () => {
  await goBack()
  const applied = (await Promise.all([apply(), apply(), apply()])).flat()
  expect(applied.length).toBeGreaterThan(0)
  expect(new Set(applied).size).toBe(applied.length)
})

test('processes of version 0.1 find nothing to apply in an upgraded database', async () => {
  await goBack()
  await apply()
  expect(await apply(directory)).toEqual([])
})

test.each([1, NAMES.length - 1])(
  'a database with the first %i migrations of version 0.1 is refused and not changed',
  async (count) => {
    await goBack(count)
    const [schema, rows] = [await lines(SCHEMA), await contents()]
    await expect(apply()).rejects.toThrow(
      `${NAMES[count]} is not applied. Run "npm run migrate" of version 0.1 first. Nothing was changed.`,
    )
    expect(await lines(SCHEMA)).toEqual(schema)
    expect(await contents()).toEqual(rows)
  },
)

test('a database is refused when a replaced migration was changed after it was applied', async () => {
  await goBack()
  await client.query(`UPDATE "_prisma_migrations" SET checksum = 'x' WHERE migration_name = '${NAMES[3]}'`)
  await expect(apply()).rejects.toThrow(`${NAMES[3]} was changed after it was applied`)
})
