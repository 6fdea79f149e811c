import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { createAccountThrottle } from '../accounts/account-throttle.ts'
import { startKeyCache } from '../accounts/key-cache.ts'
import { createKeyHasher } from '../accounts/key-hash.ts'
import { createKeyStore } from '../accounts/key-store.ts'
import { createPresetCache } from '../accounts/presets/preset-cache.ts'
import { putCallFeedback } from '../billing/call-records/call-feedback-store.ts'
import { createCallRecords } from '../billing/call-records/call-records.ts'
import { readAutoChoices } from '../billing/reports/auto-choices.ts'
import { createReports } from '../billing/reports/reports.ts'
import { createUsageSeriesStore } from '../billing/reports/usage-series-store.ts'
import { createByokKeyChecker } from '../byok/byok-key-checker.ts'
import { endSuspendedCalls } from '../calls/api/end-suspended-calls.ts'
import type { FindLocalHub, TakeSlotOfShard } from '../calls/in-process-link.ts'
import { createPromptLogs } from '../calls/prompt-logs/prompt-log-writer.ts'
import { createBackgroundCalls } from '../calls/stored-responses/background-calls.ts'
import { adoptEdits } from '../catalog/adopt-edits.ts'
import { createCatalogEdits } from '../catalog/catalog-edits-store.ts'
import { createPlatformKeyStore } from '../catalog/platform-key-store.ts'
import { readRateChangeTimes, readRateHistory } from '../catalog/rate-history-store.ts'
import type { Config } from '../config.ts'
import { autoLadder } from '../core/auto/auto-ladder.ts'
import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import { completionsSource } from '../core/catalog/completions-source.ts'
import { GUARDRAIL_PURPOSE } from '../core/guardrails/guardrail.ts'
import { developmentRailRefusal } from '../core/payments/development-rail-refusal.ts'
import { createProviderStatus } from '../http/account/provider-status-route.ts'
import { buildApp } from '../http/app.ts'
import { createReasoningBox, REASONING_PURPOSE } from '../http/calls/reasoning-box.ts'
import type { CallGuards } from '../http/calls/serve-call.ts'
import { openapi } from '../http/plugins/openapi.ts'
import { type ApiServices, apiRoutes } from '../http/routes.ts'
import { createSessionCookies } from '../http/session-cookie.ts'
import { reportSlots } from '../http/slots.ts'
import { enableProvider } from '../offer-health/circuit-breaker/breaker-store.ts'
import { createOfferStates, followOfferHealth } from '../offer-health/circuit-breaker/offer-health.ts'
import { followOfferMeasures } from '../offer-health/offer-measures.ts'
import { createAccountOpening } from '../operators/account-opening.ts'
import { createCatalogManagement } from '../operators/catalog-management.ts'
import { createPlatformKeyManagement } from '../operators/platform-key-management.ts'
import { createRefusalCounter } from '../operators/refusal-counter.ts'
import { createRefusalStore } from '../operators/refusal-store.ts'
import { createRefundTopUp } from '../operators/top-up-refunds.ts'
import { createCallPayments } from '../payments/x402/call-payments.ts'
import { openBodyStore } from '../platform/body-store/create-body-store.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { createReadiness, type Readiness } from '../platform/observability/readiness.ts'
import { announceKeyChange, type KeyChange } from '../platform/redis/key-changes.ts'
import { createNetworkLimiter } from '../platform/redis/rate-limiter.ts'
import { keepSubscriberLimit } from '../platform/redis/redis-subscriber-limit.ts'
import { createSealer } from '../platform/sealing.ts'
import { checkKey } from '../providers/listings/check-key.ts'
import { composeAccounts, composeSignIn } from './accounts.ts'
import { openAnalytics, openReportsReplica } from './analytics.ts'
import { composeBilling } from './billing.ts'
import { composeCallPaths } from './call-path.ts'
import { composeCatalog } from './catalog.ts'
import { type Clients, composeClients, openQueues } from './clients.ts'
import { composeOperators } from './operators.ts'

/** Concurrent reports of signed-in accounts, of one instance and of one account. */
const CONSOLE_REPORTS_MAX = 16
const CONSOLE_REPORTS_PER_ACCOUNT_MAX = 6
/** The period of the limit of requests without a key. */
const QUOTES_SECONDS = 60
/** An answer of a guardrail, with all texts of a call. */
const GUARDRAIL_BYTES_MAX = 32 * 1024 * 1024
/** Maximum time of a provider for checking a key. */
const KEY_CHECK_MS = 4_000

/** Opens the additional connections of an API process. */
function openApiClients({ redis, connections }: Clients) {
  const waiting = (name: string) => connections.redis(`shuntyard-api-${name}`, 'wait')
  const connectTimeoutMs = 2_000
  return {
    redis,
    queueRedis: connections.redis('shuntyard-api-queues', 'fail-fast'),
    replySubscriber: connections.redis('shuntyard-api-replies', 'follow'),
    keySubscriber: waiting('keys'),
    healthSubscriber: waiting('health'),
    postgres: connections.postgres('shuntyard-api', { connectTimeoutMs, statementTimeoutMs: 5_000 }),
    /** A separate pool, so that a report over a year of usage does not delay lookups of keys and balances. */
    reportsPostgres: connections.postgres('shuntyard-api-reports', { poolSize: 3, connectTimeoutMs }),
    /** A separate pool, so that long stored responses delay no lookup of a balance or a preset. */
    responsesPostgres: connections.postgres('shuntyard-api-responses', {
      poolSize: 3,
      connectTimeoutMs,
      statementTimeoutMs: 5_000,
    }),
    /** A separate pool, so that lookups of invalid keys delay no other query. */
    keysPostgres: connections.postgres('shuntyard-api-keys', {
      poolSize: 2,
      connectTimeoutMs,
      statementTimeoutMs: 2_000,
    }),
  }
}

/** The composed API tier. */
export interface ApiRuntime {
  app: FastifyInstance
  /** Calls in flight. */
  pendingCalls: () => number
  /** Whether the instance can take calls. */
  readiness: () => Promise<Readiness>
  /** What dispatch workers in this process deliver frames to; null once it has stopped. */
  localHub: FindLocalHub
  /** Stops accepting and lets responses finish for a while. */
  stop(): Promise<void>
}

/** Builds and connects the API tier, which does not listen yet. Throws for unsafe Redis settings. */
export async function createApiRuntime(
  config: Readonly<Config>,
  plainLogger: Logger,
  givenRegistry?: Registry,
  { takeSlot, accessLogger = null }: { takeSlot?: TakeSlotOfShard; accessLogger?: Logger | null } = {},
): Promise<ApiRuntime> {
  const common = await composeClients('api', config, plainLogger, givenRegistry)
  const opened = openApiClients(common)
  const reportsReplica = await openReportsReplica(config, common, opened.reportsPostgres)
  const clients = { ...common, ...opened, reportsReplica, clock: Date.now }
  const { redis, keySubscriber, postgres, reportsPostgres, logger, registry, report, resources } = clients
  const clock = clients.fleetClock
  const { publicUrl, masterKeys } = config
  await keepSubscriberLimit(redis, logger)
  const keyCache = await startKeyCache({
    keys: createKeyStore(clients.keysPostgres, createKeyHasher(masterKeys), randomBytes),
    ...{ redis, logger, clock: Date.now },
    subscriber: keySubscriber,
    refreshMs: config.keyReloadMs,
  })
  resources.defer(() => keyCache.stop())
  let forgetPresets: (change: KeyChange) => void = () => undefined
  const announce = (change: KeyChange) => {
    keyCache.forget(change)
    forgetPresets(change)
    return announceKeyChange(redis, change)
  }
  const queues = openQueues(clients.queueRedis, resources)
  const { overlay, platformKeys, catalog } = await composeCatalog(config, clients, keySubscriber)
  // Computed with the catalog, so that no call waits for it.
  const estimateForAuto = (snapshot: CatalogSnapshot) => void autoLadder(snapshot.autoLadder)
  estimateForAuto(catalog.snapshot())
  catalog.onChange(estimateForAuto)
  const developmentRefusal = () => developmentRailRefusal(config, catalog.snapshot())
  const billing = await composeBilling(config, { ...clients, developmentRefusal })
  const { holds } = billing
  const accounts = composeAccounts(config, { ...clients, announce }, billing)
  const signIn = composeSignIn(config, { ...clients, announce, mailQueue: queues.mail }, billing, accounts)
  const operators = composeOperators(config, { ...clients, announce }, { ...accounts, ...billing })
  const { auditedAction } = operators.auditLog
  const { storedResponses, promptLogStore, directory, hasHolder, sentMails } = accounts
  const presetCache = createPresetCache({
    ...{ presets: accounts.presets, logger, clock: Date.now },
    refreshMs: config.keyReloadMs,
  })
  forgetPresets = presetCache.forget
  keyCache.onChange(presetCache.forget)
  const now = Date.now
  const health = await followOfferHealth({ redis, subscriber: clients.healthSubscriber, now, logger })
  resources.defer(() => health.stop())
  const measures = await followOfferMeasures({ redis, now, logger })
  resources.defer(() => measures.stop())
  const files = await openBodyStore(config)
  resources.defer(() => files.close())
  const { apiId, paths, pathOf } = await composeCallPaths(config, clients, {
    ...{ ...accounts, holds, queues, takeSlot },
    catalog: catalog.snapshot,
    offerStates: createOfferStates(health, measures),
  })
  const hubOf = (accountId: string) => pathOf(accountId).hub
  keyCache.onChange(endSuspendedCalls({ hubOf, accounts: accounts.accounts, logger }))
  const promptLogs = createPromptLogs({ store: promptLogStore, registry, logger })
  resources.defer(() => promptLogs.close())
  const refusalStore = createRefusalStore(postgres)
  const refusals = createRefusalCounter({ store: refusalStore, clock: Date.now, logger })
  resources.defer(() => refusals.stop())
  const backgroundCalls = createBackgroundCalls({ store: storedResponses, logger })
  const series = createUsageSeriesStore(reportsReplica)
  const usage = await openAnalytics(config, clients, reportsPostgres, { ...billing.usage, ...series })
  const reports = createReports(
    { postgres: reportsPostgres, replica: reportsReplica, usage },
    redis,
    Date.now,
    logger,
  )
  const offers = { health, measures, platformKeys }
  const catalogEdits = createCatalogEdits(postgres, redis)
  const services: ApiServices = {
    calls: {
      ...{ pathOf, promptLogs, files, clock, logger, limits: config, presetCache },
      guards: loadGuards({ ...config, registry, logger, clock }),
      ...{ backgroundCalls, refusals, refusalStore, storedResponses, promptLogStore },
      reasoningBox: createReasoningBox(createSealer(masterKeys, REASONING_PURPOSE)),
      paidCalls: config.callPayment && {
        payments: await createCallPayments(config.callPayment, config, { ...clients, holds, clock }),
        throttle: createNetworkLimiter(redis, 'quote', config.x402QuotesPerAddress, QUOTES_SECONDS),
        ...{ publicUrl, limits: config, logger },
      },
    },
    accounts: {
      ...{ ...accounts, ...signIn, announce, keyCache, publicUrl, limits: config, config, logger, clock },
      cookies: createSessionCookies(publicUrl?.startsWith('https:') ?? false),
      keyChecker: createByokKeyChecker(clients),
      throttleAccount: createAccountThrottle(redis),
    },
    billing: {
      ...{ ...billing, usage, reports, limits: config },
      issuesInvoices: config.invoices !== null,
      recentCalls: createCallRecords(postgres),
      putFeedback: (feedback) => putCallFeedback(postgres, feedback),
      refundTopUp: createRefundTopUp({ ...billing.payments, auditedAction }),
      consoleSlots: reportSlots(CONSOLE_REPORTS_MAX, CONSOLE_REPORTS_PER_ACCOUNT_MAX),
    },
    catalog: {
      ...{ snapshot: catalog.snapshot, previewEdits: catalog.preview, catalogEdits, offers },
      catalogManagement: createCatalogManagement(catalogEdits, auditedAction, {
        ...catalog,
        adopt: () => adoptEdits({ overlay, catalog, postgres, logger }),
      }),
      platformKeys: createPlatformKeyManagement({
        store: createPlatformKeyStore({ ...config, postgres, redis }),
        keysOf: platformKeys.stored,
        check: (provider, secret) => checkKey(provider, secret, AbortSignal.timeout(KEY_CHECK_MS)),
        reread: overlay.reread,
        closeBreaker: (providerId) => enableProvider(redis, providerId),
        auditedAction,
      }),
      providerStatus: createProviderStatus({
        ...{ ...billing, ...operators, offers, clock },
        modelStats: reports.models,
        catalog: catalog.snapshot,
      }),
      rateHistory: (modelId, limit) => readRateHistory(reportsPostgres, modelId, limit),
      rateTimes: (snapshot) => readRateChangeTimes(reportsPostgres, snapshot),
      completionsSource: () => completionsSource(config, catalog.snapshot()),
      readAutoChoices: () => readAutoChoices(reportsReplica),
    },
    operators: {
      ...{ ...operators, operators: accounts.operators, directory, hasHolder, sentMails, redis, queues },
      ...{ hostClock: Date.now, ssoOnly: config.operatorSsoOnly },
      operatorSignIn: signIn.operatorSignIn,
      accountOpening: createAccountOpening({ ...accounts, ...operators, ...signIn, auditedAction }),
    },
  }
  const askPostgres = () => postgres.$queryRaw`SELECT 1`
  const untilReceiving = (shard: number) => paths[shard]!.hub.untilReceiving()
  const ask = createReadiness({ apiId, redis, untilReceiving, askPostgres })
  let isStopping = false
  const readiness: ApiRuntime['readiness'] = async () =>
    isStopping ? { status: 'not-ready', reason: 'stopping' } : ask()
  const pendingCalls = () => sum(paths.map(({ hub }) => hub.size))
  const app = await buildApp(
    { ...clients, config, services, documentation: openapi, readiness, accessLogger, pendingCalls },
    apiRoutes,
  )
  report.start(redis, () => ({
    inFlightCalls: pendingCalls() + sum(paths.map(({ load }) => load.entering)),
    concurrency: config.pendingCallsMax,
  }))
  let hasStopped = false
  return {
    app,
    pendingCalls,
    readiness,
    localHub: (shard) => (hasStopped ? null : paths[shard]!.hub),
    async stop() {
      isStopping = true
      // A call that exceeds the grace period ends with its real state.
      const failAll = () => {
        for (const { hub } of paths) hub.failAll()
      }
      const timer = setTimeout(failAll, config.shutdownGraceMs)
      // Load balancers see the failed readiness before connections are refused.
      await delay(Math.min(config.shutdownDelayMs, config.shutdownGraceMs))
      await app.close()
      await backgroundCalls.idle()
      clearTimeout(timer)
      // A worker of this process may still run calls: it learns from Redis that the channel has no subscriber.
      hasStopped = true
      await report.stop()
      await resources.disposeAsync()
    },
  }
}

/** Their code is loaded for the first key that has guardrails. */
function loadGuards({
  masterKeys,
  webhooksAllowPrivate: allowPrivate,
  ...clients
}: Pick<Config, 'masterKeys' | 'webhooksAllowPrivate'> &
  Pick<Clients, 'registry' | 'logger'> & { clock: () => number }) {
  let loaded: Promise<CallGuards> | undefined
  return () => (loaded ??= load())

  async function load(): Promise<CallGuards> {
    const [{ createCallGuards }, { createGuardedPost }] = await Promise.all([
      import('../http/calls/guard-calls.ts'),
      import('../platform/network/guarded-post.ts'),
    ])
    return createCallGuards({
      ...clients,
      sealer: createSealer(masterKeys, GUARDRAIL_PURPOSE),
      post: createGuardedPost({
        allowPrivate,
        userAgent: 'Shuntyard-Guardrails/1',
        answerBytesMax: GUARDRAIL_BYTES_MAX,
        reusesConnections: true,
      }),
    })
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
