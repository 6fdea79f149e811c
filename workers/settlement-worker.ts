import { setTimeout as delay } from 'node:timers/promises'
import type { HoldStore } from '../src/billing/holds/hold-store.ts'
import type { BillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import type { SettlementStore } from '../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../src/core/calls/call-job.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { inSpan, queueAttributes, tracesAreOn } from '../src/platform/observability/tracing.ts'
import { slownessOf } from '../src/platform/postgres/postgres.ts'
import type { ClaimedJob, ClaimedJobs } from '../src/platform/queues/claimed-jobs.ts'
import { SETTLEMENT_QUEUE, type SettlementJob } from '../src/platform/queues/queues.ts'

export interface SettlementWorkerOptions {
  jobs: ClaimedJobs<SettlementJob>
  store: SettlementStore
  holds: HoldStore
  logger: Logger
  metrics: BillingMetrics
  /** Calls settled in one transaction at the most. */
  settlementBatchMax: number
  jobLockMs: number
}

type Batch = Array<ClaimedJob<SettlementJob>>

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000
/** Batches that are not full follow each other no faster than this, so that they are worth their transaction. */
const PACE_MS = 250
/** Jobs claimed by one script at the most. */
const CLAIMED_AT_ONCE = 64

/** A job that carries no list of records is taken for one malformed record: it is quarantined, and delays no other. */
const recordsIn = (data: SettlementJob): SettlementRecord[] =>
  Array.isArray(data?.records) ? data.records : [data as unknown as SettlementRecord]

const recordsOf = (jobs: Batch): SettlementRecord[] => jobs.flatMap((job) => recordsIn(job.data))

export type SettlementWorker = ReturnType<typeof startSettlementWorker>

/**
 * Settles finished calls in batches. Per batch: one PostgreSQL transaction, then the balance cache of each account,
 * then the jobs are completed. Every step can be repeated, so a crash between any two, or the same job at
 * two workers, changes nothing. A batch that cannot be settled (PostgreSQL or Redis away) is kept and tried
 * again for as long as it takes: a job never ends in `failed`, because a failed job is a lost charge. Starts
 * at once.
 */
export function startSettlementWorker(options: SettlementWorkerOptions) {
  const { jobs, logger, settlementBatchMax: batchMax } = options
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
    options.metrics.quarantinedCalls.inc(quarantined.length)
    options.metrics.creditedCalls.inc(credited.length)
    for (const { callId, accountId, creditPico } of credited)
      logger.warn(
        { alarm: 'charge-credited', accountId, callId, creditPico: String(creditPico) },
        'a charge was credited: the caller had been told that the call failed',
      )
    for (const call of quarantined)
      logger.error(
        { alarm: 'settlement-quarantined', ...call },
        'a settlement was refused and is quarantined',
      )
  }

  /** Calls in the next transaction: fewer after one that was too slow, and more again with each that was not. */
  let atOnce = batchMax

  /**
   * Settles records and takes them out of `left`. A transaction that the database gave up as too slow is tried again with
   * half as many calls. The calls of an account whose row somebody else keeps locked wait, and no others with them: they
   * stay in `left`.
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

  /** True once settled; false when stopped while it cannot be. */
  const settleUntilDone = async (batch: Batch): Promise<boolean> => {
    const left = new Set(recordsOf(batch))
    for (let waitMs = RETRY_MIN_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MAX_MS)) {
      try {
        await settleLeft(left)
        if (left.size > 0) throw new Error(`the accounts of ${left.size} calls are locked`)
        if (waitMs > RETRY_MIN_MS) logger.info({ alarmsOver: ['settlement-waits'] }, 'settlement resumed')
        return true
      } catch (error) {
        if (waitMs === RETRY_MIN_MS)
          logger.error(
            { alarm: 'settlement-waits', err: error, jobs: batch.length },
            'settlement blocked, retrying',
          )
        if (stopping.signal.aborted) return false
        await pause(waitMs)
      }
    }
  }

  /** What waits, until it is a batch. */
  const claimBatch = async (): Promise<Batch> => {
    const batch: Batch = []
    for (let isMore = true; isMore && recordsOf(batch).length < batchMax; ) {
      const some = await jobs.claim(CLAIMED_AT_ONCE)
      batch.push(...some)
      isMore = some.length === CLAIMED_AT_ONCE
    }
    return batch
  }

  const settleClaimed = async (batch: Batch): Promise<void> => {
    const ids = batch.map(({ id }) => id)
    const renewal = setInterval(() => {
      jobs.extendLocks(ids).catch((error: unknown) => {
        logger.warn({ err: error, jobs: ids.length }, 'job locks could not be renewed')
      })
    }, options.jobLockMs / 3)
    try {
      if (await settleUntilDone(batch)) {
        // Another worker has those by now. What was done to them is idempotent.
        const kept = await jobs.complete(ids)
        if (kept.length > 0) logger.warn({ jobs: kept.length }, 'settled jobs could not be completed')
      } else {
        await Promise.all(ids.map((id) => jobs.handBack(id)))
      }
    } finally {
      clearInterval(renewal)
    }
  }

  const run = async (): Promise<void> => {
    await jobs.start()
    let isDrained = false
    let pace: Promise<void> = Promise.resolve()
    while (!stopping.signal.aborted) {
      try {
        if (isDrained) {
          await jobs.wait()
          await pace
          if (stopping.signal.aborted) return
        }
        const batch = await claimBatch()
        isDrained = recordsOf(batch).length < batchMax
        if (batch.length === 0) continue
        pace = pause(PACE_MS)
        await settleClaimed(batch)
      } catch (error) {
        if (stopping.signal.aborted) return
        // What was claimed is claimed again when its locks end.
        logger.warn({ err: error }, 'settlement queue cannot be reached')
        await pause(RETRY_MIN_MS)
      }
    }
  }

  const running = run()
  return {
    /** Finishes the running batch, or hands it back when it cannot be settled right now, and closes. */
    async stop(): Promise<void> {
      stopping.abort()
      jobs.stopWaiting()
      await running
      await jobs.close()
    },
  }
}

/** A batch links to this many of its calls' traces at the most. */
const MAX_LINKS = 128

/** The settling of a batch, linked to the traces of its calls. */
function inSettlementSpan<T>(records: readonly SettlementRecord[], run: () => Promise<T>): Promise<T> {
  if (!tracesAreOn()) return run()
  const links = records.flatMap((record) => record?.traceparent ?? []).slice(0, MAX_LINKS)
  const attributes = {
    ...queueAttributes(SETTLEMENT_QUEUE, 'process'),
    'messaging.batch.message_count': records.length,
  }
  return inSpan(`process ${SETTLEMENT_QUEUE}`, { kind: 'CONSUMER', attributes, links }, run)
}
