import { type CallJobs, createFindQueuedCalls, type FindQueuedCalls } from '../platform/queues/call-jobs.ts'
import type { SettlementQueue } from '../platform/queues/queues.ts'
import type { ReadEpoch } from '../platform/redis/redis-epoch.ts'
import { type DriftCheckDependencies, repairDrift } from './audit/drift-check.ts'
import { type HoldSweepDependencies, sweepHolds } from './holds/hold-sweep.ts'
import type { BillingMetrics } from './reports/billing-metrics.ts'

export interface MaintenanceOptions
  extends Omit<HoldSweepDependencies, 'findQueued'>,
    DriftCheckDependencies {
  callJobs: Pick<CallJobs, 'exists' | 'settledBy'>
  settlementQueue: SettlementQueue
  metrics: BillingMetrics
  /** The age of Redis's data; nothing is swept while it is young. Absent: it is old enough. */
  readEpoch?: ReadEpoch
  clock: () => number
}

export interface MaintenanceReport {
  accounts: number
  lostCalls: number
  driftedBalances: number
  openHolds: number
}

/** Workers have resynced all of their calls and settlements by then. */
const YOUNG_MS = 60_000
const ACCOUNTS_AT_ONCE = 100

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
  options.logger.debug(report, 'maintenance done')
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
