import { Registry } from 'prom-client'
import { createEmailTokenStore } from '../src/accounts/email-token-store.ts'
import { auditBooks } from '../src/billing/audit/audit-books.ts'
import { createAuditRunStore } from '../src/billing/audit/audit-run-store.ts'
import { createHoldStore } from '../src/billing/holds/hold-store.ts'
import { createBalanceStore } from '../src/billing/ledger/balance-store.ts'
import { createBillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import { pruneSettledKeys } from '../src/billing/settlement/settled-keys.ts'
import { createSettlementStore } from '../src/billing/settlement/settlement-store.ts'
import { sweepCallBodies } from '../src/calls/relay/call-bodies.ts'
import type { Config } from '../src/config.ts'
import { createAlarmStore } from '../src/operations/alarm-store.ts'
import { createTopUps } from '../src/payments/create-top-ups.ts'
import { createMailer } from '../src/platform/network/mailer.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { createProcessReport } from '../src/platform/observability/process-report.ts'
import { createPostgres } from '../src/platform/postgres/postgres.ts'
import { createCallJobs } from '../src/platform/queues/call-jobs.ts'
import {
  createDispatchQueue,
  createEventsQueue,
  createSettlementQueue,
} from '../src/platform/queues/queues.ts'
import { startFleetClock } from '../src/platform/redis/fleet-clock.ts'
import { announceKeyChange } from '../src/platform/redis/key-changes.ts'
import { checkRedisSettings, createRedis } from '../src/platform/redis/redis.ts'
import { createEpochReader } from '../src/platform/redis/redis-epoch.ts'
import { startAlarmScheduler } from './alarm-scheduler.ts'
import { startAuditScheduler } from './audit-scheduler.ts'
import { startCatalogWorker } from './catalog-worker.ts'
import { startEvents } from './events/events-part.ts'
import { startMailWorker } from './mail-worker.ts'
import { startMaintenanceScheduler } from './maintenance-scheduler.ts'
import { startPaymentScheduler } from './payment-scheduler.ts'
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
  const gate = createHoldStore(redis)
  const dispatchQueue = createDispatchQueue(redis)
  const settlementQueue = createSettlementQueue(redis)
  const settlement = startSettlementWorker({ ...config, redis: queueRedis, store, gate, logger, metrics })
  const maintenance = startMaintenanceScheduler({
    redis,
    callJobs: createCallJobs(redis),
    settlementQueue,
    settlements: store,
    postgres,
    gate,
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
  const payments = startPaymentScheduler({ ...deps, ...topUps, topUps: topUps.service })
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
  const stopAlarms = startAlarmScheduler({
    redis,
    alarms: createAlarmStore(postgres),
    logger,
    clock: Date.now,
  })
  const audits = startAuditScheduler({
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
      await stopAlarms()
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
