import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from 'pg'
import { runProcess } from '../../tools/launcher/bootstrap/run-process.mjs'
import { freePort } from '../../tools/launcher/ports.ts'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { type ProcessPlan, spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import {
  cacheFolders,
  type DebianPackage,
  firstError,
  unpackDebianPackage,
} from '../../tools/launcher/services/debian-package.ts'
import { postgresIdentity } from '../../tools/launcher/services/postgres-files.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** The first version that keeps named statements in transaction mode. */
const OLDEST = [1, 21] as const
const PACKAGE: DebianPackage = {
  name: 'pgbouncer',
  description: 'PgBouncer for the tests',
  package: 'pgbouncer',
  release: 'trixie',
  always: [],
  usual: [
    ...['libc6', 'libcares2', 'libevent-2.1-7t64', 'libpam0g', 'libssl3t64', 'libsystemd0'],
    ...['libaudit1', 'libcap-ng0', 'libcap2', 'libzstd1', 'zlib1g'],
  ],
}

/** A command and its first arguments. */
type Program = [string, ...string[]]

let program: Promise<Program> | undefined

/**
 * PgBouncer 1.21 or newer: one on the PATH, else that of Debian 13, unpacked into a cache folder, which runs on older
 * systems as well. Throws with what to do when there is none.
 */
function findProgram(): Promise<Program> {
  program ??= (async () => {
    if (await isNewEnough(['pgbouncer'])) return ['pgbouncer']
    const log = (line: string) => void process.stderr.write(`  ${line}\n`)
    const unpacked = await unpackDebianPackage(PACKAGE, cacheFolders(join(ROOT, '.data'), process.env), log)
      .then(({ root, libraryPath, loader }): Program => {
        return [loader, '--library-path', libraryPath, join(root, 'usr/sbin/pgbouncer')]
      })
      .catch((error: unknown) => {
        throw new Error(
          `No PgBouncer of version 1.21 or newer is on the PATH, and none could be fetched (${firstError(error)}). ` +
            'Install one: the tests of the pooler need it.',
          { cause: error },
        )
      })
    if (await isNewEnough(unpacked)) return unpacked
    throw new Error(`the unpacked ${unpacked.at(-1)} does not run`)
  })()
  return program
}

async function isNewEnough([command, ...args]: Program): Promise<boolean> {
  const text = await runProcess(command, [...args, '--version'], { env: process.env, timeout: 10_000 }).catch(
    () => '',
  )
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(text)?.map(Number) ?? []
  if (major === undefined || minor === undefined) return false
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/** A PgBouncer before one database. */
export interface TestPgBouncer {
  /** The address of the database through it. */
  url: string
  /** Runs a command of its console, such as SHOW POOLS. */
  console<Row extends object>(command: string): Promise<Row[]>
  /** `kill -9`: every connection breaks, and none is accepted until `restart`. */
  kill(): Promise<void>
  restart(): Promise<void>
  close(): Promise<void>
}

/** Starts PgBouncer with deploy/pgbouncer.ini, some of its settings replaced. */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<TestPgBouncer> {
  const [command, ...args] = await findProgram()
  const target = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'shuntyard-pgbouncer-'))
  const port = await freePort()
  const users = join(folder, 'userlist.txt')
  const file = join(folder, 'pgbouncer.ini')
  const { username, password } = target
  await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`)
  const replaced: Record<string, string> = {
    ...{ listen_addr: '127.0.0.1', listen_port: String(port), auth_file: users, admin_users: username },
    ...{ unix_socket_dir: '', ...settings },
  }
  const published = await readFile(join(ROOT, 'deploy/pgbouncer.ini'), 'utf8')
  const kept = published
    .split('\n')
    .filter((line) => !Object.hasOwn(replaced, line.split(' = ')[0]!))
    .map((line) =>
      line.startsWith('* = ') ? `* = host=${target.hostname} port=${target.port || '5432'}` : line,
    )
  const own = Object.entries(replaced).map(([name, value]) => `${name} = ${value}`)
  await writeFile(file, [...kept, ...own, ''].join('\n'))
  const identity = postgresIdentity()
  if (identity) {
    // It refuses to run as root, and reads its files again as the user it changes to.
    await chmod(folder, 0o755)
    await chown(users, identity.uid, identity.gid)
    await chown(file, identity.uid, identity.gid)
  }
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  const consoleUrl = new URL(url)
  consoleUrl.pathname = '/pgbouncer'
  const runConsole = async <Row extends object>(text: string): Promise<Row[]> => {
    const client = new Client({ connectionString: consoleUrl.href, connectionTimeoutMillis: 2_000 })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }
  const plan: ProcessPlan = {
    name: 'pgbouncer',
    command,
    args: [...args, ...(identity ? ['--user', await nameOf(identity.uid)] : []), file],
    cwd: '/',
    env: { PATH: process.env.PATH },
    stopSignal: 'SIGINT',
    stopTimeoutMs: 5_000,
    probe: async () => void (await runConsole('SHOW VERSION')),
    readyTimeoutMs: 30_000,
  }
  const guard = startProcessGuard()
  const start = () => spawnPlan(plan, { onSpawn: (pid) => guard.add(pid, 'services') })
  let running = await start()
  const kill = async () => {
    await running.kill()
    guard.remove(running.pid)
  }
  return {
    url: url.href,
    console: runConsole,
    kill,
    async restart() {
      running = await start()
    },
    async close() {
      await kill()
      guard.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function nameOf(uid: number): Promise<string> {
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  return users.find((fields) => fields[2] === String(uid))![0]!
}
