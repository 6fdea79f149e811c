import { hostname } from 'node:os'
import type { Registry } from 'prom-client'
import { createEmailTokenStore } from '../src/accounts/email-token-store.ts'
import { createEventMailStore } from '../src/accounts/mail/event-mail-store.ts'
import { createSentMailStore } from '../src/accounts/mail/sent-mail-store.ts'
import { createBillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import { composeCatalog } from '../src/compose/catalog.ts'
import { composeClients, openQueues } from '../src/compose/clients.ts'
import { composeMoney } from '../src/compose/money.ts'
import type { Config } from '../src/config.ts'
import { DESTINATION_PURPOSE } from '../src/operators/alarm-destination-store.ts'
import { createAlarmNoticeStore } from '../src/operators/alarm-notice-store.ts'
import { openBodyStore } from '../src/platform/body-store/create-body-store.ts'
import { createMailer } from '../src/platform/network/mailer.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { openClaimedJobs } from '../src/platform/queues/claimed-jobs.ts'
import { createQueueGauges } from '../src/platform/queues/queue-gauges.ts'
import { SETTLEMENT_QUEUE } from '../src/platform/queues/queues.ts'
import { runOnFewProcesses } from '../src/platform/redis/fleet-job.ts'
import { shardNumbers, shardSubject } from '../src/platform/redis/redis-keys.ts'
import { createSealer } from '../src/platform/sealing.ts'
import { startAlarmSender } from './alarm-sender.ts'
import { startCatalogWorker } from './catalog-worker.ts'
import { createPostWebhook } from './events/deliver-event.ts'
import { openEventsClients, startEvents } from './events/events-part.ts'
import { startMailWorker } from './mail-worker.ts'
import { startSchedules } from './schedules.ts'
import { startSettlementWorker } from './settlement-worker.ts'

/** How often an idle worker checks for finished calls. */
const WAIT_SECONDS = 5

/**
 * How many settlement processes settle, divided among the shards; the others stand by. Four settle more calls than one Redis server can finish. More
 * would divide the calls into small transactions that wait for each other's accounts.
 */
const SETTLERS = 4
const STANDBY_MS = 5_000
/** One that could not settle stands by for longer than any other. */
const STANDS_BACK_MS = 2 * STANDBY_MS
const SETTLER_LOCK_MS = 10_000

/** Exceeds the lock time of our transactions, and is well within the statement timeout. */
const LOCK_TIMEOUT_MS = 3_000

/**
 * Connects and starts the settlement process: settles finished calls, runs the scheduled jobs, keeps the catalog up to
 * date, sends events and mail out.
 */
export async function startSettlementRole(
  config: Readonly<Config>,
  plainLogger: Logger,
  registry?: Registry,
): Promise<{ stop(): Promise<void> }> {
  const clients = await composeClients('settlement', config, plainLogger, registry)
  const { redis, report, connections, logger, resources } = clients
  const queueRedis = connections.redis('switchyard-settlement-queue', 'wait')
  const postgres = connections.postgres('switchyard-settlement', { lockTimeoutMs: LOCK_TIMEOUT_MS })
  // A separate pool without a statement timeout: an audit reads whole tables.
  const auditPostgres = connections.postgres('switchyard-audit', { poolSize: 2, statementTimeoutMs: 0 })
  const metrics = createBillingMetrics(clients.registry)
  const queues = openQueues(redis, resources)
  createQueueGauges(clients.registry, redis, queues)
  const files = await openBodyStore(config)
  resources.defer(() => files.close())
  const money = await composeMoney(config, {
    ...clients,
    ...{ postgres, reportsPostgres: postgres, reportsReplica: postgres },
  })
  const settlers = shardNumbers(redis).map((shard) =>
    startSettlementWorker({
      ...config,
      jobs: openClaimedJobs(SETTLEMENT_QUEUE, {
        redis: queueRedis,
        blocking: connections.redis('switchyard-settlement-wake', 'wait', shard),
        lockMs: config.jobLockMs,
        waitSeconds: WAIT_SECONDS,
        ...{ shard, logger, clock: Date.now },
      }),
      about: shardSubject(shard, redis),
      store: money.settlements,
      ...{ holds: money.holds, logger, metrics, report },
      elected: (settle) =>
        runOnFewProcesses({
          ...{ redis, shard, name: 'settlement', processes: Math.ceil(SETTLERS / redis.shards) },
          ...{ everyMs: STANDBY_MS, lockMs: SETTLER_LOCK_MS, standsBackMs: STANDS_BACK_MS },
          run: settle,
          onFailure: (error) =>
            logger.warn({ err: error, shard }, 'settlement left to other processes, retrying'),
        }),
    }),
  )
  const events = startEvents(config, openEventsClients(connections), logger, clients.registry)
  const schedules = await startSchedules({
    ...clients,
    ...money,
    config,
    postgres,
    auditPostgres,
    queues,
    files,
    metrics,
  })
  const subscriber = connections.redis('switchyard-settlement-catalog', 'wait')
  const catalog = await startCatalogWorker({
    ...(await composeCatalog(config, clients, subscriber)),
    ...{ config, redis, queueRedis, postgres, logger, clock: Date.now, random: Math.random },
    queue: queues.catalog,
    registry: clients.registry,
  })
  const mailer = config.mail && createMailer(config.mail)
  const mail =
    config.mail &&
    mailer &&
    startMailWorker({
      ...{ redis: queueRedis, postgres, mailer, logger },
      tokens: createEmailTokenStore(postgres),
      eventMails: createEventMailStore(postgres),
      sentMails: createSentMailStore(postgres),
      publicUrl: config.mail.publicUrl,
      jobLockMs: config.jobLockMs,
    })
  const publicUrl = config.publicUrl?.replace(/\/+$/, '') ?? config.mail?.publicUrl ?? null
  const stopSendingAlarms = startAlarmSender({
    notices: createAlarmNoticeStore(postgres),
    sealer: createSealer(config.masterKeys, DESTINATION_PURPOSE),
    post: createPostWebhook({ allowPrivate: config.alarmsAllowPrivate }),
    sender: { source: publicUrl === null ? hostname() : new URL(publicUrl).host, publicUrl },
    ...{ mailer, logger, random: Math.random },
  })
  report.start(redis, () => ({ inFlightCalls: 0, concurrency: null }))
  resources.defer(() => report.stop())
  const running = [schedules, ...settlers, events, catalog, mail, { stop: stopSendingAlarms }]
  resources.defer(async () => void (await Promise.all(running.map((part) => part?.stop()))))
  return { stop: () => resources.disposeAsync() }
}
