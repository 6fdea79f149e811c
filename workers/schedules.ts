import { pruneAccountActions } from '../src/accounts/account-action-store.ts'
import { createAccountStore } from '../src/accounts/account-store.ts'
import { pruneSentMails } from '../src/accounts/mail/sent-mail-store.ts'
import { eraseDeletedAccounts, hasErasures } from '../src/accounts/self-service/account-erasure.ts'
import { makeWeeklySpendMails } from '../src/accounts/self-service/weekly-spend-mails.ts'
import { exportCalls } from '../src/billing/analytics/export-calls.ts'
import { archiveDueMonths } from '../src/billing/archive/archive-due-months.ts'
import { createMonthPartitions } from '../src/billing/archive/month-partitions.ts'
import { AUDIT_EVERY_MS, createAuditSchedule } from '../src/billing/audit/audit-schedule.ts'
import { FAILURE_CREDIT_LIMITS } from '../src/billing/audit/failure-credit-audit.ts'
import { runAudit } from '../src/billing/audit/run-audit.ts'
import { pruneCallFeedback } from '../src/billing/call-records/call-feedback-store.ts'
import { createBalanceStore } from '../src/billing/ledger/balance-store.ts'
import { postLedger } from '../src/billing/ledger/ledger-store.ts'
import type { BillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import { createProviderHours, createProviderHoursRollup } from '../src/billing/reports/provider-hours.ts'
import { createUnchargedCostStore } from '../src/billing/reports/uncharged-cost-store.ts'
import { createMaintenance } from '../src/billing/run-maintenance.ts'
import { pruneSettledKeys } from '../src/billing/settlement/settlement-statements.ts'
import { createUnacknowledgedEndsSweep } from '../src/calls/api/end-acknowledgements.ts'
import { prunePromptLogs } from '../src/calls/prompt-logs/prompt-log-store.ts'
import { sweepCallBodies } from '../src/calls/protocol/call-bodies.ts'
import { pruneStoredResponses } from '../src/calls/stored-responses/stored-response-store.ts'
import type { Clients, openQueues } from '../src/compose/clients.ts'
import type { Money } from '../src/compose/money.ts'
import type { Config } from '../src/config.ts'
import { UNCHARGED_COST_LIMITS } from '../src/core/billing/uncharged-cost.ts'
import { newId } from '../src/core/kernel/ids.ts'
import { DAY_MS } from '../src/core/kernel/time.ts'
import { createAlarmNoticeStore } from '../src/operators/alarm-notice-store.ts'
import { createAlarmStore } from '../src/operators/alarm-store.ts'
import { createAuditLog } from '../src/operators/audit-log.ts'
import { limitUnchargedCost } from '../src/operators/limit-uncharged-cost.ts'
import { createRefusalStore } from '../src/operators/refusal-store.ts'
import { reconcilePayments } from '../src/payments/reconcile-payments.ts'
import { createReturnsSchedule } from '../src/payments/returns-schedule.ts'
import { runAutoTopUps } from '../src/payments/run-auto-top-ups.ts'
import { createCallPaymentStore } from '../src/payments/x402/call-payment-store.ts'
import { closeCallPayments } from '../src/payments/x402/close-call-payments.ts'
import { createFacilitator } from '../src/payments/x402/facilitator.ts'
import { settleDuePayments } from '../src/payments/x402/settle-due-payments.ts'
import type { BodyStore } from '../src/platform/body-store/body-store.ts'
import { createClickHouse } from '../src/platform/clickhouse.ts'
import { createServerCheck } from '../src/platform/observability/redis-servers.ts'
import { createTimedJob } from '../src/platform/observability/timed-job.ts'
import type { Postgres } from '../src/platform/postgres/postgres.ts'
import { runAllParts } from '../src/platform/process/run-all-parts.ts'
import { createFindQueuedCalls } from '../src/platform/queues/call-jobs.ts'
import type { CallQueues } from '../src/platform/queues/call-queues.ts'
import { enqueueSettlements } from '../src/platform/queues/queues.ts'
import { type Job, runOnEveryProcess, runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import { announceKeyChange } from '../src/platform/redis/key-changes.ts'
import { createEpochReader } from '../src/platform/redis/redis-epoch.ts'
import { AUDIT_JOB } from '../src/platform/redis/redis-keys.ts'

/** One row of the table of scheduled jobs. */
interface ScheduledJob extends Job {
  /** Whether one process of the fleet runs it at a time, or every settlement process. */
  on: 'one-process' | 'every-process'
  /** Whose job it is. Absent: the fleet's. */
  shard?: number
  /** A run longer than this is an alarm. Absent: half a minute; null: runs may be long. */
  slowMs?: number | null
}

/** The dependencies of the scheduled jobs. */
interface ScheduleParts
  extends Pick<Clients, 'redis' | 'registry' | 'logger' | 'fleetClock'>,
    Pick<Money, 'holds' | 'settlements' | 'payments' | 'audits'> {
  config: Readonly<Config>
  postgres: Postgres
  /** A pool without a statement timeout, for reading whole tables. */
  auditPostgres: Postgres
  queues: ReturnType<typeof openQueues>
  files: Pick<BodyStore, 'sweep'>
  metrics: BillingMetrics
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** A run that takes longer to stop is aborted; the next run, of any process, continues. */
const STOP_WITHIN_MS = 2 * SECOND_MS
const SLOW_MS = 30 * SECOND_MS
/** Beyond the deadlines of a call: another worker may take it over at its end. */
const BODY_SLACK_MS = 5 * MINUTE_MS
const ALARMS_AT_ONCE = 500
/** Alarms are kept for this long after they were acknowledged or resolved. */
const ALARMS_KEPT_MS = 90 * DAY_MS

/** Starts every job that the settlement process runs on a schedule. A job that fails is logged and runs again. */
export async function startSchedules(parts: ScheduleParts): Promise<{ stop(): Promise<void> }> {
  const { redis, logger } = parts
  const timed = createTimedJob(parts.registry, logger)
  const running = (await scheduledJobs(parts)).map(({ on, slowMs = SLOW_MS, ...untimed }) => {
    const job = { ...untimed, run: timed(untimed, slowMs) }
    const onFailure = (error: unknown) =>
      logger.error({ err: error, shard: job.shard }, `${job.name} failed, retrying`)
    return on === 'one-process'
      ? runOnOneProcess({ ...job, redis, onFailure })
      : runOnEveryProcess({ ...job, onFailure })
  })
  return { stop: async () => void (await Promise.all(running.map((job) => job.stop()))) }
}

/** The table of scheduled jobs: what runs, how often, and where. */
async function scheduledJobs(parts: ScheduleParts): Promise<ScheduledJob[]> {
  const { config, redis, postgres, auditPostgres, queues, files, logger } = parts
  const callMs = config.queueWaitMs + config.callTimeoutMs + BODY_SLACK_MS
  const deps = { ...parts, queues: queues.calls, clock: Date.now }
  const payments = { ...deps, ...parts.payments }
  const costs = createUnchargedCostStore(postgres)
  const alarms = createAlarmStore(postgres)
  const announce = announceKeyChange.bind(null, redis)
  const unchargedCost = {
    costs,
    accounts: createAccountStore(postgres, postLedger),
    announce,
    auditedAction: createAuditLog(postgres, logger).auditedAction,
    limits: UNCHARGED_COST_LIMITS,
    logger,
    clock: Date.now,
  }
  const audit = {
    ...deps,
    postgres: auditPostgres,
    unchargedCost: UNCHARGED_COST_LIMITS,
    failureCredits: FAILURE_CREDIT_LIMITS,
    repairsAllowances: true,
  }
  const audits = createAuditSchedule({
    ...deps,
    audit: (reach) => runAudit({ ...audit, reach }),
    runs: parts.audits,
    everyMs: AUDIT_EVERY_MS,
  })
  const expired = {
    'idempotency-keys': (stopping: AbortSignal) => pruneSettledKeys(postgres, stopping),
    'call-bodies': () => sweepCallBodies(postgres, callMs),
    'prompt-logs': () => prunePromptLogs(postgres),
    'stored-responses': () => pruneStoredResponses(postgres),
    'call-feedback': () => pruneCallFeedback(postgres),
    'provider-costs': () => costs.prune(),
    'account-actions': () => pruneAccountActions(postgres),
    'sent-mails': () => pruneSentMails(postgres),
    refusals: () => createRefusalStore(postgres).prune(Date.now()),
  }
  const pruneAlarms = async () => {
    const before = new Date(Date.now() - ALARMS_KEPT_MS)
    await alarms.prune(before)
    await createAlarmNoticeStore(postgres).prune(before)
  }
  const takeOverAlarms = async () => {
    while ((await alarms.takeOver(redis, ALARMS_AT_ONCE)) === ALARMS_AT_ONCE);
  }
  /** Logs a run that changed something. */
  const logged = async (work: Promise<object>, message: string) => {
    const report = await work
    if (Object.values(report).some((count) => count > 0)) logger.info(report, message)
  }
  const [one, every] = ['one-process', 'every-process'] as const
  return [
    ...queues.calls.flatMap((ofShard) => shardJobs(parts, ofShard)),
    {
      name: 'retention',
      on: one,
      everyMs: 30 * SECOND_MS,
      run: (stopping) => runAllParts(expired, stopping),
    },
    {
      name: 'account-erasure',
      on: one,
      everyMs: 5 * SECOND_MS,
      isDue: () => hasErasures(postgres),
      slowMs: null,
      run: (stopping) => eraseDeletedAccounts({ ...parts, announce }, stopping),
    },
    { name: 'stored-files', on: one, everyMs: 10 * MINUTE_MS, run: () => files.sweep(callMs) },
    {
      name: 'partitions',
      on: one,
      everyMs: 60 * MINUTE_MS,
      firstAfterMs: 10 * SECOND_MS,
      run: () => createMonthPartitions({ postgres: auditPostgres, logger }),
    },
    ...weeklyMailsJob(parts),
    ...archiveJob(parts),
    ...analyticsJob(parts),
    {
      name: 'uncharged-cost',
      on: one,
      everyMs: 10 * SECOND_MS,
      run: () => limitUnchargedCost(unchargedCost),
    },
    {
      name: 'payments',
      on: one,
      everyMs: 30 * SECOND_MS,
      run: () => logged(reconcilePayments(payments), 'payments reconciled'),
    },
    {
      name: 'auto-top-ups',
      on: one,
      everyMs: 5 * SECOND_MS,
      run: () => logged(runAutoTopUps(payments), 'automatic top-ups made'),
    },
    {
      name: 'payment-returns',
      on: one,
      everyMs: MINUTE_MS,
      firstAfterMs: MINUTE_MS,
      stopWithinMs: STOP_WITHIN_MS,
      ...createReturnsSchedule(payments),
    },
    ...(await callPaymentJobs(parts)),
    {
      name: 'redis-servers',
      on: every,
      everyMs: 5 * SECOND_MS,
      run: createServerCheck({ redis, processId: newId('settle'), logger }),
    },
    { name: 'alarms', on: every, everyMs: SECOND_MS, run: takeOverAlarms },
    { name: 'quiet-alarms', on: every, everyMs: MINUTE_MS, firstAfterMs: MINUTE_MS, run: alarms.endQuiet },
    {
      name: 'alarm-retention',
      on: every,
      everyMs: 60 * MINUTE_MS,
      firstAfterMs: 60 * MINUTE_MS,
      run: pruneAlarms,
    },
    {
      name: 'provider-hours',
      on: every,
      everyMs: 5 * MINUTE_MS,
      firstAfterMs: 10 * SECOND_MS,
      run: createProviderHoursRollup(createProviderHours(auditPostgres), Date.now),
    },
    { name: AUDIT_JOB, on: one, everyMs: SECOND_MS, stopWithinMs: STOP_WITHIN_MS, slowMs: null, ...audits },
  ]
}

/** The jobs of the calls of one shard, with their locks there. */
function shardJobs(parts: ScheduleParts, { shard, settlement }: CallQueues): ScheduledJob[] {
  const { redis, postgres, queues, fleetClock: clock } = parts
  const maintain = createMaintenance({
    ...parts,
    shard,
    findQueued: createFindQueuedCalls(queues.calls),
    balances: createBalanceStore(postgres),
    readEpoch: createEpochReader(redis, shard),
    clock,
  })
  const sweepUnheardEnds = createUnacknowledgedEndsSweep({
    ...{ shard, redis: redis.shard(shard), postgres, clock },
    enqueueSettlements: enqueueSettlements.bind(null, settlement),
  })
  const job = { on: 'one-process', shard, everyMs: 30 * SECOND_MS } as const
  return [
    { ...job, name: 'maintenance', run: maintain },
    { ...job, name: 'unheard-ends', run: sweepUnheardEnds },
  ]
}

/** If there is mail. */
function weeklyMailsJob({ config, postgres }: ScheduleParts): ScheduledJob[] {
  if (config.mail === null) return []
  return [
    {
      name: 'weekly-mails',
      on: 'one-process',
      everyMs: 10 * MINUTE_MS,
      firstAfterMs: 2 * MINUTE_MS,
      stopWithinMs: STOP_WITHIN_MS,
      run: (stopping) => makeWeeklySpendMails({ postgres, clock: Date.now }, stopping),
    },
  ]
}

/** If call records are kept for a time only. */
function archiveJob({ config, holds, audits, auditPostgres, logger }: ScheduleParts): ScheduledJob[] {
  const { callRetentionMonths: keptMonths, archiveDirectory: folder } = config
  if (keptMonths === 0 || folder === null) return []
  const clickHouse = config.clickHouseUrl === '' ? null : createClickHouse(config.clickHouseUrl)
  const deps = {
    ...{ postgres: auditPostgres, holds, audits, clickHouse },
    logger,
    clock: Date.now,
    keptMonths,
    folder,
  }
  return [
    {
      name: 'archive',
      on: 'one-process',
      slowMs: null,
      everyMs: 60 * MINUTE_MS,
      firstAfterMs: 5 * MINUTE_MS,
      stopWithinMs: STOP_WITHIN_MS,
      run: (stopping) => archiveDueMonths(deps, stopping),
    },
  ]
}

/** If CLICKHOUSE_URL is set. */
function analyticsJob({ config, postgres }: ScheduleParts): ScheduledJob[] {
  if (config.clickHouseUrl === '') return []
  const clickHouse = createClickHouse(config.clickHouseUrl)
  return [
    {
      name: 'analytics',
      on: 'one-process',
      slowMs: null,
      everyMs: 2 * SECOND_MS,
      stopWithinMs: STOP_WITHIN_MS,
      run: (stopping) => exportCalls({ postgres, clickHouse, clock: Date.now }, stopping),
    },
  ]
}

/** If x402 is configured: payments are settled in every process, and closed in one. */
async function callPaymentJobs({
  config,
  postgres,
  holds,
  logger,
  fleetClock,
}: ScheduleParts): Promise<ScheduledJob[]> {
  if (config.callPayment === null) return []
  const settleWaitMs = config.x402SettleWaitMs
  const facilitator = await createFacilitator(config.callPayment, settleWaitMs)
  const store = createCallPaymentStore(postgres)
  const deps = { store, facilitator, settleWaitMs, holds, logger, clock: fleetClock }
  const stopWithinMs = STOP_WITHIN_MS
  return [
    {
      name: 'call-payment-settlement',
      on: 'every-process',
      everyMs: SECOND_MS,
      firstAfterMs: SECOND_MS,
      stopWithinMs,
      run: (stopping) => settleDuePayments(deps, stopping),
    },
    {
      name: 'call-payments',
      on: 'one-process',
      everyMs: 2 * SECOND_MS,
      stopWithinMs,
      isDue: store.hasOpen,
      run: (stopping) => closeCallPayments(deps, stopping),
    },
  ]
}
