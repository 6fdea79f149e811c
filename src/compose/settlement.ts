import { hostname } from 'node:os'
import type { Registry } from 'prom-client'
import { createEmailTokenStore } from '../accounts/email-token-store.ts'
import { createEventMailStore } from '../accounts/mail/event-mail-store.ts'
import { createSentMailStore } from '../accounts/mail/sent-mail-store.ts'
import { createBillingMetrics } from '../billing/reports/billing-metrics.ts'
import type { Config } from '../config.ts'
import { DESTINATION_PURPOSE } from '../operators/alarm-destination-store.ts'
import { createAlarmNoticeStore } from '../operators/alarm-notice-store.ts'
import { openBodyStore } from '../platform/body-store/create-body-store.ts'
import { createMailer } from '../platform/network/mailer.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { openClaimedJobs } from '../platform/queues/claimed-jobs.ts'
import { createQueueGauges } from '../platform/queues/queue-gauges.ts'
import { SETTLEMENT_QUEUE, type SettlementJob } from '../platform/queues/queues.ts'
import { runOnFewProcesses } from '../platform/redis/fleet-job.ts'
import { shardNumbers, shardSubject } from '../platform/redis/redis-keys.ts'
import { createSealer } from '../platform/sealing.ts'
import { composeBilling } from './billing.ts'
import { composeCatalog } from './catalog.ts'
import { composeClients, openQueues } from './clients.ts'

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

/** Connects the settlement process, and composes what its workers need. */
export async function composeSettlement(
  config: Readonly<Config>,
  plainLogger: Logger,
  givenRegistry?: Registry,
) {
  const clients = await composeClients('settlement', config, plainLogger, givenRegistry)
  const { redis, report, connections, logger, registry, resources } = clients
  const queueRedis = connections.redis('shuntyard-settlement-queue', 'wait')
  const postgres = connections.postgres('shuntyard-settlement', { lockTimeoutMs: LOCK_TIMEOUT_MS })
  // A separate pool without a statement timeout: an audit reads whole tables.
  const auditPostgres = connections.postgres('shuntyard-audit', { poolSize: 2, statementTimeoutMs: 0 })
  const metrics = createBillingMetrics(registry)
  const queues = openQueues(redis, resources)
  createQueueGauges(registry, redis, queues)
  const files = await openBodyStore(config)
  resources.defer(() => files.close())
  const billing = await composeBilling(config, {
    ...{ ...clients, postgres, reportsPostgres: postgres, reportsReplica: postgres },
  })
  const settlers = shardNumbers(redis).map((shard) => ({
    ...{ ...config, holds: billing.holds, store: billing.settlements, logger, metrics, report },
    about: shardSubject(shard, redis),
    jobs: openClaimedJobs<SettlementJob>(SETTLEMENT_QUEUE, {
      redis: queueRedis,
      blocking: connections.redis('shuntyard-settlement-wake', 'wait', shard),
      lockMs: config.jobLockMs,
      waitSeconds: WAIT_SECONDS,
      ...{ shard, logger, clock: Date.now },
    }),
    elected: (settle: (over: AbortSignal) => Promise<void>) =>
      runOnFewProcesses({
        ...{ redis, shard, name: 'settlement', processes: Math.ceil(SETTLERS / redis.shards) },
        ...{ everyMs: STANDBY_MS, lockMs: SETTLER_LOCK_MS, standsBackMs: STANDS_BACK_MS },
        run: settle,
        onFailure: (error) =>
          logger.warn({ err: error, shard }, 'settlement left to other processes, retrying'),
      }),
  }))
  const subscriber = connections.redis('shuntyard-settlement-catalog', 'wait')
  const mailer = config.mail && createMailer(config.mail)
  const publicUrl = config.publicUrl?.replace(/\/+$/, '') ?? config.mail?.publicUrl ?? null
  return {
    ...{ config, report, redis, connections, logger, registry, resources, settlers },
    schedules: { ...clients, ...billing, config, postgres, auditPostgres, queues, files, metrics },
    catalog: {
      ...(await composeCatalog(config, clients, subscriber)),
      ...{ config, redis, queueRedis, postgres, logger, registry, clock: Date.now, random: Math.random },
      queue: queues.catalog,
    },
    mail: config.mail &&
      mailer && {
        ...{ redis: queueRedis, postgres, mailer, logger, jobLockMs: config.jobLockMs },
        tokens: createEmailTokenStore(postgres),
        eventMails: createEventMailStore(postgres),
        sentMails: createSentMailStore(postgres),
        publicUrl: config.mail.publicUrl,
      },
    alarms: {
      notices: createAlarmNoticeStore(postgres),
      sealer: createSealer(config.masterKeys, DESTINATION_PURPOSE),
      sender: { source: publicUrl === null ? hostname() : new URL(publicUrl).host, publicUrl },
      ...{ mailer, logger, random: Math.random },
    },
  }
}
