import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { startKeyCache } from './accounts/key-cache.ts'
import { createKeyHasher } from './accounts/key-hash.ts'
import { createKeyStore } from './accounts/key-store.ts'
import { createProviderKeyStore } from './accounts/provider-key-store.ts'
import { findCharges } from './billing/call-records/known-calls.ts'
import { createReports } from './billing/reports/reports.ts'
import { createSpendStore } from './billing/reports/spend-store.ts'
import { findSettledKey } from './billing/settlement/settled-keys.ts'
import { createCleanupTasks } from './calls/admission/cleanup-tasks.ts'
import { endSuspendedCalls } from './calls/admission/end-suspended-calls.ts'
import { createIdempotency } from './calls/admission/idempotency.ts'
import { createLimitNotice } from './calls/admission/limit-notice.ts'
import { createLoadBound } from './calls/admission/load-bound.ts'
import { composeCallPath } from './calls/call-path.ts'
import { createCallBodies } from './calls/relay/call-bodies.ts'
import { createCompletionArchive } from './calls/relay/completion-archive.ts'
import { createCatalogEdits } from './catalog/catalog-edits-store.ts'
import { watchOverlay } from './catalog/catalog-overlay.ts'
import { createCatalogStore } from './catalog/catalog-store.ts'
import { createProviderKeyChecker } from './catalog/check-provider-key.ts'
import { readRateChangeTimes } from './catalog/rate-change-times.ts'
import type { Config } from './config.ts'
import { developmentRailRefusal } from './core/billing/development-rail-refusal.ts'
import { newId } from './core/kernel/ids.ts'
import { createConsole } from './http/account/create-console.ts'
import { buildApp } from './http/app.ts'
import { createCatalogManagement } from './operations/catalog-management.ts'
import { createTopUps } from './payments/create-top-ups.ts'
import type { Logger } from './platform/observability/logger.ts'
import { createProcessReport } from './platform/observability/process-report.ts'
import { createReadiness } from './platform/observability/readiness.ts'
import { createPostgres } from './platform/postgres/postgres.ts'
import { createCallJobs } from './platform/queues/call-jobs.ts'
import {
  createCatalogQueue,
  createDispatchQueue,
  createEventsQueue,
  createMailQueue,
  createSettlementQueue,
} from './platform/queues/queues.ts'
import { startFleetClock } from './platform/redis/fleet-clock.ts'
import { announceKeyChange } from './platform/redis/key-changes.ts'
import { checkRedisSettings, createRedis } from './platform/redis/redis.ts'
import { createEpochReader, watchEpoch } from './platform/redis/redis-epoch.ts'
import { keepSubscriberLimit } from './platform/redis/redis-subscriber-limit.ts'
import { createSealer } from './platform/sealing.ts'
import { followOfferHealth } from './routing/circuit-breaker/offer-health.ts'
import { followOfferMeasures } from './routing/offer-measures.ts'
import { createOfferStates } from './routing/offer-states.ts'
import { createServices } from './services.ts'

/** The API tier, composed: every client and store is built here and passed down. */
export interface ApiRuntime {
  app: FastifyInstance
  /** Calls in flight. */
  pendingCalls: () => number
  /** Stops accepting, lets answers finish for a while, then closes every client. */
  stop(): Promise<void>
}

/** Builds and connects the API tier; nothing listens yet. Throws when Redis is set up unsafely. */
export async function createApiRuntime(
  config: Readonly<Config>,
  plainLogger: Logger,
  registry: Registry = new Registry(),
): Promise<ApiRuntime> {
  const apiId = newId('api')
  const report = createProcessReport('api', plainLogger, registry)
  const { logger } = report
  const redisFor = (name: string, mode: 'fail-fast' | 'wait') =>
    createRedis({ url: config.redisUrl, name: `switchyard-api-${name}`, mode, logger })
  const redis = redisFor('gate', 'fail-fast')
  const queueRedis = redisFor('queues', 'fail-fast')
  const replySubscriber = redisFor('replies', 'wait')
  const keySubscriber = redisFor('keys', 'wait')
  const healthSubscriber = redisFor('health', 'wait')
  const postgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name: 'switchyard-api',
    connectTimeoutMs: 2_000,
    statementTimeoutMs: 5_000,
    logger,
  })
  // Apart, so that a year of usage keeps no key and no balance waiting.
  const reportsPostgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name: 'switchyard-api-reports',
    poolSize: 3,
    connectTimeoutMs: 2_000,
    logger,
  })
  // Apart as well: made-up keys keep nobody else waiting.
  const keysPostgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name: 'switchyard-api-keys',
    poolSize: 2,
    connectTimeoutMs: 2_000,
    statementTimeoutMs: 2_000,
    logger,
  })
  await checkRedisSettings(redis, logger)
  await keepSubscriberLimit(redis, logger)
  const fleetClock = await startFleetClock({ redis, logger })
  const clock = fleetClock.now

  const overlay = await watchOverlay({ redis, subscriber: keySubscriber, logger })
  const catalog = await createCatalogStore({ ...config, environment: process.env, overlay, logger })
  const catalogEdits = createCatalogEdits({ postgres, redis, check: catalog.check })
  const services = createServices(config, { postgres, reportsPostgres, redis, logger, clock: Date.now })
  const { gate, accounts, keys: keyStore } = services
  const dispatchQueue = createDispatchQueue(queueRedis)
  const settlementQueue = createSettlementQueue(queueRedis)
  const eventsQueue = createEventsQueue(queueRedis)
  const catalogQueue = createCatalogQueue(queueRedis)
  const mailQueue = createMailQueue(queueRedis)
  const health = await followOfferHealth({ redis, subscriber: healthSubscriber, now: Date.now, logger })
  const measures = await followOfferMeasures({ redis, now: Date.now, logger })
  const bodies = createCallBodies({
    ...config,
    name: 'switchyard-api-bodies',
    sealer: createSealer(config.masterKeys, 'call-body'),
    logger,
  })
  const archive = createCompletionArchive(
    redis,
    createSealer(config.masterKeys, 'kept-reply'),
    config.keptReplies,
  )
  const readEpoch = createEpochReader(redis)
  const epoch = await watchEpoch({ redis, readEpoch, logger })
  const cleanup = createCleanupTasks(logger)
  const { hub, admission, dispatch } = composeCallPath({
    apiId,
    redis,
    subscriber: replySubscriber,
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
    dispatchQueue,
    callJobs: createCallJobs(queueRedis),
    settlementQueue,
    bodies,
    archive,
    limits: config,
    topUpUrl: `${config.publicUrl ?? `http://localhost:${config.port}`}/billing`,
    logger,
    clock,
    random: Math.random,
  })
  await hub.start()
  const keys = await startKeyCache({
    keys: createKeyStore(keysPostgres, createKeyHasher(config.masterKeys), randomBytes),
    redis,
    subscriber: keySubscriber,
    onChange: endSuspendedCalls({ hub, accounts, logger }),
    logger,
    clock: Date.now,
  })
  const load = createLoadBound(() => hub.size, config.pendingCallsMax)
  const app = await buildApp({
    admission,
    dispatch,
    idempotency: createIdempotency({
      redis,
      findSettled: (accountId, digest) => findSettledKey(postgres, accountId, digest),
      logger,
    }),
    load,
    keys,
    catalog: catalog.snapshot,
    rateTimes: (snapshot) => readRateChangeTimes(reportsPostgres, snapshot),
    queues: [dispatchQueue, settlementQueue, eventsQueue, catalogQueue, mailQueue],
    clock,
    reports: createReports(reportsPostgres, redis, Date.now),
    keyChecker: createProviderKeyChecker({ postgres, logger, clock: Date.now }),
    providerKeys: createProviderKeyStore({
      postgres,
      masterKeys: config.masterKeys,
      announceAccount: (accountId) => {
        keys.forget({ accountId })
        return announceKeyChange(redis, { accountId })
      },
    }),
    console: createConsole(config, {
      postgres,
      reportsPostgres,
      redis,
      accounts,
      keyStore,
      keys,
      gate,
      mailQueue,
      logger,
    }),
    topUps: await createTopUps(config, {
      postgres,
      gate,
      announceAccount: (accountId) => announceKeyChange(redis, { accountId }),
      developmentRefusal: () => developmentRailRefusal(config, catalog.snapshot()),
      logger,
      clock: Date.now,
    }),
    readiness: createReadiness({ apiId, redis, askPostgres: () => postgres.$queryRaw`SELECT 1` }),
    admin: {
      ...services,
      redis,
      queues: { dispatch: dispatchQueue, settlement: settlementQueue, events: eventsQueue },
      offers: { health, measures },
      catalog: catalog.snapshot,
      catalogEdits,
      catalogManagement: createCatalogManagement(catalogEdits, services.auditLog.auditedAction),
      checkEdits: catalog.check,
      auditEveryMinutes: config.auditEveryMinutes,
      clock: Date.now,
    },
    registry,
    report,
    logger,
    limits: config,
  })
  report.start(redis, () => ({
    inFlightCalls: hub.size + load.entering,
    concurrency: config.pendingCallsMax,
  }))

  return {
    app,
    pendingCalls: () => hub.size,
    async stop() {
      const closing = app.close()
      // A stream that outlasts the grace period ends truthfully.
      const timer = setTimeout(() => hub.failAll(), config.shutdownGraceMs)
      await closing
      clearTimeout(timer)
      epoch.stop()
      fleetClock.stop()
      health.stop()
      measures.stop()
      await report.stop()
      await hub.stop()
      await keys.stop()
      await Promise.all(
        [dispatchQueue, settlementQueue, eventsQueue, catalogQueue, mailQueue].map((queue) => queue.close()),
      )
      catalog.close()
      overlay.stop()
      for (const client of [redis, queueRedis, replySubscriber, keySubscriber, healthSubscriber])
        client.disconnect()
      await Promise.all([postgres, reportsPostgres, keysPostgres].map((pool) => pool.$disconnect()))
      await bodies.close()
    },
  }
}
