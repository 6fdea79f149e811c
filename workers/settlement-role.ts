import { Registry } from 'prom-client'
import { createEmailTokenStore } from '../src/accounts/email-token-store.ts'
import { createAlarmStore } from '../src/billing/alarm-store.ts'
import { auditBooks } from '../src/billing/audit-books.ts'
import { createAuditRunStore } from '../src/billing/audit-run-store.ts'
import { createBalanceStore } from '../src/billing/balance-store.ts'
import { createBillingMetrics } from '../src/billing/billing-metrics.ts'
import { createGateInspection } from '../src/billing/gate-inspection.ts'
import { createHoldGate } from '../src/billing/hold-gate.ts'
import { createTopUps } from '../src/billing/payments/create-top-ups.ts'
import { pruneSettledKeys } from '../src/billing/settled-keys.ts'
import { createSettlementStore } from '../src/billing/settlement-store.ts'
import type { Config } from '../src/config.ts'
import { createCallJobs } from '../src/platform/call-jobs.ts'
import { startFleetClock } from '../src/platform/fleet-clock.ts'
import { announceKeyChange } from '../src/platform/key-changes.ts'
import type { Logger } from '../src/platform/logger.ts'
import { createMailer } from '../src/platform/mailer.ts'
import { createPostgres } from '../src/platform/postgres.ts'
import { createProcessReport } from '../src/platform/process-report.ts'
import { createDispatchQueue, createEventsQueue, createSettlementQueue } from '../src/platform/queues.ts'
import { checkRedisSettings, createRedis } from '../src/platform/redis.ts'
import { createEpochReader } from '../src/platform/redis-epoch.ts'
import { sweepCallBodies } from '../src/relay/call-bodies.ts'
import { startAlarmKeeper } from './alarm-keeper.ts'
import { startAuditKeeper } from './audit-keeper.ts'
import { startCatalogWorker } from './catalog-worker.ts'
import { startEvents } from './events/events-part.ts'
import { startMailWorker } from './mail-worker.ts'
import { startMaintenance } from './maintenance-worker.ts'
import { startPaymentKeeper } from './payment-keeper.ts'
import { createQueueGauges } from './queue-gauges.ts'
import { startReturnsScheduler } from './returns-scheduler.ts'
import { startSettlementWorker } from './settlement-worker.ts'

/** Beyond the deadlines of a call: it may be taken over at its end. */
const BODY_SLACK_MS = 300_000

/** The settlement process, composed: settles finished calls, keeps the gate in line with the ledger, sends events and mail out. */
export async function startSettlementRole(
  config: Readonly<Config>,
  plainLogger: Logger,
  registry: Registry = new Registry(),
): Promise<{ stop(): Promise<void> }> {
  const report = createProcessReport('settlement', plainLogger, registry)
  const { logger } = report
  const redisFor = (name: string) =>
    createRedis({ url: config.redisUrl, name: `switchyard-${name}`, mode: 'wait', logger })
  const redis = redisFor('settlement')
  const queueRedis = redisFor('settlement-queue')
  const catalogSubscriber = redisFor('settlement-catalog')
  await checkRedisSettings(redis, logger)
  const fleetClock = await startFleetClock({ redis, logger })
  const postgres = createPostgres({ databaseUrl: config.databaseUrl, name: 'switchyard-settlement', logger })

  // Apart, without a statement timeout: an audit reads whole tables.
  const auditPostgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name: 'switchyard-audit',
    poolSize: 2,
    statementTimeoutMs: 0,
    logger,
  })

  const metrics = createBillingMetrics(registry)
  const store = createSettlementStore(postgres)
  const gate = createHoldGate(redis)
  const dispatchQueue = createDispatchQueue(redis)
  const settlementQueue = createSettlementQueue(redis)
  const settlement = startSettlementWorker({ ...config, redis: queueRedis, store, gate, logger, metrics })
  const maintenance = startMaintenance({
    redis,
    callJobs: createCallJobs(redis),
    settlementQueue,
    settlements: store,
    postgres,
    gate,
    inspection: createGateInspection(redis),
    balances: createBalanceStore(postgres),
    metrics,
    readEpoch: createEpochReader(redis),
    prune: async () => {
      await pruneSettledKeys(postgres)
      await sweepCallBodies(postgres, config.queueWaitMs + config.callTimeoutMs + BODY_SLACK_MS)
    },
    logger,
    clock: fleetClock.now,
  })
  const events = startEvents(config, logger, registry)
  const deps = { postgres, redis, gate, logger, clock: Date.now }
  const announceAccount = (accountId: string) => announceKeyChange(redis, { accountId })
  const topUps = await createTopUps(config, { ...deps, announceAccount })
  const payments = startPaymentKeeper({ ...deps, ...topUps, topUps: topUps.service })
  const returns = startReturnsScheduler({ ...deps, ...topUps, topUps: topUps.service, registry })
  const catalog = await startCatalogWorker({
    config,
    redis,
    queueRedis,
    subscriber: catalogSubscriber,
    postgres,
    registry,
    environment: process.env,
    logger,
    clock: Date.now,
    random: Math.random,
  })
  const mail =
    config.mail &&
    startMailWorker({
      redis: queueRedis,
      tokens: createEmailTokenStore(postgres),
      mailer: createMailer(config.mail),
      publicUrl: config.mail.publicUrl,
      jobLockMs: config.jobLockMs,
      logger,
    })
  const eventsQueue = createEventsQueue(redis)
  createQueueGauges(registry, redis, {
    dispatch: dispatchQueue,
    settlement: settlementQueue,
    events: eventsQueue,
  })
  const stopAlarms = startAlarmKeeper({
    redis,
    alarms: createAlarmStore(postgres),
    logger,
    clock: Date.now,
  })
  const audits = startAuditKeeper({
    redis,
    audit: () =>
      auditBooks({ postgres: auditPostgres, redis, dispatchQueue, settlementQueue, clock: Date.now }),
    runs: createAuditRunStore(postgres),
    everyMs: config.auditEveryMinutes * 60_000,
    logger,
    clock: Date.now,
  })
  report.start(redis, () => ({ inFlightCalls: 0, concurrency: null }))

  return {
    async stop() {
      await Promise.all([
        maintenance.stop(),
        settlement.stop(),
        events.stop(),
        payments.stop(),
        returns.stop(),
        catalog.stop(),
        mail?.stop(),
      ])
      stopAlarms()
      fleetClock.stop()
      await audits.stop()
      await report.stop()
      await Promise.all([dispatchQueue, settlementQueue, eventsQueue].map((queue) => queue.close()))
      redis.disconnect()
      queueRedis.disconnect()
      catalogSubscriber.disconnect()
      // An audit that was cut off would keep its pool for as long as it takes.
      void auditPostgres.$disconnect().catch(() => undefined)
      await postgres.$disconnect()
    },
  }
}
