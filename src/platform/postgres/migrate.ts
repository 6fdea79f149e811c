import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Client } from 'pg'

/** The migrations of this version. */
export const MIGRATIONS = join(resolve(import.meta.dirname, '../../..'), 'prisma', 'migrations')

/** The advisory lock of `prisma migrate`, so that the two never run at once. */
const PRISMA_LOCK = 72_707_369
const LOCK_TIMEOUT = '60s'
const CONNECT_TIMEOUT_MS = 10_000

/** Prisma's own table and columns, so that `prisma migrate` can take over at any time. */
const CREATE_TABLE = `
  CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id" VARCHAR(36) PRIMARY KEY NOT NULL,
    "checksum" VARCHAR(64) NOT NULL,
    "finished_at" TIMESTAMPTZ,
    "migration_name" VARCHAR(255) NOT NULL,
    "logs" TEXT,
    "rolled_back_at" TIMESTAMPTZ,
    "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
    "applied_steps_count" INTEGER NOT NULL DEFAULT 0
  )`

const RECORD = `
  INSERT INTO "_prisma_migrations" (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
  VALUES ($1, $2, $3, now(), now(), 1)`

interface Migration {
  name: string
  sql: string
  checksum: string
  /** Of a baseline: the migrations of an earlier version that lead to the same schema. */
  replaces: ReplacedMigrations | null
}

/** `replaces.json` in the directory of a baseline. */
interface ReplacedMigrations {
  version: string
  /** Checksums by name. */
  migrations: Record<string, string>
}

interface MigrationOptions {
  databaseUrl: string
  directory: string
}

interface AppliedMigration {
  migration_name: string
  checksum: string
  finished_at: Date | null
}

/**
 * Applies the migrations of `directory` (`<name>/migration.sql`, in the order of their names) that the database does
 * not have. Each runs in one transaction together with its record, so it is applied whole or not at all; any number of
 * processes may call this at once. A database with more migrations than the directory is left unchanged, so that an
 * older version of the service can run beside a newer one.
 *
 * A baseline is a migration that replaces all migrations of an earlier version. A database to which they were applied
 * has its schema, so the baseline is only recorded. Their records stay, for processes of that version.
 * @returns the names of the migrations applied or recorded by this call
 * @throws Error when a migration was changed after it was applied, when one started by Prisma is unfinished, when only
 * some of the migrations that a baseline replaces were applied, or when a statement fails
 */
export const applyMigrations = (options: MigrationOptions): Promise<string[]> =>
  withMigrations(options, async (client, migrations) => {
    const names: string[] = []
    for (;;) {
      const name = await applyNext(client, migrations)
      if (name === null) return names
      names.push(name)
    }
  })

/** The names of the migrations that `applyMigrations` would apply or record. Changes nothing; throws as it does. */
export const pendingMigrations = (options: MigrationOptions): Promise<string[]> =>
  withMigrations(options, async (client, migrations) => {
    const { rows } = await client.query(`SELECT to_regclass('_prisma_migrations') IS NOT NULL AS "isThere"`)
    const applied = rows[0].isThere ? await readApplied(client) : new Map<string, AppliedMigration>()
    return findPending(migrations, applied).map(({ name }) => name)
  })

async function withMigrations<T>(
  { databaseUrl, directory }: MigrationOptions,
  run: (client: Client, migrations: Migration[]) => Promise<T>,
): Promise<T> {
  const migrations = await readMigrations(directory)
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'shuntyard-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  await client.connect()
  try {
    return await run(client, migrations)
  } finally {
    await client.end()
  }
}

/**
 * Applies the first migration that is pending, and returns its name. Lock and setting end with the transaction, so this
 * also works through a pooler that gives each transaction another session.
 */
async function applyNext(client: Client, migrations: Migration[]): Promise<string | null> {
  await client.query('BEGIN')
  try {
    await client.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
    await client.query('SELECT pg_advisory_xact_lock($1)', [PRISMA_LOCK])
    await client.query(CREATE_TABLE)
    const applied = await readApplied(client)
    const pending = findPending(migrations, applied)
    const toRun = pending.filter(({ replaces }) => !replaces || !hasAll(replaces, applied))
    const [next] = pending
    if (next) await applyOne(client, next, toRun.includes(next))
    await client.query('COMMIT')
    return next?.name ?? null
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const content = await readFile(join(directory, name, 'migration.sql'))
      const checksum = createHash('sha256').update(content).digest('hex')
      return { name, sql: content.toString('utf8'), checksum, replaces: await readReplaces(directory, name) }
    }),
  )
}

async function readReplaces(directory: string, name: string): Promise<ReplacedMigrations | null> {
  const path = join(directory, name, 'replaces.json')
  return existsSync(path) ? JSON.parse(await readFile(path, 'utf8')) : null
}

async function readApplied(client: Client): Promise<Map<string, AppliedMigration>> {
  const { rows } = await client.query<AppliedMigration>(
    'SELECT migration_name, checksum, finished_at FROM "_prisma_migrations" WHERE rolled_back_at IS NULL',
  )
  return new Map(rows.map((row) => [row.migration_name, row]))
}

function findPending<Known extends { name: string; checksum: string }>(
  migrations: Known[],
  applied: Map<string, AppliedMigration>,
): Known[] {
  return migrations.filter(({ name, checksum }) => {
    const record = applied.get(name)
    if (!record) return true
    if (record.finished_at === null)
      throw new Error(`migration ${name} was started and not finished; resolve it first`)
    if (record.checksum !== checksum) throw new Error(`migration ${name} was changed after it was applied`)
    return false
  })
}

/** Whether all replaced migrations were applied; false in a new database. */
function hasAll(
  { version, migrations }: ReplacedMigrations,
  applied: Map<string, AppliedMigration>,
): boolean {
  const replaced = Object.entries(migrations).map(([name, checksum]) => ({ name, checksum }))
  const missing = findPending(replaced, applied)
  if (missing.length === 0) return true
  if (missing.length === replaced.length) return false
  throw new Error(
    `the database is older than version ${version}, the only one that can be upgraded to this version: ` +
      `migration ${missing[0]?.name} is not applied. Run "npm run migrate" of version ${version} first. ` +
      'Nothing was changed.',
  )
}

async function applyOne(client: Client, { name, sql, checksum }: Migration, run: boolean): Promise<void> {
  try {
    if (run) await client.query(sql)
    await client.query(RECORD, [randomUUID(), checksum, name])
  } catch (cause) {
    throw new Error(`migration ${name} failed: ${(cause as Error).message}`, { cause })
  }
}
