import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProcess } from '../../../tools/launcher/bootstrap/run-process.mjs'
import { createDatabase, prepareEmbeddedPostgres } from '../../../tools/launcher/embedded-postgres.ts'
import { prepareEmbeddedRedis } from '../../../tools/launcher/embedded-redis.ts'
import { freePort } from '../../../tools/launcher/ports.ts'
import type { GuardRank, ProcessGuard } from '../../../tools/launcher/processes/process-guard.ts'
import type { ProcessPlan } from '../../../tools/launcher/processes/spawn-plan.ts'
import { type RunningProcess, spawnPlan } from '../../../tools/launcher/processes/spawn-plan.ts'
import { cacheFolders } from '../../../tools/launcher/services/debian-package.ts'
import { findRedisProgram } from '../../../tools/launcher/services/redis-program.ts'
import { apiPlan, gatewayPlan, workerPlan } from '../../../tools/launcher/start/gateway-plans.ts'
import type { GatewayAccess, GatewayTarget } from './target.ts'

/** Has the programs of services that had to be unpacked. */
const CACHE = join(import.meta.dirname, '../../../.data')
const CLI = { admin: 'src/cli/admin.ts', audit: 'src/cli/audit.ts', migrate: 'src/cli/migrate.ts' }
const NO_LIMIT = '1000000000'
const COMPLETIONS = '/v1/chat/completions'

export interface GatewayOptions {
  name: string
  /** The checkout that is started, by its own entry points and with its own packages. */
  root: string
  /** The document of the catalog that it serves. */
  catalog: object
  /** API and workers in one process. */
  isOneProcess: boolean
  /** None of its processes are started, only its services. */
  isBare?: boolean
  /** Beyond those of every bench. */
  settings?: Record<string, string>
  guard: ProcessGuard
  log: (line: string) => void
}

/**
 * Starts a whole gateway on throwaway data that is synced to disk: PostgreSQL, Redis, settlement worker, dispatch worker,
 * API, each in a process of its own or the last three in one, and two accounts with a key and a balance. Several run
 * side by side.
 */
export async function startGateway(options: GatewayOptions): Promise<GatewayTarget> {
  const { name, root, catalog, isOneProcess, isBare = false, settings = {}, guard, log } = options
  const dataDir = await mkdtemp(join(tmpdir(), 'shuntyard-bench-'))
  const running: Array<{ name: string; process: RunningProcess }> = []
  const folders: string[] = [dataDir]
  const start = async (plan: ProcessPlan, rank: GuardRank) => {
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
    const program = await findRedisProgram(cacheFolders(CACHE, process.env), log)
    const redis = await prepareEmbeddedRedis({ program, folder: dataDir, durable: true, tcp: true })
    await start(redis.plan, 'services')

    const ports = {
      api: await freePort(),
      apiMetrics: await freePort(),
      dispatchMetrics: await freePort(),
      settlementMetrics: await freePort(),
    }
    const catalogFile = join(dataDir, 'catalog.json')
    await writeFile(catalogFile, JSON.stringify(catalog))
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
      BODY_BYTES_PER_KEY: NO_LIMIT,
      BODY_BYTES_PER_ACCOUNT: NO_LIMIT,
      BODY_BYTES_PER_INSTANCE: NO_LIMIT,
      ...settings,
    }
    const command = async (name: keyof typeof CLI, ...args: string[]) => {
      const path = join(root, CLI[name])
      const env = environment
      return JSON.parse(await runProcess(process.execPath, [path, ...args, '--json'], { cwd: root, env }))
    }
    await command('migrate')
    const metrics = (port: number) => ({ host: '127.0.0.1', port })
    const baseUrl = `http://127.0.0.1:${ports.api}`
    if (isOneProcess) await start(gatewayPlan(root, environment, baseUrl), 'sessions')
    else if (!isBare) {
      await start(workerPlan(root, environment, 'settlement', metrics(ports.settlementMetrics)), 'sessions')
      await start(workerPlan(root, environment, 'dispatch', metrics(ports.dispatchMetrics)), 'sessions')
      await start(apiPlan(root, environment, baseUrl), 'sessions')
    }
    return {
      name,
      url: `${baseUrl}${COMPLETIONS}`,
      headers: await createKey(command, 'bench'),
      processes: new Map(running.map(({ name, process }) => [name, process.pid])),
      gateway: {
        quietHeaders: await createKey(command, 'quiet'),
        metricsPorts: {
          api: ports.apiMetrics,
          dispatch: isOneProcess ? ports.apiMetrics : ports.dispatchMetrics,
        },
        databaseUrl: postgres.url,
        redisTcpUrl: redis.tcpUrl ?? redis.url,
        operate: command,
        async start(role, more = {}) {
          const port = await freePort()
          const metricsPort = await freePort()
          const url = `http://127.0.0.1:${port}`
          const env = { ...environment, ...more, PORT: String(port), METRICS_PORT: String(metricsPort) }
          const plan =
            role === 'api' ? apiPlan(root, env, url) : workerPlan(root, env, role, metrics(metricsPort))
          const part = await spawnPlan(plan, { onSpawn: (pid) => guard.add(pid, 'sessions') })
          const stop = () => part.stop().finally(() => guard.remove(part.pid))
          return { url, metricsPort, pid: part.pid, stop }
        },
      },
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

/** The headers of an account of its own. */
async function createKey(
  operate: GatewayAccess['operate'],
  name: string,
): Promise<{ authorization: string }> {
  const email = `${name}@shuntyard.local`
  const account = await operate('admin', 'account', 'create', '--email', email, '--credit', '1000000')
  const owner = ['--account', String(account.account_id), '--name', name]
  const limits = ['--rpm', NO_LIMIT, '--concurrency', NO_LIMIT]
  const key = await operate('admin', 'key', 'create', ...owner, ...limits)
  return { authorization: `Bearer ${key.key}` }
}
