import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { runProcess } from './bootstrap/run-process.mjs'
import { freePort } from './ports.ts'
import type { ProcessIdentity, ProcessPlan } from './processes/spawn-plan.ts'
import { clearFormerServer } from './processes/stop-orphan.ts'
import {
  type PostgresBinaries,
  postgresBinaries,
  postgresDataFolder,
  postgresIdentity,
} from './services/postgres-files.ts'
import { makeThrowawayFolder } from './services/throwaway-folder.ts'

/** The user and the database of a new cluster. One made under another name of the project keeps that name. */
const NAME = 'shuntyard'
const READY_TIMEOUT_MS = 60_000
/** "Fast shutdown": ends sessions, rolls back what is open, writes a checkpoint. */
const STOPPING = { stopSignal: 'SIGINT', stopTimeoutMs: 15_000 } as const
const INITDB_TIMEOUT_MS = 120_000
const CONNECT_TIMEOUT_MS = 10_000
/** `NAME.complete` marks a cluster that was made to its end; initdb's own files are there from its beginning. */
const COMPLETE = /^(\w+)\.complete$/

export interface EmbeddedPostgres {
  plan: ProcessPlan
  /** The address of the gateway's database; made when the server is up, by `createDatabase`. */
  url: string
  /** The address of the database that every server has, for making others. */
  adminUrl: string
  folder: string
}

/** Makes a database cluster ready to run on a free loopback port: a new one, or the one already there. */
export async function prepareEmbeddedPostgres(options: {
  /** Keeps the password, and the data where no other user is needed. Must exist. */
  dataDir: string
  /** False for throwaway data: faster, lost with the machine, in a new folder that the caller removes. */
  durable: boolean
  log: (line: string) => void
}): Promise<EmbeddedPostgres> {
  const identity = postgresIdentity()
  const binaries = await postgresBinaries(identity, options.dataDir)
  const folder = options.durable
    ? await postgresDataFolder(options.dataDir, identity, options.log)
    : await makeThrowawayFolder(identity)
  const password = await ensurePassword(join(options.dataDir, 'postgres-password'))
  const name = (await readdir(folder)).map((file) => COMPLETE.exec(file)?.[1]).find(Boolean) ?? NAME
  if (!existsSync(join(folder, `${name}.complete`))) {
    await createCluster({ binaries, folder, identity, password, durable: options.durable })
  }
  const port = await freePort()
  const url = (database: string) => `postgresql://${name}:${password}@127.0.0.1:${port}/${database}`
  const plan: ProcessPlan = {
    name: 'postgres',
    command: binaries.postgres,
    args: ['-D', folder, ...serverSettings(port, options.durable).flatMap((setting) => ['-c', setting])],
    cwd: '/',
    env: postgresEnvironment(),
    identity,
    // The gateway logs errors of statements; PostgreSQL would log the raw SQL.
    routineOutput:
      / (LOG|ERROR|DETAIL|HINT|CONTEXT): |the database system is (starting up|shutting down)|unexpected postmaster exit/,
    ...STOPPING,
    // The pid file of an ended server stays: PostgreSQL checks by it that no old process still writes.
    prepare: () => clearFormerServer(join(folder, 'postmaster.pid'), folder, STOPPING),
    probe: () => canConnect(url('postgres')),
    readyTimeoutMs: READY_TIMEOUT_MS,
  }
  return { plan, url: url(name), adminUrl: url('postgres'), folder }
}

/** Creates the database an address names, unless it is there. `adminUrl` is a database of the same server. */
export async function createDatabase(adminUrl: string, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  const client = new Client({ connectionString: adminUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  await client.connect()
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}

interface NewCluster {
  binaries: PostgresBinaries
  folder: string
  identity: ProcessIdentity | null
  password: string
  durable: boolean
}

async function createCluster({ binaries, folder, identity, password, durable }: NewCluster): Promise<void> {
  // A start that was killed while it made the cluster leaves a part of it.
  await clearFolder(folder)
  const passwordFile = `${folder}.password`
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  try {
    if (identity) await chown(passwordFile, identity.uid, identity.gid)
    const args = [
      `--pgdata=${folder}`,
      `--username=${NAME}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--no-locale',
      ...(durable ? [] : ['--no-sync']),
    ]
    const options = { cwd: '/', env: postgresEnvironment(), timeout: INITDB_TIMEOUT_MS, ...identity }
    await runProcess(binaries.initdb, args, options)
    await writeFile(join(folder, `${NAME}.complete`), '')
  } finally {
    await rm(passwordFile, { force: true })
  }
}

async function clearFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
}

function serverSettings(port: number, durable: boolean): string[] {
  return [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'shared_buffers=128MB',
    `max_wal_size=${durable ? '1GB' : '256MB'}`,
    'jit=off',
    'log_min_messages=warning',
    'log_min_error_statement=panic',
    'log_line_prefix=%m ',
    ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off']),
  ]
}

/** Nothing of ours: PGDATA, PGPORT and the locale of a shell must not change what the server does. */
function postgresEnvironment(): Record<string, string | undefined> {
  return { PATH: process.env.PATH, LC_ALL: 'C' }
}

async function ensurePassword(path: string): Promise<string> {
  if (existsSync(path)) return (await readFile(path, 'utf8')).trim()
  const password = randomBytes(24).toString('hex')
  await writeFile(path, `${password}\n`, { mode: 0o600 })
  return password
}

async function canConnect(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  // A connection that breaks after it was made is reported here, and by the call that is waiting.
  client.on('error', () => undefined)
  await client.connect()
  await client.end()
}
