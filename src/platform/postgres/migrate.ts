import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'

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
 * @returns the names of the migrations applied by this call
 * @throws Error when a migration was changed after it was applied, when one started by Prisma is unfinished, or when a
 * statement fails
 */
export async function applyMigrations(options: {
  databaseUrl: string
  directory: string
}): Promise<string[]> {
  const migrations = await readMigrations(options.directory)
  const client = new Client({
    connectionString: options.databaseUrl,
    application_name: 'switchyard-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  await client.connect()
  try {
    await client.query(`SET lock_timeout = '${LOCK_TIMEOUT}'`)
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK])
    await client.query(CREATE_TABLE)
    const pending = findPending(migrations, await readApplied(client))
    for (const migration of pending) await applyOne(client, migration)
    return pending.map((migration) => migration.name)
  } finally {
    // Ending the session releases the lock.
    await client.end()
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const content = await readFile(join(directory, name, 'migration.sql'))
      const checksum = createHash('sha256').update(content).digest('hex')
      return { name, sql: content.toString('utf8'), checksum }
    }),
  )
}

async function readApplied(client: Client): Promise<Map<string, AppliedMigration>> {
  const { rows } = await client.query<AppliedMigration>(
    'SELECT migration_name, checksum, finished_at FROM "_prisma_migrations" WHERE rolled_back_at IS NULL',
  )
  return new Map(rows.map((row) => [row.migration_name, row]))
}

function findPending(migrations: Migration[], applied: Map<string, AppliedMigration>): Migration[] {
  return migrations.filter(({ name, checksum }) => {
    const record = applied.get(name)
    if (!record) return true
    if (record.finished_at === null)
      throw new Error(`migration ${name} was started and not finished; resolve it first`)
    if (record.checksum !== checksum) throw new Error(`migration ${name} was changed after it was applied`)
    return false
  })
}

async function applyOne(client: Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN')
  try {
    await client.query(sql)
    await client.query(RECORD, [randomUUID(), checksum, name])
    await client.query('COMMIT')
  } catch (cause) {
    await client.query('ROLLBACK')
    throw new Error(`migration ${name} failed: ${(cause as Error).message}`, { cause })
  }
}
