import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { createAccountStore } from '../../src/accounts/account-store.ts'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore, type NewKey } from '../../src/accounts/key-store.ts'
import { readHolds } from '../../src/billing/holds/admission.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { admin } from '../../src/cli/admin.ts'
import { audit } from '../../src/cli/audit.ts'
import { catalog } from '../../src/cli/catalog.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { trace } from '../../src/cli/trace.ts'
import { createApiRuntime } from '../../src/compose/api.ts'
import { startDispatchRole } from '../../src/compose/dispatch.ts'
import { readConfig } from '../../src/config.ts'
import type { OperatorRole } from '../../src/core/accounts/operator-permissions.ts'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { createPostgres, type Postgres } from '../../src/platform/postgres/postgres.ts'
import { createRedis, type Redis, serversOf } from '../../src/platform/redis/redis.ts'
import { accountKeys, queuePrefix, shardOf } from '../../src/platform/redis/redis-keys.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../tools/simulated-providers/start-simulated-providers.ts'
import { startSettlementRole } from '../../workers/settlement-role.ts'
import { openTestOperator } from './billing.ts'
import { createTestDatabase, createTestRedis, type TestDatabase, type TestRedis } from './services.ts'
import { inlinePart, type Part, spawnPart } from './stack-part.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { catalogDocument, type TestModels } from './test-catalog.ts'

const COMMANDS = { admin, audit, catalog, trace }
const ENTRIES = {
  api: ['src/main.ts', []],
  dispatch: ['workers/main.ts', ['dispatch']],
  settlement: ['workers/main.ts', ['settlement']],
} as const
/** What a process may take to start, or its work to be settled, on a machine that is busy with others. */
const UP_WITHIN_MS = 150_000

/** Deadlines that no process meets whose machine is busy with others; a test of one of them sets its own. */
const PATIENCE = {
  QUEUE_WAIT_MS: '120000',
  CONNECT_TIMEOUT_MS: '30000',
  FIRST_TOKEN_TIMEOUT_MS: '60000',
  LAST_FIRST_TOKEN_TIMEOUT_MS: '120000',
  IDLE_TIMEOUT_MS: '120000',
  BODY_TIMEOUT_MS: '120000',
}

type Role = 'api' | 'dispatch' | 'settlement'

export interface StackOptions {
  /** By default one model, `test/one`, that answers with twelve words. */
  models?: TestModels
  /** Of providers that ask for a key: the environment variable with ours. */
  providerKeyNames?: Record<string, string>
  /** Over the defaults of the contract. */
  environment?: Record<string, string>
  /**
   * Which parts run as processes of their own, so that they can be killed; true: all. The others share the test's
   * process, which has loaded their code already.
   */
  processes?: boolean | readonly Role[]
  dispatchWorkers?: number
  apis?: number
  durableRedis?: boolean
  /** Servers of the test's own in place of the one that the stack starts; `redisServer` then has their address alone. */
  redisUrl?: string
  /** Hears every part that runs in this process. */
  logger?: Logger
  /** Puts a proxy before PostgreSQL, so that it can go away. The test's own client goes around it. */
  databaseProxy?: boolean
  /** By default a new one of the run's server. */
  database?: () => Promise<TestDatabase>
  /** Puts a pooler before PostgreSQL. The test's own client goes around it. */
  pooler?: (databaseUrl: string) => Promise<{ url: string; close(): Promise<void> }>
}

export interface TestAccount {
  /** Of the gateway, so that an account is the caller of its calls. */
  url: string
  accountId: string
  keyId: string
  key: string
}

export interface TestStack {
  /** Base addresses of the API instances, without /v1. */
  urls: string[]
  url: string
  providers: SimulatedProviders
  postgres: Postgres
  redis: Redis
  redisServer: TestRedis
  /** Only with the option `databaseProxy`. */
  databaseProxy: TcpProxy | null
  environment: Record<string, string>
  catalogFile: string
  apis: Part[]
  dispatch: Part[]
  settlement: Part
  startDispatch(): Promise<Part>
  startSettlement(): Promise<Part>
  /** Starts an API instance again that was ended, at the same address. */
  restartApi(index: number): Promise<void>
  /** A new account with a balance in USD, and a key of it. */
  account(balanceUsd: string, key?: Partial<NewKey>): Promise<TestAccount>
  adminKey(role?: OperatorRole): Promise<string>
  writeCatalog(models: TestModels): Promise<void>
  /** Runs one of the gateway's commands, in this process, and returns its exit code and JSON. */
  command(
    name: keyof typeof COMMANDS,
    ...args: string[]
  ): Promise<{ code: number; json: Record<string, unknown> }>
  /** Resolves when every call has been settled and no hold is open. */
  settled(accountId: string): Promise<void>
  close(): Promise<void>
}

const QUIET = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' })

/** Brings up the whole gateway over services of its own. */
export async function startStack(options: StackOptions = {}): Promise<TestStack> {
  const resources = new AsyncDisposableStack()
  try {
    return await startWith(resources, options)
  } catch (error) {
    // What was started would outlive the test, and keep its runner from ending.
    await resources.disposeAsync()
    throw error
  }
}

async function startWith(resources: AsyncDisposableStack, options: StackOptions): Promise<TestStack> {
  const logger = options.logger ?? QUIET
  const own = async <T>(made: Promise<T>, end: (resource: T) => Promise<void>) => {
    const resource = await made
    resources.defer(() => end(resource))
    return resource
  }
  const [folder, database, redisServer, providers] = await waitForAll([
    own(mkdtemp(join(tmpdir(), 'shuntyard-stack-')), (path) => rm(path, { recursive: true, force: true })),
    own((options.database ?? createTestDatabase)(), ({ drop }) => drop()),
    own(
      options.redisUrl === undefined
        ? createTestRedis({ durable: options.durableRedis ?? false })
        : Promise.resolve({ url: options.redisUrl, close: async () => undefined } as TestRedis),
      (server) => server.close(),
    ),
    own(startSimulatedProviders(), (server) => server.close()),
  ])
  const catalogFile = join(folder, 'catalog.json')
  const writeCatalog = (models: TestModels) =>
    writeFile(catalogFile, JSON.stringify(catalogDocument(models, providers.url, options.providerKeyNames)))
  await writeCatalog(options.models ?? { 'test/one': [{ at: 'alpha', model: 'words-12' }] })
  const databaseProxy = options.databaseProxy ? await startTcpProxy(database.url) : null
  resources.defer(() => databaseProxy?.close())
  const pooler = await options.pooler?.(database.url)
  resources.defer(() => pooler?.close())
  const environment: Record<string, string> = {
    DATABASE_URL: databaseProxy?.url ?? pooler?.url ?? database.url,
    REDIS_URL: redisServer.url,
    MASTER_KEY: randomBytes(32).toString('base64'),
    CATALOG_FILE: catalogFile,
    DATA_DIR: folder,
    HOST: '127.0.0.1',
    METRICS_PORT: '0',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    RECOVERY_GRACE_MS: '0',
    // Longer than any test waits: what reaches caches of keys has been announced.
    KEY_RELOAD_MS: '3600000',
    SHUTDOWN_DELAY_MS: '0',
    ...PATIENCE,
    // Every account that a test signs up comes from one address.
    SIGN_UPS_PER_ADDRESS: '1000',
    SIGN_INS_PER_ADDRESS: '1000',
    FREE_CREDITS_PER_ADDRESS: '1000',
    ...options.environment,
  }
  const config = readConfig(environment)
  const postgres = createPostgres({ databaseUrl: database.url, name: 'test' })
  resources.defer(() => postgres.$disconnect())
  const redis = createRedis({ url: redisServer.url, shards: config.redisShards, name: 'test', mode: 'wait' })
  resources.defer(() => {
    for (const client of redis.openedClients()) client.disconnect()
  })
  const accounts = createAccountStore(postgres, postLedger)
  const keys = createKeyStore(postgres, createKeyHasher(config.masterKeys), randomBytes)

  const started: Part[] = []
  resources.defer(async () => void (await waitForAll(started.map((running) => running.stop()))))
  const { processes = false } = options
  const isProcess = (role: Role) => (typeof processes === 'boolean' ? processes : processes.includes(role))
  const part = async (role: Role, inline: () => Promise<{ stop(): Promise<void> }>, more = {}) => {
    const [entry, args] = ENTRIES[role]
    const running = isProcess(role)
      ? spawnPart(entry, args, { ...environment, ...more })
      : inlinePart(await inline())
    started.unshift(running)
    return running
  }
  const startDispatchWorkers = async (count: number) => {
    const known = await dispatchConnections(redis)
    const workers = await waitForAll(
      Array.from({ length: count }, () =>
        part('dispatch', () => startDispatchRole(readConfig(environment), logger)),
      ),
    )
    if (isProcess('dispatch')) {
      await untilUp('the dispatch workers', workers, async () => {
        const fresh = (await dispatchConnections(redis)).filter((id) => !known.includes(id))
        return fresh.length >= count * redis.shards
      })
    }
    return workers
  }
  const startDispatch = async () => (await startDispatchWorkers(1))[0]!
  const startSettlement = () => part('settlement', () => startSettlementRole(config, logger))
  const urls: string[] = []
  const apis: Part[] = []
  const startApi = async (port: number): Promise<Part> => {
    const running = await part(
      'api',
      async () => {
        const api = await createApiRuntime(readConfig({ ...environment, PORT: String(port) }), logger)
        await api.app.listen({ port, host: '127.0.0.1' })
        return api
      },
      { PORT: String(port) },
    )
    const url = `http://127.0.0.1:${port}`
    await untilUp(url, [running], async () => {
      const response = await fetch(`${url}/readyz`).catch(() => null)
      return response?.ok === true
    })
    return running
  }
  const ports = await Promise.all(Array.from({ length: options.apis ?? 1 }, freePort))
  urls.push(...ports.map((port) => `http://127.0.0.1:${port}`))
  const settlement = await startSettlement()
  const [dispatch, api] = await waitForAll([
    startDispatchWorkers(options.dispatchWorkers ?? 1),
    waitForAll(ports.map(startApi)),
  ])
  apis.push(...api)
  if (!settlement.isRunning()) throw new Error('the settlement worker ended at its start')

  return {
    urls,
    url: urls[0]!,
    providers,
    postgres,
    redis,
    redisServer,
    databaseProxy,
    environment,
    catalogFile,
    apis,
    dispatch,
    settlement,
    startDispatch,
    startSettlement,
    async restartApi(index) {
      apis[index] = await startApi(Number(new URL(urls[index]!).port))
    },
    writeCatalog,
    async account(balanceUsd, key = {}) {
      const email = `${randomBytes(6).toString('hex')}@example.test`
      const account = await accounts.create(email, { kind: 'credit', amountPico: parseUsd(balanceUsd) })
      const created = await keys.create(account.id, { ...UNLIMITED_KEY, ...key })
      return { url: urls[0]!, accountId: account.id, keyId: created.key.id, key: created.secret }
    },
    async adminKey(role = 'admin') {
      return (await keys.createOfOperator(await openTestOperator(postgres, role), UNLIMITED_KEY)).secret
    },
    async command(name, ...args) {
      const { code, out } = await runCommand(COMMANDS[name], [...args, '--json'], environment)
      return { code, json: JSON.parse(out) }
    },
    async settled(accountId) {
      const deadline = Date.now() + UP_WITHIN_MS
      while (Date.now() < deadline) {
        const shard = shardOf(accountId, redis)
        const client = redis.shard(shard)
        const holds = readHolds(await client.hgetall(accountKeys(accountId, redis).record))
        const [waiting, active] = await Promise.all([
          client.llen(`${queuePrefix(shard)}:settlement:wait`),
          client.llen(`${queuePrefix(shard)}:settlement:active`),
        ])
        if (holds.length === 0 && waiting === 0 && active === 0) return
        await delay(20)
      }
      throw new Error(`holds of ${accountId} are still open`)
    },
    close: () => resources.disposeAsync(),
  }
}

const UNLIMITED_KEY: NewKey = {
  name: 'test',
  limitPico: null,
  limitReset: 'none',
  expiresAt: null,
  requestsPerMinute: 1_000_000,
  concurrentCalls: 100_000,
}

/** As Promise.all, but waits for every one: where one fails, none is left that still starts. */
async function waitForAll<T extends readonly unknown[] | []>(started: T) {
  await Promise.allSettled(started)
  return Promise.all(started)
}

/** Ids of the connections over which dispatch workers fetch calls. */
async function dispatchConnections(redis: Redis): Promise<string[]> {
  // Each server numbers its connections from 1.
  const lists = serversOf(redis).map(async ({ shard, client }) => {
    const list = String(await client.client('LIST'))
    const waiting = list.matchAll(/^id=(\d+) .*name=shuntyard-dispatch-wake .*cmd=bzpopmin/gm)
    return [...waiting].map(([, id]) => `${shard}:${id}`)
  })
  return (await Promise.all(lists)).flat()
}

async function untilUp(name: string, parts: Part[], isUp: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + UP_WITHIN_MS
  while (!(await isUp())) {
    if (!parts.every((part) => part.isRunning())) throw new Error(`${name} ended at the start`)
    if (Date.now() > deadline) throw new Error(`${name} did not get ready`)
    await delay(20)
  }
}

/** Below the ports that connections get, one of which may be taken again before the gateway listens. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
