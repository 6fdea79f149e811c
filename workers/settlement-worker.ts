import { setTimeout as delay } from 'node:timers/promises'
import type { HoldStore } from '../src/billing/holds/hold-store.ts'
import type { BillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import type { SettlementStore } from '../src/billing/settlement/settlement-store.ts'
import { inSettlementSpan } from '../src/calls/dispatch/call-telemetry.ts'
import type { SettlementRecord } from '../src/core/calls/call-job.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { SETTLEMENT_QUEUE, type SettlementJob } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { type BatchJob, type BatchWorker, createBatchWorker } from './batch-worker.ts'

/**
 * Settles finished calls in batches. Per batch: one PostgreSQL transaction, then the gate of each account,
 * then the jobs are completed. Every step can be repeated, so a crash between any two, or the same job at
 * two workers, changes nothing. A batch that cannot be settled (PostgreSQL or Redis away) is kept and tried
 * again for as long as it takes: a job never ends in `failed`, because a failed job is a lost charge.
 */
export interface SettlementWorker {
  /** Finishes the running batch, or hands it back when it cannot be settled right now, and closes. */
  stop(): Promise<void>
}

export interface SettlementWorkerOptions {
  /** A client in mode `wait`. BullMQ makes a second connection of it for blocking. */
  redis: Redis
  /** The settlement queue; over `redis` when absent. */
  batches?: BatchWorker<SettlementJob>
  store: SettlementStore
  gate: HoldStore
  logger: Logger
  metrics: BillingMetrics
  /** Calls settled in one transaction at the most. */
  settlementBatchMax: number
  jobLockMs: number
}

type Batch = Array<BatchJob<SettlementJob>>

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000
/** Batches that are not full follow each other no faster than this, so that they are worth their transaction. */
const PACE_MS = 100

/** A job that carries no list of records is taken for one malformed record: it is quarantined, and delays no other. */
const recordsIn = (data: SettlementJob): SettlementRecord[] =>
  Array.isArray(data?.records) ? data.records : [data as unknown as SettlementRecord]

const recordsOf = (jobs: Batch): SettlementRecord[] => jobs.flatMap((job) => recordsIn(job.data))

/** Starts settling at once. */
export function startSettlementWorker(options: SettlementWorkerOptions): SettlementWorker {
  const { redis, logger, settlementBatchMax: batchMax } = options
  const worker =
    options.batches ??
    createBatchWorker<SettlementJob>(SETTLEMENT_QUEUE, {
      redis,
      batchMax,
      sizeOf: (data) => recordsIn(data).length,
      lockMs: options.jobLockMs,
      logger,
    })
  const stopping = new AbortController()

  const settleRecords = async (records: SettlementRecord[]): Promise<void> => {
    const { accounts, quarantined, superseded } = await inSettlementSpan(records, () =>
      options.store.settle(records),
    )
    await Promise.all(
      accounts.map(({ accountId, released, ...ledger }) => options.gate.apply(accountId, ledger, released)),
    )
    await Promise.all(
      superseded.map(({ accountId, keyId, admittedAt }) =>
        options.gate.forgetAllowances(accountId, keyId, admittedAt),
      ),
    )
    options.metrics.settledCalls.inc(records.length - quarantined.length)
    options.metrics.quarantinedCalls.inc(quarantined.length)
    for (const call of quarantined)
      logger.error(
        { alarm: 'settlement-quarantined', ...call },
        'a settlement was refused and is quarantined',
      )
  }

  const settleBatch = async (jobs: Batch): Promise<void> => {
    const records = recordsOf(jobs)
    for (let start = 0; start < records.length; start += batchMax)
      await settleRecords(records.slice(start, start + batchMax))
  }

  /** True once settled; false when stopped while it cannot be. */
  const settleUntilDone = async (jobs: Batch): Promise<boolean> => {
    for (let waitMs = RETRY_MIN_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MAX_MS)) {
      try {
        await settleBatch(jobs)
        if (waitMs > RETRY_MIN_MS) logger.info('settlement resumed')
        return true
      } catch (error) {
        if (waitMs === RETRY_MIN_MS)
          logger.error(
            { alarm: 'settlement-waits', err: error, jobs: jobs.length },
            'settlement blocked, retrying',
          )
        if (stopping.signal.aborted) return false
        await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
    }
  }

  const run = async (): Promise<void> => {
    await worker.start()
    let next: Batch = []
    let pace: Promise<void> = Promise.resolve()
    while (!stopping.signal.aborted || next.length > 0) {
      let jobs = await worker.fill(next)
      if (jobs.length === 0) continue
      // Not full: nothing else waits, and what comes until the next beat joins the batch.
      if (recordsOf(jobs).length < batchMax) {
        await pace
        jobs = await worker.fill(jobs)
      }
      pace = delay(PACE_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
      const stopKeeping = worker.keepLocks(jobs)
      try {
        const settled = await settleUntilDone(jobs)
        next = settled
          ? await worker.complete(jobs, () => !stopping.signal.aborted)
          : await worker.handBack(jobs)
      } finally {
        stopKeeping()
      }
    }
  }

  const running = run()
  return {
    async stop() {
      stopping.abort()
      worker.wake()
      await running
      await worker.close()
    },
  }
}
