import { hostname } from 'node:os'
import { Registry } from 'prom-client'
import { createEmailTokenStore } from '../src/accounts/email-token-store.ts'
import { createEventMailStore } from '../src/accounts/mail/event-mail-store.ts'
import { createHoldStore } from '../src/billing/holds/hold-store.ts'
import { createBillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import { createSettlementStore } from '../src/billing/settlement/settlement-store.ts'
import { createAnswerDiscard } from '../src/calls/relay/idempotency.ts'
import type { Config } from '../src/config.ts'
import { DESTINATION_PURPOSE } from '../src/operations/alarm-destination-store.ts'
import { createAlarmNoticeStore } from '../src/operations/alarm-notice-store.ts'
import { createTopUps } from '../src/payments/create-top-ups.ts'
import { openBodyStore } from '../src/platform/body-store/create-body-store.ts'
import { type Connections, openConnections } from '../src/platform/connections.ts'
import { createMailer } from '../src/platform/network/mailer.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { createProcessReport, type ProcessReport } from '../src/platform/observability/process-report.ts'
import type { Postgres } from '../src/platform/postgres/postgres.ts'
import { openClaimedJobs } from '../src/platform/queues/claimed-jobs.ts'
import { createQueueGauges } from '../src/platform/queues/queue-gauges.ts'
import {
  createCatalogQueue,
  createDispatchQueue,
  createEventsQueue,
  createMailQueue,
  createSettlementQueue,
  SETTLEMENT_QUEUE,
} from '../src/platform/queues/queues.ts'
import { startFleetClock } from '../src/platform/redis/fleet-clock.ts'
import { announceKeyChange } from '../src/platform/redis/key-changes.ts'
import { checkRedisSettings, type Redis } from '../src/platform/redis/redis.ts'
import { createSealer } from '../src/platform/sealing.ts'
import { startAlarmSender } from './alarm-sender.ts'
import { startCatalogWorker } from './catalog-worker.ts'
import { createPostWebhook } from './events/deliver-event.ts'
import { type EventsClients, openEventsClients, startEvents } from './events/events-part.ts'
import { startMailWorker } from './mail-worker.ts'
import { startSchedules } from './schedules.ts'
import { startSettlementWorker } from './settlement-worker.ts'

/** How often an idle worker checks for finished calls. */
const WAIT_SECONDS = 5

/** Exceeds the lock time of our transactions, and is well within the statement timeout. */
const LOCK_TIMEOUT_MS = 3_000

/** The connections of the settlement process; the caller owns and closes them. */
export interface SettlementClients {
  redis: Redis
  queueRedis: Redis
  /** Blocks while nothing is to be settled. */
  wakeRedis: Redis
  catalogSubscriber: Redis
  postgres: Postgres
  /** A separate pool without a statement timeout: an audit reads whole tables. */
  auditPostgres: Postgres
  events: EventsClients
}

const openSettlementClients = (connections: Connections): SettlementClients => ({
  redis: connections.redis('switchyard-settlement', 'wait'),
  queueRedis: connections.redis('switchyard-settlement-queue', 'wait'),
  wakeRedis: connections.redis('switchyard-settlement-wake', 'wait'),
  catalogSubscriber: connections.redis('switchyard-settlement-catalog', 'wait'),
  postgres: connections.postgres('switchyard-settlement', { lockTimeoutMs: LOCK_TIMEOUT_MS }),
  auditPostgres: connections.postgres('switchyard-audit', { poolSize: 2, statementTimeoutMs: 0 }),
  events: openEventsClients(connections),
})

/** Connects and starts the settlement process. */
export async function startSettlementRole(
  config: Readonly<Config>,
  logger: Logger,
  registry: Registry = new Registry(),
): Promise<{ stop(): Promise<void> }> {
  const report = createProcessReport('settlement', logger, registry)
  const connections = openConnections(config, report.logger)
  const settlement = await composeSettlement(config, openSettlementClients(connections), { report, registry })
  return {
    async stop() {
      await settlement.stop()
      await connections.close()
    },
  }
}

/**
 * Composes the settlement process, which settles finished calls, keeps the balance cache in line with the ledger, and
 * sends events and mail.
 */
async function composeSettlement(
  config: Readonly<Config>,
  clients: SettlementClients,
  { report, registry }: { report: ProcessReport; registry: Registry },
): Promise<{ stop(): Promise<void> }> {
  const { redis, queueRedis, postgres } = clients
  const { logger } = report
  await checkRedisSettings(redis, logger)
  const fleetClock = await startFleetClock({ redis, logger })
  const metrics = createBillingMetrics(registry)
  const store = createSettlementStore(postgres, createAnswerDiscard(redis))
  const holds = createHoldStore(redis)
  const dispatchQueue = createDispatchQueue(redis)
  const settlementQueue = createSettlementQueue(redis)
  const settlement = startSettlementWorker({
    ...config,
    jobs: openClaimedJobs(SETTLEMENT_QUEUE, {
      redis: queueRedis,
      blocking: clients.wakeRedis,
      lockMs: config.jobLockMs,
      waitSeconds: WAIT_SECONDS,
      logger,
      clock: Date.now,
    }),
    store,
    holds,
    logger,
    metrics,
  })
  const storedBodies = await openBodyStore(config)
  const events = startEvents(config, clients.events, logger, registry)
  const topUps = await createTopUps(config, {
    ...{ postgres, holds, logger, clock: Date.now },
    announceAccount: (accountId) => announceKeyChange(redis, { accountId }),
  })
  const schedules = await startSchedules({
    ...{ config, redis, postgres, holds, dispatchQueue, settlementQueue, topUps, metrics, registry, logger },
    auditPostgres: clients.auditPostgres,
    settlements: store,
    files: storedBodies,
    fleetClock: fleetClock.now,
  })
  const catalog = await startCatalogWorker({
    config,
    redis,
    queueRedis,
    subscriber: clients.catalogSubscriber,
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
      postgres,
      tokens: createEmailTokenStore(postgres),
      eventMails: createEventMailStore(postgres),
      mailer: createMailer(config.mail),
      publicUrl: config.mail.publicUrl,
      jobLockMs: config.jobLockMs,
      logger,
    })
  const queues = {
    dispatch: dispatchQueue,
    settlement: settlementQueue,
    events: createEventsQueue(redis),
    catalog: createCatalogQueue(redis),
    mail: createMailQueue(redis),
  }
  createQueueGauges(registry, redis, queues)
  const publicUrl = config.publicUrl?.replace(/\/+$/, '') ?? config.mail?.publicUrl ?? null
  const stopSendingAlarms = startAlarmSender({
    notices: createAlarmNoticeStore(postgres),
    sealer: createSealer(config.masterKeys, DESTINATION_PURPOSE),
    post: createPostWebhook({
      allowPrivate: config.alarmsAllowPrivate,
      timeoutMs: config.webhookTimeoutMs,
    }),
    mailer: config.mail && createMailer(config.mail),
    sender: { source: publicUrl === null ? hostname() : new URL(publicUrl).host, publicUrl },
    logger,
    random: Math.random,
  })
  report.start(redis, () => ({ inFlightCalls: 0, concurrency: null }))

  return {
    async stop() {
      await Promise.all([
        schedules.stop(),
        settlement.stop(),
        events.stop(),
        catalog.stop(),
        mail?.stop(),
        stopSendingAlarms(),
      ])
      fleetClock.stop()
      storedBodies.close()
      await report.stop()
      await Promise.all(Object.values(queues).map((queue) => queue.close()))
    },
  }
}
