import { execFileSync } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from 'pg'
import { applyMigrations } from '../../src/platform/postgres/migrate.ts'
import { createDatabase, prepareEmbeddedPostgres } from '../../tools/launcher/embedded-postgres.ts'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { type ProcessPlan, spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'

const MIGRATIONS = resolve(import.meta.dirname, '../../prisma/migrations')
const SLOT = 'reports'
/** What belongs to a running server, or comes over the replication. */
const NOT_COPIED = /^(postmaster\.(pid|opts)|pg_wal|pg_replslot)$/

/** A migrated database on a server of its own, and a streaming replica of that server. */
export interface PostgresPair {
  url: string
  replicaUrl: string
  /** `kill -9`. */
  killReplica(): Promise<void>
  startReplica(): Promise<void>
  /** Stops it applying what the primary writes; it still answers. */
  pauseReplay(): Promise<void>
  resumeReplay(): Promise<void>
  close(): Promise<void>
}

export async function startPostgresPair(): Promise<PostgresPair> {
  const folders = await Promise.all(
    ['primary', 'replica'].map((name) => mkdtemp(join(tmpdir(), `shuntyard-${name}-`))),
  )
  const [dataDir, replicaDir] = folders as [string, string]
  const log = () => undefined
  const primary = await prepareEmbeddedPostgres({ dataDir, durable: false, log })
  // The replica has the roles of the primary, and so their passwords.
  await cp(join(dataDir, 'postgres-password'), join(replicaDir, 'postgres-password'))
  const replica = await prepareEmbeddedPostgres({ dataDir: replicaDir, durable: false, log })
  folders.push(primary.folder, replica.folder)
  const guard = startProcessGuard()
  const start = (plan: ProcessPlan) => spawnPlan(plan, { onSpawn: (pid) => guard.add(pid, 'services') })
  const runningPrimary = await start(primary.plan)
  await createDatabase(primary.adminUrl, primary.url)
  await applyMigrations({ databaseUrl: primary.url, directory: MIGRATIONS })
  await copyServer(primary, replica.folder)
  const { hostname, port, username, password } = new URL(primary.url)
  const source = `host=${hostname} port=${port} user=${username} password=${password}`
  const plan = {
    ...replica.plan,
    args: [
      ...replica.plan.args,
      ...['-c', `primary_conninfo=${source}`, '-c', `primary_slot_name=${SLOT}`],
      ...['-c', 'wal_receiver_status_interval=1s', '-c', 'wal_retrieve_retry_interval=100ms'],
    ],
  }
  let runningReplica = await start(plan)
  return {
    url: primary.url,
    replicaUrl: replica.url,
    killReplica: () => runningReplica.kill(),
    async startReplica() {
      runningReplica = await start(plan)
    },
    pauseReplay: () => run(replica.url, 'SELECT pg_wal_replay_pause()'),
    resumeReplay: () => run(replica.url, 'SELECT pg_wal_replay_resume()'),
    async close() {
      await runningReplica.stop()
      await runningPrimary.stop()
      guard.close()
      for (const folder of folders) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A base backup by file copy, as pg_basebackup makes it, which does not come with the embedded programs. */
async function copyServer(primary: { url: string; folder: string }, folder: string): Promise<void> {
  const client = new Client({ connectionString: primary.url })
  await client.connect()
  try {
    await client.query(`SELECT pg_create_physical_replication_slot('${SLOT}', true)`)
    await client.query(`SELECT pg_backup_start('replica', true)`)
    for (const name of await readdir(folder))
      if (!NOT_COPIED.test(name)) await rm(join(folder, name), { recursive: true, force: true })
    execFileSync('find', [join(folder, 'pg_wal'), '-type', 'f', '-delete'])
    for (const name of await readdir(primary.folder))
      if (!NOT_COPIED.test(name)) execFileSync('cp', ['-a', join(primary.folder, name), folder])
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    await writeFile(join(folder, 'backup_label'), rows[0]!.labelfile)
    await writeFile(join(folder, 'standby.signal'), '')
    // The owner of the folder is whom the server runs as.
    execFileSync('chown', ['-R', `--reference=${folder}`, folder])
  } finally {
    await client.end()
  }
}

async function run(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
