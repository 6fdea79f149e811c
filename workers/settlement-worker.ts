import { setTimeout as delay } from 'node:timers/promises'
import type { HoldStore } from '../src/billing/holds/hold-store.ts'
import type { BillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import type { SettlementStore } from '../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../src/core/calls/call-job.ts'
import { causeOf, type Logger } from '../src/platform/observability/logger.ts'
import { inSpan, queueAttributes, tracesAreOn } from '../src/platform/observability/tracing.ts'
import type { WorkCounts } from '../src/platform/observability/traffic-counts.ts'
import { slownessOf } from '../src/platform/postgres/postgres.ts'
import type { ClaimedJob, ClaimedJobs } from '../src/platform/queues/claimed-jobs.ts'
import { SETTLEMENT_QUEUE, type SettlementJob } from '../src/platform/queues/queues.ts'

export interface SettlementWorkerOptions {
  jobs: ClaimedJobs<SettlementJob>
  store: SettlementStore
  holds: HoldStore
  logger: Logger
  metrics: BillingMetrics
  /** Counts settled calls for the operators' overview. */
  report: Pick<WorkCounts, 'finished'>
  /** Maximum calls settled in one transaction. */
  settlementBatchMax: number
  jobLockMs: number
  /** Names the shard in the alarm that its settlements wait. Absent: there is one. */
  about?: { subject?: string }
  /**
   * Runs the worker while it is one of the few that settle; the signal aborts when it no longer is. A run that rejects
   * could not settle, and others should. Absent: always.
   */
  elected?: (settle: (over: AbortSignal) => Promise<void>) => { stop(): Promise<void> }
}

type Batch = Array<ClaimedJob<SettlementJob>>

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000
/** An elected worker that fails for this long gives its jobs and its place to others, who may reach what it does not. */
const GIVE_UP_AFTER_MS = 5_000
/** Minimum interval between batches that are not full, so that each is worth its transaction. */
const PACE_MS = 250
/** Maximum jobs claimed by one script. */
const CLAIMED_AT_ONCE = 64

/** A job without a list of records counts as one malformed record: it is quarantined, and delays no other. */
const recordsIn = (data: SettlementJob): SettlementRecord[] =>
  Array.isArray(data?.records) ? data.records : [data as unknown as SettlementRecord]

const recordsOf = (jobs: Batch): SettlementRecord[] => jobs.flatMap((job) => recordsIn(job.data))

export type SettlementWorker = ReturnType<typeof startSettlementWorker>

/**
 * Settles finished calls in batches. For each batch: one PostgreSQL transaction, then the balance cache of each
 * account, then the completion of the jobs. Every step is idempotent, so a crash between any two, or the same job at
 * two workers, changes nothing. A batch that cannot be settled (PostgreSQL or Redis away) is retried indefinitely, by an
 * elected worker for some seconds, and then by others: a job never ends in `failed`, because a failed job is a lost charge.
 */
export function startSettlementWorker(options: SettlementWorkerOptions) {
  const { jobs, logger, settlementBatchMax: batchMax, about, elected = always } = options
  const isElected = options.elected !== undefined
  const stopping = new AbortController()
  const pause = (ms: number) => delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined)

  const settleRecords = async (records: SettlementRecord[]): Promise<void> => {
    const { accounts, quarantined, superseded, credited } = await inSettlementSpan(records, () =>
      options.store.settle(records),
    )
    await Promise.all(
      accounts.map(({ accountId, released, ...ledger }) => options.holds.apply(accountId, ledger, released)),
    )
    await Promise.all(superseded.map((call) => options.holds.forgetAllowances(call)))
    options.metrics.settledCalls.inc(records.length - quarantined.length)
    options.report.finished('settled', records.length - quarantined.length)
    options.metrics.quarantinedCalls.inc(quarantined.length)
    options.metrics.creditedCalls.inc(credited.length)
    for (const { callId, accountId, creditPico } of credited)
      logger.warn(
        { alarm: 'charge-credited', accountId, callId, creditPico: String(creditPico) },
        'charge credited after an error to the client',
      )
    for (const call of quarantined)
      logger.error({ alarm: 'settlement-quarantined', ...call }, 'settlement rejected and quarantined')
  }

  /** Calls in the next transaction: fewer after a slow one, and more again after each fast one. */
  let atOnce = batchMax

  /**
   * Settles records and removes them from `left`. A transaction that the database cancelled as too slow is retried with
   * half as many calls. Calls of an account whose row another session keeps locked stay in `left`, without delaying
   * others.
   */
  const settleLeft = async (left: Set<SettlementRecord>): Promise<void> => {
    const locked = new Set<string>()
    for (;;) {
      const next = [...left].filter((record) => !locked.has(String(record?.accountId))).slice(0, atOnce)
      if (next.length === 0) return
      try {
        await settleRecords(next)
        for (const record of next) left.delete(record)
        atOnce = Math.min(batchMax, atOnce * 2)
      } catch (error) {
        const slowness = slownessOf(error)
        if (slowness === null) throw error
        if (next.length > 1) atOnce = Math.ceil(next.length / 2)
        else if (slowness === 'locked') locked.add(String(next[0]?.accountId))
        else throw error
      }
    }
  }

  /** True once settled; false if stopped, or no longer elected, while it cannot be. Rejects if others should try. */
  const settleUntilDone = async (batch: Batch, isOver: () => boolean): Promise<boolean> => {
    const left = new Set(recordsOf(batch))
    const giveUpAt = isElected ? performance.now() + GIVE_UP_AFTER_MS : Number.POSITIVE_INFINITY
    for (let waitMs = RETRY_MIN_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MAX_MS)) {
      try {
        await settleLeft(left)
        if (left.size > 0) throw new AccountsLocked(left.size)
        if (waitMs > RETRY_MIN_MS)
          logger.info({ alarmsOver: ['settlement-waits'], ...about }, 'settlement resumed')
        return true
      } catch (error) {
        if (waitMs === RETRY_MIN_MS)
          logger.error(
            { alarm: 'settlement-waits', ...about, err: error, jobs: batch.length },
            'settlement blocked, retrying',
          )
        if (isOver()) return false
        // What PostgreSQL itself delays is the same for all.
        const isOwnFailure = slownessOf(error) === null && !(error instanceof AccountsLocked)
        if (isOwnFailure && performance.now() > giveUpAt) throw error
        await pause(waitMs)
      }
    }
  }

  /** Collects waiting jobs into a batch. */
  const claimBatch = async (): Promise<Batch> => {
    const batch: Batch = []
    for (let isMore = true; isMore && recordsOf(batch).length < batchMax; ) {
      const some = await jobs.claim(CLAIMED_AT_ONCE)
      batch.push(...some)
      isMore = some.length === CLAIMED_AT_ONCE
    }
    return batch
  }

  const settleClaimed = async (batch: Batch, isOver: () => boolean): Promise<void> => {
    const ids = batch.map(({ id }) => id)
    const renewal = setInterval(() => {
      jobs.extendLocks(ids).catch((error: unknown) => {
        logger.warn({ err: error, jobs: ids.length }, 'job locks not renewed')
      })
    }, options.jobLockMs / 3)
    let isSettled = false
    try {
      isSettled = await settleUntilDone(batch, isOver)
    } catch (error) {
      throw new CannotSettle(error)
    } finally {
      clearInterval(renewal)
      // Those that cannot be handed back are claimed again when their locks end.
      if (!isSettled) await Promise.allSettled(ids.map((id) => jobs.handBack(id)))
    }
    if (!isSettled) return
    // Another worker has these jobs by now; settling them twice is idempotent.
    const kept = await jobs.complete(ids)
    if (kept.length > 0) logger.warn({ jobs: kept.length }, 'settled jobs not completed')
  }

  const run = async (over: AbortSignal): Promise<void> => {
    const isOver = () => over.aborted || stopping.signal.aborted
    if (!isStarted) await jobs.start()
    isStarted = true
    let isDrained = false
    let pace: Promise<void> = Promise.resolve()
    while (!isOver()) {
      try {
        if (isDrained) {
          await jobs.wait()
          await pace
          if (isOver()) return
        }
        const batch = await claimBatch()
        isDrained = recordsOf(batch).length < batchMax
        if (batch.length === 0) continue
        pace = pause(PACE_MS)
        await settleClaimed(batch, isOver)
      } catch (error) {
        if (stopping.signal.aborted) return
        if (error instanceof CannotSettle) throw error
        // Claimed jobs are claimed again when their locks end.
        logger.warn({ err: error }, 'settlement queue unreachable')
        await pause(RETRY_MIN_MS)
      }
    }
  }

  let isStarted = false
  const running = elected(run)
  return {
    /** Finishes the running batch, or returns it to the queue if it cannot be settled right now, and closes. */
    async stop(): Promise<void> {
      stopping.abort()
      jobs.stopWaiting()
      await running.stop()
      await jobs.close()
    },
  }
}

/** PostgreSQL is reached, and other sessions have locked these accounts. */
class AccountsLocked extends Error {
  constructor(calls: number) {
    super(`the accounts of ${calls} calls are locked`)
  }
}

/** This worker could not settle what it had claimed, and gave it back. */
class CannotSettle extends Error {
  constructor(cause: unknown) {
    super(`cannot settle: ${causeOf(cause)}`, { cause })
  }
}

const always: NonNullable<SettlementWorkerOptions['elected']> = (settle) => {
  const settling = settle(new AbortController().signal)
  return { stop: () => settling }
}

/** Maximum links from a batch to its calls' traces. */
const MAX_LINKS = 128

/** Runs the settlement of a batch in a span that links to the traces of its calls. */
function inSettlementSpan<T>(records: readonly SettlementRecord[], run: () => Promise<T>): Promise<T> {
  if (!tracesAreOn()) return run()
  const links = records.flatMap((record) => record?.traceparent ?? []).slice(0, MAX_LINKS)
  const attributes = {
    ...queueAttributes(SETTLEMENT_QUEUE, 'process'),
    'messaging.batch.message_count': records.length,
  }
  return inSpan(`process ${SETTLEMENT_QUEUE}`, { kind: 'CONSUMER', attributes, links }, run)
}
