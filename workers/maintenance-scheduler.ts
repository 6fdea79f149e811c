import { type DriftCheckDependencies, repairDrift } from '../src/billing/audit/drift-check.ts'
import { type HoldSweepDependencies, sweepHolds } from '../src/billing/holds/hold-sweep.ts'
import type { BillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import {
  type CallJobs,
  createFindQueuedCalls,
  type FindQueuedCalls,
} from '../src/platform/queues/call-jobs.ts'
import type { SettlementQueue } from '../src/platform/queues/queues.ts'
import { type FleetJob, runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import type { ReadEpoch } from '../src/platform/redis/redis-epoch.ts'

export interface MaintenanceOptions
  extends Omit<HoldSweepDependencies, 'findQueued'>,
    DriftCheckDependencies {
  callJobs: Pick<CallJobs, 'exists' | 'settledBy'>
  settlementQueue: SettlementQueue
  metrics: BillingMetrics
  /** Tells how old Redis's data is; nothing is swept while it is young. Absent: it is old enough. */
  readEpoch?: ReadEpoch
  /** Credits ends that API instances which are gone have not acknowledged. */
  creditUnheardEnds?: () => Promise<unknown>
  /** Deletes what PostgreSQL keeps for a while only. */
  prune?: (stopping?: AbortSignal) => Promise<void>
  clock: () => number
}

export interface MaintenanceReport {
  accounts: number
  lostCalls: number
  driftedBalances: number
  openHolds: number
}

const EVERY_MS = 30_000
/** Workers have resynced their calls and settlements by then, also many of them. */
const YOUNG_MS = 60_000
const ACCOUNTS_AT_ONCE = 100

/** Runs maintenance every half minute, on one process of the fleet. */
export function startMaintenanceScheduler(options: MaintenanceOptions & { redis: Redis }): FleetJob {
  const { redis, logger } = options
  return runOnOneProcess({
    redis,
    name: 'maintenance',
    everyMs: EVERY_MS,
    run: async (stopping) => logger.debug(await runMaintenance(options, stopping), 'maintenance done'),
    onFailure: (error) => logger.error({ err: error }, 'maintenance failed; it runs again'),
  })
}

/**
 * Sweeps expired holds and compares the balance cache of every account that Redis has with the ledger. Both repair what
 * they find and report it. Can be repeated, and can run beside live traffic and other runs.
 */
export async function runMaintenance(
  options: MaintenanceOptions,
  stopping?: AbortSignal,
): Promise<MaintenanceReport> {
  const report: MaintenanceReport = { accounts: 0, lostCalls: 0, driftedBalances: 0, openHolds: 0 }
  const accountIds = await options.holds.accounts()
  report.lostCalls = await sweepHolds(accountIds, options.clock(), {
    ...options,
    findQueued: findQueuedBy(options),
  })
  options.metrics.lostCalls.inc(report.lostCalls)
  for (let start = 0; start < accountIds.length && !stopping?.aborted; start += ACCOUNTS_AT_ONCE) {
    const some = accountIds.slice(start, start + ACCOUNTS_AT_ONCE)
    const { drifted, openHolds } = await repairDrift(some, options)
    options.metrics.driftedBalances.inc(drifted)
    report.accounts += some.length
    report.driftedBalances += drifted
    report.openHolds += openHolds
  }
  if (stopping?.aborted) return report
  options.metrics.openHolds.set(report.openHolds)
  await options.creditUnheardEnds?.()
  await options.prune?.(stopping)
  return report
}

/** A hold may be back before the job it belongs to. Asked afterwards: the data may be lost while we look. */
function findQueuedBy({ callJobs, settlementQueue, readEpoch }: MaintenanceOptions): FindQueuedCalls {
  const findInQueues = createFindQueuedCalls(callJobs, settlementQueue)
  return async (callIds) => {
    const queued = await findInQueues(callIds)
    const isYoung = readEpoch && (await readEpoch()).ageMs < YOUNG_MS
    return isYoung ? new Set(callIds) : queued
  }
}
