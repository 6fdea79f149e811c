import { hostname } from 'node:os'
import { Registry } from 'prom-client'
import { pruneAccountActions } from '../src/accounts/account-action-store.ts'
import { createAccountStore } from '../src/accounts/account-store.ts'
import { createEmailTokenStore } from '../src/accounts/email-token-store.ts'
import { createEventMailStore } from '../src/accounts/mail/event-mail-store.ts'
import { createAuditRunStore } from '../src/billing/audit/audit-run-store.ts'
import { failureCreditLimits } from '../src/billing/audit/failure-credit-audit.ts'
import { runAudit } from '../src/billing/audit/run-audit.ts'
import { createHoldStore } from '../src/billing/holds/hold-store.ts'
import { createBalanceStore } from '../src/billing/ledger/balance-store.ts'
import { postLedger } from '../src/billing/ledger/ledger-store.ts'
import { createBillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import { createProviderHours } from '../src/billing/reports/provider-hours.ts'
import { createUnchargedCostStore } from '../src/billing/reports/uncharged-cost-store.ts'
import { pruneSettledKeys } from '../src/billing/settlement/settlement-statements.ts'
import { createSettlementStore } from '../src/billing/settlement/settlement-store.ts'
import { prunePromptLogs } from '../src/calls/prompt-logs/prompt-log-store.ts'
import { sweepCallBodies } from '../src/calls/relay/call-bodies.ts'
import { createAnswerDiscard } from '../src/calls/relay/idempotency.ts'
import { sweepUnheardEnds } from '../src/calls/relay/unheard-ends.ts'
import type { Config } from '../src/config.ts'
import { unchargedCostLimits } from '../src/core/billing/uncharged-cost.ts'
import { DESTINATION_PURPOSE } from '../src/operations/alarm-destination-store.ts'
import { createAlarmNoticeStore } from '../src/operations/alarm-notice-store.ts'
import { createAlarmStore } from '../src/operations/alarm-store.ts'
import { createAuditLog } from '../src/operations/audit-log.ts'
import { createTopUps } from '../src/payments/create-top-ups.ts'
import { createCallPaymentStore } from '../src/payments/x402/call-payment-store.ts'
import { createFacilitator } from '../src/payments/x402/facilitator.ts'
import { openBodyStore } from '../src/platform/body-store/create-body-store.ts'
import { type Connections, openConnections } from '../src/platform/connections.ts'
import { createMailer } from '../src/platform/network/mailer.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { createProcessReport, type ProcessReport } from '../src/platform/observability/process-report.ts'
import type { Postgres } from '../src/platform/postgres/postgres.ts'
import { createCallJobs } from '../src/platform/queues/call-jobs.ts'
import { openClaimedJobs } from '../src/platform/queues/claimed-jobs.ts'
import {
  createCatalogQueue,
  createDispatchQueue,
  createEventsQueue,
  createMailQueue,
  createSettlementQueue,
  enqueueSettlements,
  SETTLEMENT_QUEUE,
} from '../src/platform/queues/queues.ts'
import { startFleetClock } from '../src/platform/redis/fleet-clock.ts'
import { announceKeyChange } from '../src/platform/redis/key-changes.ts'
import { checkRedisSettings, type Redis } from '../src/platform/redis/redis.ts'
import { createEpochReader } from '../src/platform/redis/redis-epoch.ts'
import { createSealer } from '../src/platform/sealing.ts'
import { startAlarmScheduler } from './alarm-scheduler.ts'
import { startAlarmSender } from './alarm-sender.ts'
import { startAuditScheduler } from './audit-scheduler.ts'
import { startCallPaymentScheduler } from './call-payment-scheduler.ts'
import { startCatalogWorker } from './catalog-worker.ts'
import { createPostWebhook } from './events/deliver-event.ts'
import { type EventsClients, openEventsClients, startEvents } from './events/events-part.ts'
import { startMailWorker } from './mail-worker.ts'
import { startMaintenanceScheduler } from './maintenance-scheduler.ts'
import { startAutoTopUpScheduler, startPaymentScheduler, startReturnsScheduler } from './payment-scheduler.ts'
import { startProviderHoursScheduler } from './provider-hours-scheduler.ts'
import { createQueueGauges } from './queue-gauges.ts'
import { startSettlementWorker } from './settlement-worker.ts'
import { startUnchargedCostScheduler } from './uncharged-cost-scheduler.ts'

/** Beyond the deadlines of a call: it may be taken over at its end. */
const BODY_SLACK_MS = 300_000

/** An idle worker looks for finished calls this often. */
const WAIT_SECONDS = 5

/** Longer than any transaction of ours keeps an account locked; well within the statement timeout. */
const LOCK_TIMEOUT_MS = 3_000

/** What the settlement process is composed over; the caller owns the connections and closes them. */
export interface SettlementClients {
  redis: Redis
  queueRedis: Redis
  /** Blocks while nothing is to be settled. */
  wakeRedis: Redis
  catalogSubscriber: Redis
  postgres: Postgres
  /** Apart, without a statement timeout: an audit reads whole tables. */
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
 * The settlement process, composed: settles finished calls, keeps the balance cache in line with the ledger, sends
 * events and mail out.
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
  const longestCallMs = config.queueWaitMs + config.callTimeoutMs + BODY_SLACK_MS
  const maintenance = startMaintenanceScheduler({
    redis,
    callJobs: createCallJobs(redis),
    settlementQueue,
    settlements: store,
    postgres,
    holds,
    balances: createBalanceStore(postgres),
    metrics,
    readEpoch: createEpochReader(redis),
    creditUnheardEnds: () =>
      sweepUnheardEnds({
        redis,
        postgres,
        enqueueSettlements: (records) => enqueueSettlements(settlementQueue, records),
        clock: fleetClock.now,
      }),
    prune: async (stopping) => {
      await pruneSettledKeys(postgres, stopping)
      await sweepCallBodies(postgres, longestCallMs)
      await prunePromptLogs(postgres)
      await createUnchargedCostStore(postgres).prune()
      await pruneAccountActions(postgres)
      await storedBodies.sweep(longestCallMs)
    },
    logger,
    clock: fleetClock.now,
  })
  const unchargedCost = startUnchargedCostScheduler({
    redis,
    costs: createUnchargedCostStore(postgres),
    accounts: createAccountStore(postgres, postLedger),
    announce: (change) => announceKeyChange(redis, change),
    auditedAction: createAuditLog(postgres, logger).auditedAction,
    limits: unchargedCostLimits(config),
    logger,
    clock: Date.now,
  })
  const events = startEvents(config, clients.events, logger, registry)
  const deps = { postgres, redis, holds, logger, clock: Date.now }
  const announceAccount = (accountId: string) => announceKeyChange(redis, { accountId })
  const topUps = await createTopUps(config, { ...deps, announceAccount })
  const payments = startPaymentScheduler({ ...deps, ...topUps, topUps: topUps.service })
  const returns = startReturnsScheduler({ ...deps, ...topUps, topUps: topUps.service, registry })
  const autoTopUps = startAutoTopUpScheduler({ ...deps, ...topUps, topUps: topUps.service })
  const callPayments =
    config.callPayment &&
    startCallPaymentScheduler({
      ...deps,
      clock: fleetClock.now,
      store: createCallPaymentStore(postgres),
      facilitator: await createFacilitator(config.callPayment, config.x402SettleWaitMs),
      settleWaitMs: config.x402SettleWaitMs,
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
  const alarmNotices = createAlarmNoticeStore(postgres)
  const stopAlarms = startAlarmScheduler({
    redis,
    alarms: createAlarmStore(postgres),
    notices: alarmNotices,
    logger,
    clock: Date.now,
  })
  const publicUrl = config.publicUrl?.replace(/\/+$/, '') ?? config.mail?.publicUrl ?? null
  const stopSendingAlarms = startAlarmSender({
    notices: alarmNotices,
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
  const stopProviderHours = startProviderHoursScheduler({
    hours: createProviderHours(clients.auditPostgres),
    logger,
    clock: Date.now,
  })
  const audits = startAuditScheduler({
    redis,
    audit: () =>
      runAudit({
        postgres: clients.auditPostgres,
        redis,
        dispatchQueue,
        settlementQueue,
        clock: Date.now,
        unchargedCost: unchargedCostLimits(config),
        failureCredits: failureCreditLimits(config),
        isScheduled: true,
      }),
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
        unchargedCost.stop(),
        settlement.stop(),
        events.stop(),
        payments.stop(),
        returns.stop(),
        autoTopUps.stop(),
        callPayments?.stop(),
        catalog.stop(),
        mail?.stop(),
      ])
      await stopAlarms()
      await stopSendingAlarms()
      await stopProviderHours()
      fleetClock.stop()
      await audits.stop()
      storedBodies.close()
      await report.stop()
      await Promise.all(Object.values(queues).map((queue) => queue.close()))
    },
  }
}
