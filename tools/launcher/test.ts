import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { applyMigrations } from '../../src/platform/postgres/migrate.ts'
import { createDatabase, prepareEmbeddedPostgres } from './embedded-postgres.ts'
import { type ProcessGuard, startProcessGuard } from './processes/process-guard.ts'
import { spawnPlan } from './processes/spawn-plan.ts'
import { listenForStop } from './processes/stop-request.ts'
import { cacheFolders } from './services/debian-package.ts'
import { findRedisProgram } from './services/redis-program.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Tests copy this database, which is quicker than migrating one each. */
const TEMPLATE = 'shuntyard_template'

interface TestDatabase {
  adminUrl: string
  stop: () => Promise<void>
}

/**
 * `npm test [-- ARGUMENTS]`: brings up a throwaway PostgreSQL, finds the Redis server that tests start for
 * themselves, runs vitest with the arguments, and takes everything down again. Resolves to vitest's exit code.
 * TEST_DATABASE_URL may name a server that is already there and lets us create databases.
 */
async function main(args: string[]): Promise<number> {
  const guard = startProcessGuard()
  const stop = listenForStop(() => process.exit(130))
  let database: TestDatabase | null = null
  try {
    const program = await findRedisProgram(cacheFolders(join(ROOT, '.data'), process.env), log)
    database = await startDatabase(guard, stop.signal)
    const template = await createTemplate(database.adminUrl)
    const environment = {
      TEST_DATABASE_URL: database.adminUrl,
      TEST_DATABASE_TEMPLATE: template,
      TEST_REDIS_PROGRAM: JSON.stringify(program),
    }
    stop.signal.throwIfAborted()
    return await runVitest(args, environment, guard, stop.signal)
  } catch (error) {
    log(
      stop.signal.aborted
        ? `stopped (${stop.signal.reason})`
        : `no tests were run: ${(error as Error).message}`,
    )
    return 1
  } finally {
    await database?.stop()
    stop.dispose()
    guard.close()
  }
}

async function startDatabase(guard: ProcessGuard, signal: AbortSignal): Promise<TestDatabase> {
  const external = process.env.TEST_DATABASE_URL
  if (external) return { adminUrl: external, stop: async () => undefined }
  const dataDir = await mkdtemp(join(tmpdir(), 'shuntyard-test-'))
  const folders = [dataDir]
  const removeFolders = async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  }
  try {
    const postgres = await prepareEmbeddedPostgres({ dataDir, durable: false, log })
    folders.push(postgres.folder)
    const running = await spawnPlan(postgres.plan, { signal, onSpawn: (pid) => guard.add(pid, 'services') })
    const stop = async () => {
      await running.stop()
      guard.remove(running.pid)
      await removeFolders()
    }
    return { adminUrl: postgres.adminUrl, stop }
  } catch (error) {
    await removeFolders()
    throw error
  }
}

async function createTemplate(adminUrl: string): Promise<string> {
  const url = new URL(adminUrl)
  url.pathname = `/${TEMPLATE}`
  await createDatabase(adminUrl, url.href)
  await applyMigrations({ databaseUrl: url.href, directory: join(ROOT, 'prisma', 'migrations') })
  return TEMPLATE
}

async function runVitest(
  args: string[],
  environment: Record<string, string>,
  guard: ProcessGuard,
  signal: AbortSignal,
): Promise<number> {
  const vitest = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  })
  if (vitest.pid) guard.add(vitest.pid, 'sessions')
  signal.addEventListener('abort', () => vitest.kill('SIGTERM'))
  const [code] = await once(vitest, 'close')
  if (vitest.pid) guard.remove(vitest.pid)
  return code ?? 1
}

function log(line: string): void {
  process.stderr.write(`  ${line}\n`)
}

// At once: an interrupted step must not hold up the end.
process.exit(await main(process.argv.slice(2)))
