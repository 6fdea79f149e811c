import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { createAccountStore } from './accounts/account-store.ts'
import { startKeyCache } from './accounts/key-cache.ts'
import { createKeyHasher } from './accounts/key-hash.ts'
import { createKeyStore } from './accounts/key-store.ts'
import { createProviderKeyStore } from './accounts/provider-key-store.ts'
import { createAdmissionGate } from './admission/admission-gate.ts'
import { createErrands } from './admission/errands.ts'
import { createIdempotency } from './admission/idempotency.ts'
import { createLimitNotice } from './admission/limit-notice.ts'
import { createFigureLoaders } from './admission/load-figures.ts'
import { createHoldGate } from './billing/hold-gate.ts'
import { findCharges } from './billing/known-calls.ts'
import { postLedger } from './billing/ledger-store.ts'
import { createTopUps } from './billing/payments/create-top-ups.ts'
import { createReports } from './billing/reports.ts'
import { createSpendStore } from './billing/spend-store.ts'
import { watchOverlay } from './catalog/catalog-overlay.ts'
import { createCatalogStore } from './catalog/catalog-store.ts'
import { enableOffer, enableProvider } from './catalog/enable-offers.ts'
import { followOfferHealth } from './catalog/offer-health.ts'
import { followOfferMeasures } from './catalog/offer-measures.ts'
import { createOfferStates } from './catalog/offer-states.ts'
import type { Config } from './config.ts'
import { newId } from './core/ids.ts'
import { createOperatorServices } from './http/admin/operator-services.ts'
import { buildApp } from './http/app.ts'
import { createConsole } from './http/console/create-console.ts'
import { announceKeyChange } from './platform/key-changes.ts'
import type { Logger } from './platform/logger.ts'
import { createPostgres } from './platform/postgres.ts'
import { createProcessReport } from './platform/process-report.ts'
import {
  createCatalogQueue,
  createDispatchQueue,
  createEventsQueue,
  createSettlementQueue,
} from './platform/queues.ts'
import { checkRedisSettings, createRedis } from './platform/redis.ts'
import { createEpochReader, untilRestated, watchEpoch } from './platform/redis-epoch.ts'
import { createSealer } from './platform/sealing.ts'
import { createReplyArchive } from './relay/reply-archive.ts'
import { ReplyHub } from './relay/reply-hub.ts'

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
  const postgres = createPostgres({ databaseUrl: config.databaseUrl, name: 'switchyard-api', logger })
  // Apart, so that a year of usage keeps no key and no balance waiting.
  const reportsPostgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name: 'switchyard-api-reports',
    poolSize: 3,
    connectTimeoutMs: 2_000,
    logger,
  })
  await checkRedisSettings(redis, logger)

  const overlay = await watchOverlay({ redis, subscriber: keySubscriber, logger })
  const catalog = await createCatalogStore({ ...config, environment: process.env, overlay, logger })
  const keyStore = createKeyStore(postgres, createKeyHasher(config.masterKeys), randomBytes)
  const keys = await startKeyCache({
    keys: keyStore,
    redis,
    subscriber: keySubscriber,
    logger,
    clock: Date.now,
  })
  const gate = createHoldGate(redis)
  const accounts = createAccountStore(postgres, postLedger)
  const dispatchQueue = createDispatchQueue(queueRedis)
  const settlementQueue = createSettlementQueue(queueRedis)
  const eventsQueue = createEventsQueue(queueRedis)
  const catalogQueue = createCatalogQueue(queueRedis)
  const hub = new ReplyHub({ apiId, subscriber: replySubscriber, publisher: redis, logger, clock: Date.now })
  await hub.start()
  const readEpoch = createEpochReader(redis)
  const epoch = await watchEpoch({
    redis,
    readEpoch,
    logger,
    // By then workers have said which calls they have.
    onEmptied: () => void setTimeout(() => hub.lookAfterAll(), config.recoveryGraceMs).unref(),
  })

  const health = await followOfferHealth({ redis, subscriber: healthSubscriber, now: Date.now, logger })
  const measures = await followOfferMeasures({ redis, now: Date.now, logger })
  const errands = createErrands(logger)
  const archive = createReplyArchive(redis, createSealer(config.masterKeys, 'kept-reply'))
  const app = await buildApp({
    admission: {
      catalog: catalog.snapshot,
      offerState: createOfferStates(health, measures),
      gate: createAdmissionGate(redis),
      ...createFigureLoaders(accounts, createSpendStore(postgres), gate, redis, {
        restated: () => untilRestated(readEpoch, config.recoveryGraceMs),
        charges: (callIds) => findCharges(postgres, callIds),
      }),
      noteLimitReached: createLimitNotice({ redis, postgres, errands }),
      errands,
      limits: config,
      replyChannel: hub.channel,
      epoch: epoch.current,
      topUpUrl: `${config.publicUrl ?? `http://localhost:${config.port}`}/billing`,
      clock: Date.now,
      random: Math.random,
    },
    dispatch: {
      hub,
      dispatchQueue,
      settlementQueue,
      sealer: createSealer(config.masterKeys, 'call-body'),
      archive,
      errands,
      logger,
      clock: Date.now,
    },
    idempotency: createIdempotency(redis),
    pendingCallsMax: config.pendingCallsMax,
    keys,
    catalog: catalog.snapshot,
    offers: {
      health,
      measures,
      enableOffer: (offerId) => enableOffer(redis, offerId),
      enableProvider: (providerId) => enableProvider(redis, providerId),
    },
    settlementQueue,
    eventsQueue,
    catalogQueue,
    reports: createReports(reportsPostgres, redis, Date.now),
    providerKeys: createProviderKeyStore({
      postgres,
      masterKeys: config.masterKeys,
      announceAccount: (accountId) => {
        keys.forget({ accountId })
        return announceKeyChange(redis, { accountId })
      },
    }),
    console: createConsole(config, { postgres, reportsPostgres, redis, accounts, keyStore, keys, gate }),
    topUps: await createTopUps(config, {
      postgres,
      redis,
      gate,
      announceAccount: (accountId) => announceKeyChange(redis, { accountId }),
      logger,
      clock: Date.now,
    }),
    checkReady: async () => {
      await Promise.all([redis.ping(), postgres.$queryRaw`SELECT 1`])
    },
    operator: createOperatorServices({
      postgres,
      reportsPostgres,
      redis,
      queues: { dispatch: dispatchQueue, settlement: settlementQueue, events: eventsQueue },
      gate,
      accounts,
      keys: keyStore,
      health,
      catalogStore: catalog,
      auditEveryMinutes: config.auditEveryMinutes,
      logger,
      clock: Date.now,
    }),
    registry,
    report,
    logger,
    limits: config,
  })
  report.start(redis, () => ({ inFlightCalls: hub.size, concurrency: config.pendingCallsMax }))

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
      health.stop()
      measures.stop()
      await report.stop()
      await hub.stop()
      await keys.stop()
      await Promise.all(
        [dispatchQueue, settlementQueue, eventsQueue, catalogQueue].map((queue) => queue.close()),
      )
      catalog.close()
      overlay.stop()
      for (const client of [redis, queueRedis, replySubscriber, keySubscriber, healthSubscriber])
        client.disconnect()
      await Promise.all([postgres.$disconnect(), reportsPostgres.$disconnect()])
    },
  }
}
