import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { checkPooler } from '../../../src/platform/postgres/check-pooler.ts'
import { applyMigrations } from '../../../src/platform/postgres/migrate.ts'
import { createPostgres, type Postgres, slownessOf } from '../../../src/platform/postgres/postgres.ts'
import { startPgBouncer, type TestPgBouncer } from '../../helpers/pgbouncer.ts'
import { createTestDatabase, type TestDatabase } from '../../helpers/services.ts'

const MIGRATIONS = new URL('../../../prisma/migrations', import.meta.url).pathname

let database: TestDatabase
const open: Array<{ close(): Promise<void> }> = []
const clients: Postgres[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.$disconnect()))
})
afterAll(async () => {
  await Promise.all(open.map((server) => server.close()))
  await database.drop()
})

async function pooler(settings: Record<string, string> = {}, url = database.url): Promise<TestPgBouncer> {
  const server = await startPgBouncer(url, settings)
  open.push(server)
  return server
}

function clientOf(
  databaseUrl: string,
  options: Partial<Parameters<typeof createPostgres>[0]> = {},
): Postgres {
  const client = createPostgres({ databaseUrl, name: 'test', ...options })
  clients.push(client)
  return client
}

const SLEEP = `SELECT pg_sleep(30)::text AS slept`
const sleepers = async () => {
  const rows = await clientOf(database.url).plain.query<{ count: string }>(
    `SELECT count(*)::text FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()`,
    [],
  )
  return Number(rows[0]!.count)
}

describe('a process refuses to start behind a PgBouncer', () => {
  test('that mixes up named statements', async () => {
    const { url } = await pooler({ max_prepared_statements: '0', default_pool_size: '1' })
    await expect(checkPooler(url)).rejects.toThrow(/max_prepared_statements/)
  })

  test('that rejects the timeouts of a connection', async () => {
    const { url } = await pooler({ ignore_startup_parameters: 'extra_float_digits' })
    await expect(checkPooler(url)).rejects.toThrow(/ignore_startup_parameters/)
  })
})

describe('behind a PgBouncer as in deploy/pgbouncer.ini', () => {
  let url: string
  beforeAll(async () => {
    // One connection: each client gets the session that others have used.
    url = (await pooler({ default_pool_size: '1', reserve_pool_size: '0' })).url
  })

  test('a process starts', () => checkPooler(url))

  test.each([
    ['a statement', (client: Postgres) => client.$queryRawUnsafe(SLEEP)],
    ['a plain statement', (client: Postgres) => client.plain.query(SLEEP, [])],
    [
      'a statement of a transaction',
      (client: Postgres) => client.$transaction((transaction) => transaction.$queryRawUnsafe(SLEEP)),
    ],
  ])('%s that runs too long is cancelled at the server', async (_, run) => {
    const client = clientOf(url, { statementTimeoutMs: 500 })
    const error: unknown = await run(client).catch((cause: unknown) => cause)
    expect(slownessOf(error)).toBe('slow')
    expect(await sleepers()).toBe(0)
    expect(await client.$queryRawUnsafe('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('a plain statement gives up on a lock in time, and no timeout stays in the session', async () => {
    const holder = new Client({ connectionString: database.url })
    await holder.connect()
    await holder.query('CREATE TABLE locked (n int)')
    await holder.query('BEGIN; LOCK TABLE locked')
    const client = clientOf(url, { lockTimeoutMs: 200, statementTimeoutMs: 5_000 })
    const error: unknown = await client.plain
      .query('SELECT n FROM locked', [])
      .catch((cause: unknown) => cause)
    expect(slownessOf(error)).toBe('locked')
    await holder.end()
    expect(await client.plain.query('SHOW lock_timeout', [])).toEqual([{ lock_timeout: '200ms' }])
    expect(await clientOf(url).$queryRawUnsafe('SHOW lock_timeout')).toEqual([{ lock_timeout: '0' }])
  })
})

test('migrations started by several processes at once through a PgBouncer are applied once', async () => {
  const empty = new URL(database.url)
  empty.pathname = `${empty.pathname}_empty`
  const name = empty.pathname.slice(1)
  const admin = clientOf(database.url)
  await admin.$executeRawUnsafe(`CREATE DATABASE ${name}`)
  try {
    const { url } = await pooler({ default_pool_size: '2', reserve_pool_size: '0' }, empty.href)
    const migrate = () => applyMigrations({ databaseUrl: url, directory: MIGRATIONS })
    const applied = (await Promise.all([migrate(), migrate(), migrate()])).flat()
    expect(applied.length).toBeGreaterThan(0)
    expect(new Set(applied).size).toBe(applied.length)
    const locks = `SELECT count(*)::int AS held FROM pg_locks WHERE locktype = 'advisory' AND database =
      (SELECT oid FROM pg_database WHERE datname = '${name}')`
    expect(await admin.$queryRawUnsafe(locks)).toEqual([{ held: 0 }])
  } finally {
    await admin.$executeRawUnsafe(`DROP DATABASE ${name} WITH (FORCE)`)
  }
})
