import { pruneAccountActions } from '../accounts/account-action-store.ts'
import { createAccountStore } from '../accounts/account-store.ts'
import { pruneSentMails } from '../accounts/mail/sent-mail-store.ts'
import { eraseDeletedAccounts, hasErasures } from '../accounts/self-service/account-erasure.ts'
import { makeWeeklySpendMails } from '../accounts/self-service/weekly-spend-mails.ts'
import { exportCalls } from '../billing/analytics/export-calls.ts'
import { archiveDueMonths } from '../billing/archive/archive-due-months.ts'
import { createMonthPartitions } from '../billing/archive/month-partitions.ts'
import { AUDIT_EVERY_MS, createAuditSchedule } from '../billing/audit/audit-schedule.ts'
import { FAILURE_CREDIT_LIMITS } from '../billing/audit/failure-credit-audit.ts'
import { runAudit } from '../billing/audit/run-audit.ts'
import { pruneCallFeedback } from '../billing/call-records/call-feedback-store.ts'
import { createBalanceStore } from '../billing/ledger/balance-store.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import type { BillingMetrics } from '../billing/reports/billing-metrics.ts'
import { createProviderHours, createProviderHoursRollup } from '../billing/reports/provider-hours.ts'
import { createUnchargedCostStore } from '../billing/reports/uncharged-cost-store.ts'
import { createMaintenance } from '../billing/run-maintenance.ts'
import { pruneSettledKeys } from '../billing/settlement/settlement-statements.ts'
import { createUnacknowledgedEndsSweep } from '../calls/api/end-acknowledgements.ts'
import { prunePromptLogs } from '../calls/prompt-logs/prompt-log-store.ts'
import { sweepCallBodies } from '../calls/protocol/call-bodies.ts'
import { pruneStoredResponses } from '../calls/stored-responses/stored-response-store.ts'
import type { Config } from '../config.ts'
import { UNCHARGED_COST_LIMITS } from '../core/billing/uncharged-cost.ts'
import { newId } from '../core/kernel/ids.ts'
import { DAY_MS, HOUR_MS } from '../core/kernel/time.ts'
import { createAlarmNoticeStore } from '../operators/alarm-notice-store.ts'
import { createAlarmStore } from '../operators/alarm-store.ts'
import { createAuditLog } from '../operators/audit-log.ts'
import { limitUnchargedCost } from '../operators/limit-uncharged-cost.ts'
import { createRefusalStore } from '../operators/refusal-store.ts'
import { reconcilePayments } from '../payments/reconcile-payments.ts'
import { createReturnsSchedule } from '../payments/returns-schedule.ts'
import { runAutoTopUps } from '../payments/run-auto-top-ups.ts'
import { createCallPaymentStore } from '../payments/x402/call-payment-store.ts'
import { closeCallPayments } from '../payments/x402/close-call-payments.ts'
import { createFacilitator } from '../payments/x402/facilitator.ts'
import { settleDuePayments } from '../payments/x402/settle-due-payments.ts'
import type { BodyStore } from '../platform/body-store/body-store.ts'
import { createClickHouse } from '../platform/clickhouse.ts'
import { createServerCheck } from '../platform/observability/redis-servers.ts'
import { createTimedJob } from '../platform/observability/timed-job.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { runAllParts } from '../platform/process/run-all-parts.ts'
import { createFindQueuedCalls } from '../platform/queues/call-jobs.ts'
import type { CallQueues } from '../platform/queues/call-queues.ts'
import { enqueueSettlements } from '../platform/queues/queues.ts'
import { type Job, runOnEveryProcess, runOnOneProcess } from '../platform/redis/fleet-job.ts'
import { announceKeyChange } from '../platform/redis/key-changes.ts'
import { createEpochReader } from '../platform/redis/redis-epoch.ts'
import { AUDIT_JOB } from '../platform/redis/redis-keys.ts'
import { warnOfBudgets } from '../webhooks/budget-warnings.ts'
import type { Billing } from './billing.ts'
import type { Clients, openQueues } from './clients.ts'

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
    Pick<Billing, 'holds' | 'settlements' | 'payments' | 'audits'> {
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

/** A row: what it is called, how often it runs, and what it does. */
type Row = [name: string, everyMs: number, run: Job['run'], more?: Partial<ScheduledJob>]
const job =
  (on: ScheduledJob['on']) =>
  (...[name, everyMs, run, more]: Row): ScheduledJob => ({ on, name, everyMs, run, ...more })
const one = job('one-process')
const every = job('every-process')
const STOPS_SOON = { stopWithinMs: STOP_WITHIN_MS }
const LONG = { ...STOPS_SOON, slowMs: null }

/** The table of scheduled jobs: what runs, how often, and where. */
async function scheduledJobs(parts: ScheduleParts): Promise<ScheduledJob[]> {
  const { config, redis, postgres, auditPostgres, queues, files, logger } = parts
  const clock = Date.now
  const callMs = config.queueWaitMs + config.flexWaitMs + config.callTimeoutMs + BODY_SLACK_MS
  const clickHouse = config.clickHouseUrl === '' ? null : createClickHouse(config.clickHouseUrl)
  const deps = { ...parts, queues: queues.calls, clickHouse, clock }
  const onTables = { ...deps, postgres: auditPostgres }
  const payments = { ...deps, ...parts.payments }
  const costs = createUnchargedCostStore(postgres)
  const alarms = createAlarmStore(postgres)
  const announce = announceKeyChange.bind(null, redis)
  const unchargedCost = {
    ...{ costs, announce, logger, clock, limits: UNCHARGED_COST_LIMITS },
    accounts: createAccountStore(postgres, postLedger),
    auditedAction: createAuditLog(postgres, logger).auditedAction,
  }
  const audit = {
    ...onTables,
    unchargedCost: UNCHARGED_COST_LIMITS,
    failureCredits: FAILURE_CREDIT_LIMITS,
    repairsAllowances: true,
  }
  const { run: runAudits, ...auditsDue } = createAuditSchedule({
    ...deps,
    audit: (reach) => runAudit({ ...audit, reach }),
    runs: parts.audits,
    everyMs: AUDIT_EVERY_MS,
  })
  const { run: readReturns, ...returnsDue } = createReturnsSchedule(payments)
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
  const eraseAccounts = (stopping: AbortSignal) => eraseDeletedAccounts({ ...parts, announce }, stopping)
  const sendWeeklyMails = (stopping: AbortSignal) => makeWeeklySpendMails({ postgres, clock }, stopping)
  const checkServers = createServerCheck({ redis, processId: newId('settle'), logger })
  const rollUpHours = createProviderHoursRollup(createProviderHours(auditPostgres), clock)
  const { callRetentionMonths: keptMonths, archiveDirectory: folder } = config
  return [
    ...queues.calls.flatMap((ofShard) => shardJobs(parts, ofShard)),
    one('retention', 30 * SECOND_MS, (stopping) => runAllParts(expired, stopping)),
    one('account-erasure', 5 * SECOND_MS, eraseAccounts, {
      isDue: () => hasErasures(postgres),
      slowMs: null,
    }),
    one('stored-files', 10 * MINUTE_MS, () => files.sweep(callMs)),
    one('partitions', HOUR_MS, () => createMonthPartitions(onTables), { firstAfterMs: 10 * SECOND_MS }),
    one('budget-warnings', MINUTE_MS, () =>
      logged(warnOfBudgets({ postgres, clock }), 'budgets nearly spent'),
    ),
    ...when(config.mail !== null, () =>
      one('weekly-mails', 10 * MINUTE_MS, sendWeeklyMails, { ...STOPS_SOON, firstAfterMs: 2 * MINUTE_MS }),
    ),
    // If call records are kept for a time only.
    ...when(keptMonths !== 0 && folder !== null && { ...onTables, keptMonths, folder }, (archive) =>
      one('archive', HOUR_MS, (stopping) => archiveDueMonths(archive, stopping), {
        ...{ ...LONG, firstAfterMs: 5 * MINUTE_MS },
      }),
    ),
    ...when(clickHouse !== null && { postgres, clickHouse, clock }, (analytics) =>
      one('analytics', 2 * SECOND_MS, (stopping) => exportCalls(analytics, stopping), LONG),
    ),
    ...when(config.gatewayFile !== null && config.gatewayFile, (file) =>
      one('configuration-drift', 10 * MINUTE_MS, async () => {
        const { reportDrift } = await import('../cli/gateway-file/drift.ts')
        await reportDrift(file, process.env, logger)
      }),
    ),
    one('uncharged-cost', 10 * SECOND_MS, () => limitUnchargedCost(unchargedCost)),
    one('payments', 30 * SECOND_MS, () => logged(reconcilePayments(payments), 'payments reconciled')),
    one('auto-top-ups', 5 * SECOND_MS, () => logged(runAutoTopUps(payments), 'automatic top-ups made')),
    one('payment-returns', MINUTE_MS, readReturns, {
      ...{ ...STOPS_SOON, ...returnsDue, firstAfterMs: MINUTE_MS },
    }),
    ...(await callPaymentJobs(parts)),
    every('redis-servers', 5 * SECOND_MS, checkServers),
    every('alarms', SECOND_MS, takeOverAlarms),
    every('quiet-alarms', MINUTE_MS, alarms.endQuiet, { firstAfterMs: MINUTE_MS }),
    every('alarm-retention', HOUR_MS, pruneAlarms, { firstAfterMs: HOUR_MS }),
    every('provider-hours', 5 * MINUTE_MS, rollUpHours, { firstAfterMs: 10 * SECOND_MS }),
    one(AUDIT_JOB, SECOND_MS, runAudits, { ...LONG, ...auditsDue }),
  ]
}

/** The row that a condition allows, from what it found. */
const when = <Found>(found: Found | false, row: (found: Found) => ScheduledJob): ScheduledJob[] =>
  found === false ? [] : [row(found)]

/** The jobs of the calls of one shard, with their locks there. */
function shardJobs(parts: ScheduleParts, { shard, settlement }: CallQueues): ScheduledJob[] {
  const { redis, postgres, queues, fleetClock: clock } = parts
  const maintain = createMaintenance({
    ...{ ...parts, shard, clock },
    findQueued: createFindQueuedCalls(queues.calls),
    balances: createBalanceStore(postgres),
    readEpoch: createEpochReader(redis, shard),
  })
  const sweepUnheardEnds = createUnacknowledgedEndsSweep({
    ...{ shard, redis: redis.shard(shard), postgres, clock },
    enqueueSettlements: enqueueSettlements.bind(null, settlement),
  })
  return [
    one('maintenance', 30 * SECOND_MS, maintain, { shard }),
    one('unheard-ends', 30 * SECOND_MS, sweepUnheardEnds, { shard }),
  ]
}

/** If x402 is configured: payments are settled in every process, and closed in one. */
async function callPaymentJobs(parts: ScheduleParts): Promise<ScheduledJob[]> {
  const { config, postgres, fleetClock: clock } = parts
  if (config.callPayment === null) return []
  const settleWaitMs = config.x402SettleWaitMs
  const facilitator = await createFacilitator(config.callPayment, settleWaitMs)
  const store = createCallPaymentStore(postgres)
  const deps = { ...parts, store, facilitator, settleWaitMs, clock }
  const settle = (stopping: AbortSignal) => settleDuePayments(deps, stopping)
  const close = (stopping: AbortSignal) => closeCallPayments(deps, stopping)
  return [
    every('call-payment-settlement', SECOND_MS, settle, { ...STOPS_SOON, firstAfterMs: SECOND_MS }),
    one('call-payments', 2 * SECOND_MS, close, { ...STOPS_SOON, isDue: store.hasOpen }),
  ]
}
