import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyMigrations } from '../../src/platform/postgres/migrate.ts'
import { runProcess } from '../../tools/launcher/bootstrap/run-process.mjs'
import { createDatabase, prepareEmbeddedPostgres } from '../../tools/launcher/embedded-postgres.ts'
import { prepareEmbeddedRedis } from '../../tools/launcher/embedded-redis.ts'
import { freePort } from '../../tools/launcher/ports.ts'
import type { ProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import type { ProcessPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import { type RunningProcess, spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import { cacheFolders } from '../../tools/launcher/services/debian-package.ts'
import { findRedisProgram } from '../../tools/launcher/services/redis-program.ts'
import { apiPlan, simulatedProvidersPlan, workerPlan } from '../../tools/launcher/start/gateway-plans.ts'
import { benchCatalog } from './bench-catalog.ts'

const ROOT = join(import.meta.dirname, '../..')
const NO_LIMIT = '1000000000'

/** Everything the bench measures, each part in a process of its own, on throwaway data that is synced to disk. */
export interface BenchStack {
  apiPort: number
  providerPort: number
  apiKey: string
  /** A key of another account. */
  quietApiKey: string
  metricsPorts: Record<'api' | 'dispatch', number>
  databaseUrl: string
  redisTcpUrl: string
  /** Process ids by name. */
  processes: ReadonlyMap<string, number>
  /** Runs one of the operator's commands and returns what it prints with --json. */
  operate(command: 'admin' | 'audit', ...args: string[]): Promise<Record<string, unknown>>
  stop(): Promise<void>
}

/** Brings the stack up: services, provider, settlement worker, dispatch worker, API, and a key with balance. */
export async function startBenchStack(guard: ProcessGuard, log: (line: string) => void): Promise<BenchStack> {
  const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-bench-'))
  const running: Array<{ name: string; process: RunningProcess }> = []
  const folders: string[] = [dataDir]
  const start = async (plan: ProcessPlan, rank: 'sessions' | 'services') => {
    const process = await spawnPlan(plan, { onSpawn: (pid) => guard.add(pid, rank) })
    running.push({ name: plan.name, process })
  }
  const stop = async () => {
    for (const { process } of running.toReversed()) {
      await process.stop()
      guard.remove(process.pid)
    }
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  }
  try {
    const postgres = await prepareEmbeddedPostgres({ dataDir, durable: true, log })
    folders.push(postgres.folder)
    await start(postgres.plan, 'services')
    await createDatabase(postgres.adminUrl, postgres.url)
    await applyMigrations({ databaseUrl: postgres.url, directory: join(ROOT, 'prisma', 'migrations') })
    const program = await findRedisProgram(cacheFolders(join(ROOT, '.data'), process.env), log)
    const redis = await prepareEmbeddedRedis({ program, folder: dataDir, durable: true, tcp: true })
    await start(redis.plan, 'services')

    const ports = await takePorts()
    const catalogFile = join(dataDir, 'catalog.json')
    await writeFile(catalogFile, JSON.stringify(benchCatalog(ports.provider)))
    const environment = {
      ...process.env,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      DATA_DIR: dataDir,
      MASTER_KEY: randomBytes(32).toString('base64'),
      CATALOG_FILE: catalogFile,
      HOST: '127.0.0.1',
      PORT: String(ports.api),
      METRICS_PORT: String(ports.apiMetrics),
      LOG_LEVEL: 'warn',
      REQUESTS_PER_MINUTE: NO_LIMIT,
      TOKENS_PER_MINUTE: NO_LIMIT.padEnd(13, '0'),
      CONCURRENT_CALLS: NO_LIMIT,
      ACCOUNT_REQUESTS_PER_MINUTE: NO_LIMIT,
      ACCOUNT_CONCURRENT_CALLS: NO_LIMIT,
    }
    const metrics = (port: number) => ({ host: '127.0.0.1', port })
    await start(simulatedProvidersPlan(ROOT, environment, ports.provider), 'sessions')
    await start(workerPlan(ROOT, environment, 'settlement', metrics(ports.settlementMetrics)), 'sessions')
    await start(workerPlan(ROOT, environment, 'dispatch', metrics(ports.dispatchMetrics)), 'sessions')
    await start(apiPlan(ROOT, environment, `http://127.0.0.1:${ports.api}`), 'sessions')

    const operate: BenchStack['operate'] = async (command, ...args) => {
      const entry = join(ROOT, 'src', 'cli', `${command}.ts`)
      const output = await runProcess(process.execPath, [entry, ...args, '--json'], {
        cwd: ROOT,
        env: environment,
      })
      return JSON.parse(output)
    }
    return {
      apiPort: ports.api,
      providerPort: ports.provider,
      metricsPorts: { api: ports.apiMetrics, dispatch: ports.dispatchMetrics },
      apiKey: await createKey(operate, 'bench'),
      quietApiKey: await createKey(operate, 'quiet'),
      databaseUrl: postgres.url,
      redisTcpUrl: redis.tcpUrl ?? redis.url,
      processes: new Map(running.map(({ name, process }) => [name, process.pid])),
      operate,
      stop: async () => {
        await stop()
        await redis.cleanUp()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function takePorts() {
  return {
    api: await freePort(),
    apiMetrics: await freePort(),
    dispatchMetrics: await freePort(),
    settlementMetrics: await freePort(),
    provider: await freePort(),
  }
}

/** A key of an account of its own. */
async function createKey(operate: BenchStack['operate'], name: string): Promise<string> {
  const account = await operate(
    'admin',
    'account',
    'create',
    '--email',
    `${name}@switchyard.local`,
    '--credit',
    '1000000',
  )
  const key = await operate(
    'admin',
    'key',
    'create',
    '--account',
    String(account.account_id),
    '--name',
    name,
    '--rpm',
    NO_LIMIT,
    '--concurrency',
    NO_LIMIT,
  )
  return String(key.key)
}
