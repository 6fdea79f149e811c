import { chmodSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { LOCAL_MODEL_NAME } from '../../src/core/catalog/local-model-catalog.ts'
import { applyMigrations } from '../../src/platform/postgres/migrate.ts'
import { tryLock } from './bootstrap/process-lock.mjs'
import { dataDirectory, removeRunningServices, writeRunningServices } from './bootstrap/running-services.mjs'
import { ensureConsole } from './build-console.ts'
import { choosePorts, DEFAULT_PORT } from './ports.ts'
import { startProcessGuard } from './processes/process-guard.ts'
import { listenForStop } from './processes/stop-request.ts'
import { ensureDemoAccount } from './start/demo-account.ts'
import {
  checkSettings,
  ensureMasterKey,
  findOllama,
  hasRailKeys,
  invoiceEnvironment,
  keyedProviders,
  mailEnvironment,
  paymentEnvironment,
  simulateAllEnvironment,
} from './start/gateway-environment.ts'
import {
  apiPlan,
  gatewayPlan,
  sharesOneProcess,
  simulatedProvidersPlan,
  workerPlan,
} from './start/gateway-plans.ts'
import { addressFor, gatewayUrl } from './start/gateway-url.ts'
import {
  createStartContext,
  type StartContext,
  startDatabase,
  startLocalModel,
  startRedis,
  stopAll,
} from './start/start-context.ts'
import { welcome } from './start/welcome.ts'

const LOCAL_MODEL = `local/${LOCAL_MODEL_NAME}`
const ROOT = resolve(import.meta.dirname, '../..')

/**
 * `npm start`: everything on one machine, each part a process of its own (API and workers may share one), until a request
 * to stop.
 * Resolves to the exit code.
 */
async function main(): Promise<number> {
  const dataDir = dataDirectory(ROOT, process.env)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  chmodSync(dataDir, 0o700)
  const lock = tryLock(join(dataDir, 'start.lock'))
  if (!lock.acquired) {
    console.error(
      `Already running over ${dataDir} (process ${lock.holderPid}). Stop it first, or set DATA_DIR.`,
    )
    return 1
  }
  const guard = startProcessGuard()
  // What is left then is ended by the guard.
  const stop = listenForStop(() => process.exit(1))
  const failure = new AbortController()
  const context = createStartContext({
    root: ROOT,
    dataDir,
    environment: process.env,
    guard,
    signal: AbortSignal.any([stop.signal, failure.signal]),
  })
  try {
    await Promise.race([startAll(context), aborted(stop.signal)])
    await aborted(stop.signal)
    return 0
  } catch (error) {
    if (stop.signal.aborted) return 0
    // Steps that run beside the failed one start nothing more.
    failure.abort()
    console.error(`\n${(error as Error).message}`)
    return 1
  } finally {
    await stopAll(context, stop.signal.aborted ? String(stop.signal.reason) : 'after a failure')
    removeRunningServices(dataDir)
    stop.dispose()
    guard.close()
    lock.release()
  }
}

async function startAll(context: StartContext): Promise<void> {
  const { dataDir, environment, log, run } = context
  const catalogFile = environment.CATALOG_FILE && resolve(environment.CATALOG_FILE)
  await checkSettings({ ...environment, CATALOG_FILE: catalogFile })
  log(`starting; data in ${dataDir}`)
  const host = environment.HOST || '127.0.0.1'
  const metricsHost = environment.METRICS_HOST || '127.0.0.1'
  const ports = await choosePorts({ host, metricsHost }, environment)
  if (!environment.PORT && ports.api !== DEFAULT_PORT)
    log(`port ${DEFAULT_PORT} is taken: the gateway listens on ${ports.api}`)
  const [databaseUrl, redisUrl, ollamaUrl, localModelUrl] = await Promise.all([
    startDatabase(context),
    startRedis(context),
    findOllama(environment),
    startLocalModel(context),
    ensureConsole(ROOT).catch((error: Error) => {
      log(`the console could not be built, the API works without it: ${error.message}`)
    }),
  ])
  const applied = await applyMigrations({ databaseUrl, directory: join(ROOT, 'prisma', 'migrations') })
  if (applied.length > 0) log(`database: ${applied.length} migrations applied`)

  const simulateAll = simulateAllEnvironment(ROOT, environment)
  const onlySimulated = simulateAll.SIMULATE_ALL === 'true' && !ollamaUrl && !localModelUrl
  const payments = paymentEnvironment(environment, { host, onlySimulated })
  if (!('PAYMENTS_DEVELOPMENT_RAIL' in payments) && !hasRailKeys(environment))
    log('no top-ups: no payment keys are set, and the development rail is not for a gateway others can reach')
  const shared = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    MASTER_KEY: ensureMasterKey(dataDir, environment),
    DATA_DIR: dataDir,
    HOST: host,
    PORT: String(ports.api),
    METRICS_HOST: metricsHost,
    // No load balancer has to notice.
    SHUTDOWN_DELAY_MS: environment.SHUTDOWN_DELAY_MS || '0',
    SIMULATED_PROVIDERS_URL: `http://127.0.0.1:${ports.simulatedProviders}`,
    ...mailEnvironment(dataDir, environment),
    ...payments,
    ...invoiceEnvironment(environment, payments),
    ...simulateAll,
    ...(ollamaUrl && { OLLAMA_URL: ollamaUrl }),
    ...(localModelUrl && { LOCAL_MODEL_URL: localModelUrl }),
    ...(catalogFile && { CATALOG_FILE: catalogFile }),
  }
  writeRunningServices(dataDir, shared)
  const gateway = { ...environment, ...shared }
  const baseUrl = gatewayUrl(host, ports.api)
  const metrics = (role: keyof typeof ports.metrics) => ({
    host: addressFor(metricsHost),
    port: ports.metrics[role],
  })

  log('starting the gateway …')
  await run(simulatedProvidersPlan(ROOT, gateway, ports.simulatedProviders), 'sessions')
  const isOneProcess = sharesOneProcess(environment, availableParallelism())
  log(`API and workers ${isOneProcess ? 'share one process' : 'have a process each'} (see ONE_PROCESS)`)
  if (!isOneProcess) {
    // One after another in this order: they stop in the opposite one, the API first.
    await run(workerPlan(ROOT, gateway, 'settlement', metrics('settlement')), 'sessions')
    await run(workerPlan(ROOT, gateway, 'dispatch', metrics('dispatch')), 'sessions')
  }
  const demo = {
    root: ROOT,
    dataDir,
    environment: gateway,
    externalDatabaseUrl: environment.DATABASE_URL || null,
  }
  const api = (isOneProcess ? gatewayPlan : apiPlan)(
    ROOT,
    { ...gateway, METRICS_PORT: String(ports.metrics.api) },
    baseUrl,
  )
  const [keys] = await Promise.all([ensureDemoAccount(demo), run(api, 'sessions')])
  const metricsUrl = (role: keyof typeof ports.metrics) =>
    `${gatewayUrl(metricsHost, ports.metrics[role])}/metrics`
  const metricsUrls = isOneProcess
    ? [metricsUrl('api')]
    : [
        `${metricsUrl('api')} (API)`,
        `${metricsUrl('dispatch')} (dispatch)`,
        `${metricsUrl('settlement')} (settlement)`,
      ]
  const simulated =
    'SIMULATE_ALL' in shared
      ? 'simulated: every completion is made up, whatever the model; set OPENAI_API_KEY and the like for real ones'
      : `real ones whose keys are set: ${keyedProviders(ROOT, environment).join(', ') || 'none'}; models under sim/ are simulated`
  const providers = [
    simulated,
    ...(ollamaUrl ? [`Ollama at ${ollamaUrl} is real`] : []),
    localModelUrl
      ? `${LOCAL_MODEL} is real`
      : `LOCAL_MODEL=1 npm start also runs a small real one (${LOCAL_MODEL})`,
  ].join('\n                 ')
  const mail = 'MAIL_FOLDER' in shared ? `in ${shared.MAIL_FOLDER}; set SMTP_URL to send messages` : 'sent'
  process.stdout.write(
    welcome({ baseUrl, keys, metricsUrls, logsFolder: context.logsFolder, providers, mail }),
  )
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })
}

// At once: a step of the start that was interrupted must not hold up the end.
process.exit(await main())
