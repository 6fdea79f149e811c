import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { startKeyCache } from './accounts/key-cache.ts'
import { createKeyHasher } from './accounts/key-hash.ts'
import { createKeyStore } from './accounts/key-store.ts'
import { type ApiServices, apiRoutes } from './api-routes.ts'
import { createCallRecords } from './billing/call-records/call-records.ts'
import { findCharges } from './billing/call-records/known-calls.ts'
import { createReports } from './billing/reports/reports.ts'
import { createSpendStore } from './billing/reports/usage-store.ts'
import { findSettledKey } from './billing/settlement/settlement-statements.ts'
import { createByokKeyChecker } from './byok/byok-key-checker.ts'
import { endSuspendedCalls } from './calls/admission/end-suspended-calls.ts'
import { createLimitNotice } from './calls/admission/limit-notice.ts'
import { createLoadBound, FEW_CALLS } from './calls/admission/load-bound.ts'
import { composeCallPath } from './calls/call-path.ts'
import { createCleanupTasks } from './calls/cleanup-tasks.ts'
import type { Colocation } from './calls/colocation.ts'
import { createPromptLogs } from './calls/prompt-logs/prompt-log-writer.ts'
import { createCallBodies } from './calls/relay/call-bodies.ts'
import { createCompletionArchive, createIdempotency } from './calls/relay/idempotency.ts'
import { adoptEdits } from './catalog/adopt-edits.ts'
import { createCatalogEdits } from './catalog/catalog-edits-store.ts'
import { watchOverlay } from './catalog/catalog-overlay.ts'
import { createCatalogStore } from './catalog/catalog-store.ts'
import { createPlatformKeyStore } from './catalog/platform-key-store.ts'
import { createPlatformKeys } from './catalog/platform-keys.ts'
import { readRateChangeTimes } from './catalog/rate-history-store.ts'
import type { Config } from './config.ts'
import { autoTiers } from './core/auto/auto-tiers.ts'
import type { CatalogSnapshot } from './core/catalog/catalog.ts'
import { newId } from './core/kernel/ids.ts'
import { publicPathOf } from './core/kernel/service-addresses.ts'
import { createSharedRoom } from './core/kernel/shared-room.ts'
import { developmentRailRefusal } from './core/payments/development-rail-refusal.ts'
import { createProviderStatus } from './http/account/provider-status-route.ts'
import { buildApp } from './http/app.ts'
import { createSessionCookies } from './http/session-cookie.ts'
import { reportSlots } from './http/slots.ts'
import { createCatalogManagement } from './operations/catalog-management.ts'
import { createPlatformKeyManagement } from './operations/platform-key-management.ts'
import { createRefundTopUp } from './operations/top-up-refunds.ts'
import { createSettingsThrottle } from './payments/auto-top-up-throttle.ts'
import { createTopUps } from './payments/create-top-ups.ts'
import { createCallPayments } from './payments/x402/call-payments.ts'
import { createQuoteThrottle } from './payments/x402/quote-throttle.ts'
import { openBodyStore } from './platform/body-store/create-body-store.ts'
import { type Connections, openConnections } from './platform/connections.ts'
import type { Logger } from './platform/observability/logger.ts'
import { createProcessReport, type ProcessReport } from './platform/observability/process-report.ts'
import { createReadiness, type Readiness } from './platform/observability/readiness.ts'
import type { Postgres } from './platform/postgres/postgres.ts'
import { createCallJobs } from './platform/queues/call-jobs.ts'
import {
  createCatalogQueue,
  createDispatchQueue,
  createEventsQueue,
  createMailQueue,
  createSettlementQueue,
} from './platform/queues/queues.ts'
import { watchSettlementBacklog } from './platform/queues/settlement-backlog.ts'
import { startFleetClock } from './platform/redis/fleet-clock.ts'
import { announceKeyChange, type KeyChange } from './platform/redis/key-changes.ts'
import { checkRedisSettings, type Redis } from './platform/redis/redis.ts'
import { createEpochReader, watchEpoch } from './platform/redis/redis-epoch.ts'
import { keepSubscriberLimit } from './platform/redis/redis-subscriber-limit.ts'
import { createSealer } from './platform/sealing.ts'
import { checkKey } from './providers/listings/check-key.ts'
import { enableProvider } from './routing/circuit-breaker/health-store.ts'
import { createOfferStates, followOfferHealth } from './routing/circuit-breaker/offer-health.ts'
import { followOfferMeasures } from './routing/offer-measures.ts'
import { createServices, createSignIn } from './services.ts'
import { createWebhookThrottle } from './webhooks/webhook-throttle.ts'

/** The API tier, composed. */
export interface ApiRuntime {
  app: FastifyInstance
  /** Calls in flight. */
  pendingCalls: () => number
  /** Whether calls can be taken right now. */
  readiness: () => Promise<Readiness>
  /** Stops accepting and lets answers finish for a while. */
  stop(): Promise<void>
}

/** What the API tier is composed over; the caller owns the connections and closes them. */
export interface ApiClients {
  redis: Redis
  queueRedis: Redis
  replySubscriber: Redis
  keySubscriber: Redis
  healthSubscriber: Redis
  postgres: Postgres
  /** Apart, so that a year of usage keeps no key and no balance waiting. */
  reportsPostgres: Postgres
  /** Apart as well: made-up keys keep nobody else waiting. */
  keysPostgres: Postgres
}

function openApiClients(connections: Connections): ApiClients {
  const redis = (name: string, mode: 'fail-fast' | 'wait') =>
    connections.redis(`switchyard-api-${name}`, mode)
  const connectTimeoutMs = 2_000
  return {
    redis: redis('holds', 'fail-fast'),
    queueRedis: redis('queues', 'fail-fast'),
    replySubscriber: redis('replies', 'wait'),
    keySubscriber: redis('keys', 'wait'),
    healthSubscriber: redis('health', 'wait'),
    postgres: connections.postgres('switchyard-api', { connectTimeoutMs, statementTimeoutMs: 5_000 }),
    reportsPostgres: connections.postgres('switchyard-api-reports', { poolSize: 3, connectTimeoutMs }),
    keysPostgres: connections.postgres('switchyard-api-keys', {
      poolSize: 2,
      connectTimeoutMs,
      statementTimeoutMs: 2_000,
    }),
  }
}

/** Builds and connects the API tier; nothing listens yet. Throws when Redis is set up unsafely. */
export async function createApiRuntime(
  config: Readonly<Config>,
  logger: Logger,
  registry: Registry = new Registry(),
  { colocation, accessLogger = null }: { colocation?: Colocation; accessLogger?: Logger | null } = {},
): Promise<ApiRuntime> {
  const report = createProcessReport('api', logger, registry)
  const connections = openConnections(config, report.logger)
  const api = await composeApi(config, openApiClients(connections), {
    report,
    registry,
    colocation,
    accessLogger,
  })
  return {
    ...api,
    async stop() {
      await api.stop()
      await connections.close()
    },
  }
}

/** Reports that signed-in accounts read at a time, of one instance and of one account. */
const CONSOLE_REPORTS_MAX = 16
const CONSOLE_REPORTS_PER_ACCOUNT_MAX = 6
/** How long a provider may take to say whether it takes a key. */
const KEY_CHECK_MS = 4_000

/** Composes the API tier over its clients. */
async function composeApi(
  config: Readonly<Config>,
  clients: ApiClients,
  {
    report,
    registry,
    colocation,
    accessLogger,
  }: {
    report: ProcessReport
    registry: Registry
    colocation: Colocation | undefined
    accessLogger: Logger | null
  },
): Promise<ApiRuntime> {
  const { redis, queueRedis, keySubscriber, postgres, reportsPostgres } = clients
  const { logger } = report
  const apiId = newId('api')
  await checkRedisSettings(redis, logger)
  await keepSubscriberLimit(redis, logger)
  const fleetClock = await startFleetClock({ redis, logger })
  const clock = fleetClock.now

  const keyCache = await startKeyCache({
    keys: createKeyStore(clients.keysPostgres, createKeyHasher(config.masterKeys), randomBytes),
    redis,
    subscriber: keySubscriber,
    logger,
    clock: Date.now,
    refreshMs: config.keyReloadMs,
  })
  const announce = (change: KeyChange) => {
    keyCache.forget(change)
    return announceKeyChange(redis, change)
  }
  const queues = {
    dispatch: createDispatchQueue(queueRedis),
    settlement: createSettlementQueue(queueRedis),
    events: createEventsQueue(queueRedis),
    catalog: createCatalogQueue(queueRedis),
    mail: createMailQueue(queueRedis),
  }
  const serviceClients = { postgres, reportsPostgres, redis, announce, logger, clock: Date.now }
  const services = createServices(config, serviceClients)
  const { accounts, holds } = services

  const overlay = await watchOverlay({ redis, subscriber: keySubscriber, logger })
  const platformKeys = createPlatformKeys({ ...config, environment: process.env, overlay, logger })
  const catalog = await createCatalogStore({ ...config, platformKeys, overlay, logger })
  // Sorted with the catalog, so that no call waits for it.
  const sortForAuto = ({ autoLadder }: CatalogSnapshot) => void autoTiers(autoLadder)
  sortForAuto(catalog.snapshot())
  catalog.onChange(sortForAuto)
  const topUps = await createTopUps(config, {
    postgres,
    holds,
    announceAccount: (accountId) => announceKeyChange(redis, { accountId }),
    developmentRefusal: () => developmentRailRefusal(config, catalog.snapshot()),
    logger,
    clock: Date.now,
  })
  const { cards } = topUps
  const signIn = createSignIn(config, { ...serviceClients, mailQueue: queues.mail, cards }, services)
  const catalogEdits = createCatalogEdits({ postgres, redis, check: catalog.check })
  const health = await followOfferHealth({
    redis,
    subscriber: clients.healthSubscriber,
    now: Date.now,
    logger,
  })
  const measures = await followOfferMeasures({ redis, now: Date.now, logger })
  const files = await openBodyStore(config)
  const bodies = createCallBodies({
    ...config,
    name: 'switchyard-api-bodies',
    sealer: createSealer(config.masterKeys, 'call-body'),
    logger,
  })
  const readEpoch = createEpochReader(redis)
  const epoch = await watchEpoch({ redis, readEpoch, logger })
  const cleanup = createCleanupTasks(logger)
  const places = createSharedRoom({ max: config.pendingCallsMax, few: FEW_CALLS })
  const { hub, admission, dispatch } = composeCallPath({
    places,
    apiId,
    redis,
    subscriber: clients.replySubscriber,
    colocation,
    epoch,
    readEpoch,
    recoveryGraceMs: config.recoveryGraceMs,
    accounts,
    spend: createSpendStore(postgres),
    charges: (callIds) => findCharges(postgres, callIds),
    catalog: catalog.snapshot,
    offerStates: createOfferStates(health, measures),
    noteLimitReached: createLimitNotice({ redis, postgres, cleanup }),
    cleanup,
    dispatchQueue: queues.dispatch,
    callJobs: createCallJobs(queueRedis),
    settlementQueue: queues.settlement,
    bodies,
    archive: createCompletionArchive(
      redis,
      createSealer(config.masterKeys, 'kept-reply'),
      config.keptReplies,
    ),
    limits: config,
    topUpUrl: `${config.publicUrl ?? `http://127.0.0.1:${config.port}`}/billing`,
    logger,
    clock,
    random: Math.random,
  })
  const promptLogs = createPromptLogs({ store: services.promptLogs, registry, logger })
  await hub.start()
  keyCache.onChange(endSuspendedCalls({ hub, accounts, logger }))
  const backlog = watchSettlementBacklog({ redis, maxBytes: config.settlementBacklogBytesMax, logger })
  const load = createLoadBound(places, undefined, undefined, backlog.isFull)

  const { publicUrl } = config
  const isSecure = publicUrl?.startsWith('https:') ?? false
  const { auditedAction } = services.auditLog
  const reports = createReports(reportsPostgres, redis, Date.now, logger)
  const offers = { health, measures, platformKeys }
  const apiServices: ApiServices = {
    ...services,
    ...signIn,
    ...{ config, limits: config, publicUrl, publicPath: publicPathOf(publicUrl), isSecure },
    cookies: createSessionCookies(isSecure),
    ssoOnly: config.operatorSsoOnly,
    callPath: {
      ...{ admission, dispatch, load, promptLogs, files, clock, limits: config },
      idempotency: createIdempotency({
        redis,
        findSettled: (accountId, digest) => findSettledKey(postgres, accountId, digest),
        logger,
      }),
    },
    paidCalls: config.callPayment && {
      payments: await createCallPayments(config.callPayment, config, { postgres, holds, logger, clock }),
      throttle: createQuoteThrottle(redis, config),
      publicUrl,
      limits: config,
      logger,
    },
    keyCache,
    catalog: catalog.snapshot,
    checkEdits: catalog.check,
    previewEdits: catalog.preview,
    catalogEdits,
    catalogManagement: createCatalogManagement(catalogEdits, auditedAction, {
      preview: catalog.preview,
      adopt: () => adoptEdits({ overlay, catalog, postgres, logger }),
    }),
    platformKeys: createPlatformKeyManagement({
      store: createPlatformKeyStore({ ...config, postgres, redis }),
      check: (provider, secret) => checkKey(provider, secret, AbortSignal.timeout(KEY_CHECK_MS)),
      reread: overlay.reread,
      closeBreaker: (providerId) => enableProvider(redis, providerId),
      auditedAction,
    }),
    offers,
    providerStatus: createProviderStatus({
      ...services,
      modelStats: reports.models,
      catalog: catalog.snapshot,
      offers,
      clock,
    }),
    keyChecker: createByokKeyChecker({ postgres, logger, clock: Date.now }),
    reports,
    modelStats: reports.models,
    spend: reports.spend,
    recentCalls: createCallRecords(postgres),
    rateTimes: (snapshot) => readRateChangeTimes(reportsPostgres, snapshot),
    topUps,
    refundTopUp: createRefundTopUp({ ...topUps, auditedAction }),
    webhookThrottle: createWebhookThrottle(redis),
    settingsThrottle: createSettingsThrottle(redis),
    consoleSlots: reportSlots(CONSOLE_REPORTS_MAX, CONSOLE_REPORTS_PER_ACCOUNT_MAX, 'account'),
    ...{ queues, redis, announce, logger, clock },
  }
  const ask = createReadiness({ apiId, redis, askPostgres: () => postgres.$queryRaw`SELECT 1` })
  let isStopping = false
  const readiness: ApiRuntime['readiness'] = async () =>
    isStopping ? { status: 'not-ready', reason: 'stopping' } : ask()
  const app = await buildApp(
    {
      services: apiServices,
      ...{ readiness, registry, report, accessLogger, pendingCalls: () => hub.size },
    },
    apiRoutes,
  )
  report.start(redis, () => ({
    inFlightCalls: hub.size + load.entering,
    concurrency: config.pendingCallsMax,
  }))

  return {
    app,
    pendingCalls: () => hub.size,
    readiness,
    async stop() {
      isStopping = true
      // A call that outlasts the grace period ends truthfully.
      const timer = setTimeout(() => hub.failAll(), config.shutdownGraceMs)
      // Load balancers see that it is not ready before it refuses connections.
      await delay(Math.min(config.shutdownDelayMs, config.shutdownGraceMs))
      await app.close()
      clearTimeout(timer)
      for (const part of [backlog, epoch, fleetClock, health, measures]) part.stop()
      await report.stop()
      await hub.stop()
      // A worker of this process may still run calls: it finds out by Redis that nobody hears them.
      delete colocation?.hub
      await promptLogs.close()
      await keyCache.stop()
      await Promise.all(Object.values(queues).map((queue) => queue.close()))
      catalog.close()
      overlay.stop()
      await bodies.close()
      files.close()
    },
  }
}
