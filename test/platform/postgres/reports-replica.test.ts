import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPostgres, type Postgres } from '../../../src/platform/postgres/postgres.ts'
import { followReportsReplica } from '../../../src/platform/postgres/reports-replica.ts'
import { type PostgresPair, startPostgresPair } from '../../helpers/postgres-pair.ts'

const LAG_MAX_MS = 60_000

let pair: PostgresPair
let primary: Postgres
let replica: Postgres
let nowMs = 1_000_000
let lagMs: number | null = null
let follower: Awaited<ReturnType<typeof followReportsReplica>>

beforeAll(async () => {
  pair = await startPostgresPair()
  primary = createPostgres({ databaseUrl: pair.url, name: 'test' })
  replica = createPostgres({ databaseUrl: pair.replicaUrl, name: 'test', statementTimeoutMs: 500 })
  follower = await follow(replica)
})
afterAll(async () => {
  await follower.stop()
  await Promise.all([primary, replica].map((client) => client.$disconnect()))
  await pair.close()
})

const follow = (client: Postgres) =>
  followReportsReplica({
    primary,
    replica: client,
    lagMaxMs: LAG_MAX_MS,
    everyMs: 50,
    clock: () => nowMs,
    logger: pino({ level: 'silent' }),
    onLag: (value) => {
      lagMs = value
    },
  })

const isFromReplica = async () => {
  const [row] = await follower.reads.$queryRawUnsafe<Array<{ is: boolean }>>(
    'SELECT pg_is_in_recovery() AS is',
  )
  return row!.is
}
/** Written to the log when it returns; the server of the test delays that otherwise. */
const write = () =>
  primary.$transaction([
    primary.$executeRawUnsafe('SET LOCAL synchronous_commit = on'),
    primary.$executeRawUnsafe('CREATE TABLE IF NOT EXISTS written (n int)'),
  ])

test('statements, model queries and transactions read from the replica', async () => {
  expect(await isFromReplica()).toBe(true)
  expect(await follower.reads.account.count()).toBe(await primary.account.count())
  const inTransaction = await follower.reads.$transaction(
    (snapshot) => snapshot.$queryRawUnsafe('SELECT pg_is_in_recovery() AS is'),
    { isolationLevel: 'RepeatableRead' },
  )
  expect(inTransaction).toEqual([{ is: true }])
})

test('the replica lag is measured, and above the bound the primary is read until it is caught up', async () => {
  await pair.pauseReplay()
  await write()
  nowMs += LAG_MAX_MS / 2
  await expect.poll(() => lagMs).toBeGreaterThan(0)
  expect(await isFromReplica()).toBe(true)
  nowMs += LAG_MAX_MS
  await expect.poll(isFromReplica).toBe(false)
  await pair.resumeReplay()
  await expect.poll(isFromReplica).toBe(true)
  await expect.poll(() => lagMs).toBe(0)
})

test('a primary that writes nothing leaves the replica without a lag', async () => {
  await expect.poll(() => lagMs).toBe(0)
  nowMs += 10 * LAG_MAX_MS
  await expect.poll(() => lagMs).toBe(0)
  expect(await isFromReplica()).toBe(true)
})

test('a report that is too slow at the replica is not repeated at the primary', async () => {
  await expect(follower.reads.$queryRawUnsafe('SELECT pg_sleep(5)::text')).rejects.toThrow()
  const query = `SELECT count(*)::int AS running FROM pg_stat_activity
    WHERE query LIKE '%pg_sleep(5)%' AND pid <> pg_backend_pid()`
  expect(await primary.$queryRawUnsafe(query)).toEqual([{ running: 0 }])
})

test('a read that fails with its replica is answered by the primary at once', async () => {
  await pair.killReplica()
  expect(await isFromReplica()).toBe(false)
  await pair.startReplica()
  await expect.poll(isFromReplica).toBe(true)
})

test('a server that is no replica is not read', async () => {
  const second = await follow(primary)
  expect(lagMs).toBeNull()
  await second.stop()
})
