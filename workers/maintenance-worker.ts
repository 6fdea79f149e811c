import { randomUUID } from 'node:crypto'
import { type DriftCheckDependencies, repairDrift } from '../src/billing/audit/drift-check.ts'
import { type HoldSweepDependencies, sweepHolds } from '../src/billing/holds/hold-sweep.ts'
import type { BillingMetrics } from '../src/billing/reports/billing-metrics.ts'
import type { CallJobs } from '../src/platform/queues/call-jobs.ts'
import { createFindQueuedCalls, type FindQueuedCalls } from '../src/platform/queues/queued-calls.ts'
import type { SettlementQueue } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import type { ReadEpoch } from '../src/platform/redis/redis-epoch.ts'
import { lockKey } from '../src/platform/redis/redis-keys.ts'

/**
 * The keeper of the gate: every half minute one process of the fleet sweeps expired holds and compares every
 * account's gate with the ledger. Both repair what they find and report it. Everything it does can be
 * repeated and can run beside live traffic, so the lock only saves work.
 */
export interface Maintenance {
  stop(): Promise<void>
}

export interface MaintenanceOptions
  extends Omit<HoldSweepDependencies, 'findQueued'>,
    DriftCheckDependencies {
  redis: Redis
  callJobs: Pick<CallJobs, 'exists'>
  settlementQueue: SettlementQueue
  metrics: BillingMetrics
  /** Says how old Redis's data is; nothing is swept while it is young. Absent: it is old enough. */
  readEpoch?: ReadEpoch
  /** Deletes what PostgreSQL keeps for a while only. */
  prune?: () => Promise<void>
  clock: () => number
  everyMs?: number
}

export interface MaintenanceReport {
  accounts: number
  lostCalls: number
  driftedGates: number
  openHolds: number
}

const EVERY_MS = 30_000
const LOCK_MS = 120_000
/** Workers have restated their calls and settlements by then, also many of them. */
const YOUNG_MS = 60_000
const ACCOUNTS_AT_ONCE = 100

/** Deletes the lock if it is still ours. KEYS 1 lock; ARGV 1 token; returns the number of keys deleted. */
const RELEASE_LOCK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`

/** Starts maintenance: a first run at once, then one `everyMs` after the last ended. */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  const { everyMs = EVERY_MS, logger } = options
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const run = () => {
    running = runMaintenance(options, () => stopped)
      .then(
        (report) => {
          if (report) logger.debug(report, 'maintenance done')
        },
        (error: unknown) => logger.error({ err: error }, 'maintenance failed; it runs again'),
      )
      .finally(() => {
        if (!stopped) timer = setTimeout(run, everyMs)
      })
  }
  run()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}

/** One run over every account that Redis knows; null when another process is at it. Ends early when told to stop. */
export async function runMaintenance(
  options: MaintenanceOptions,
  isStopped: () => boolean = () => false,
): Promise<MaintenanceReport | null> {
  const { redis } = options
  const lock = lockKey('maintenance')
  const token = randomUUID()
  if ((await redis.set(lock, token, 'PX', LOCK_MS, 'NX')) === null) return null
  try {
    const report: MaintenanceReport = { accounts: 0, lostCalls: 0, driftedGates: 0, openHolds: 0 }
    const accountIds = await options.gate.accounts()
    report.lostCalls = await sweepHolds(accountIds, options.clock(), {
      ...options,
      findQueued: findQueuedBy(options),
    })
    options.metrics.lostCalls.inc(report.lostCalls)
    for (let start = 0; start < accountIds.length && !isStopped(); start += ACCOUNTS_AT_ONCE) {
      const some = accountIds.slice(start, start + ACCOUNTS_AT_ONCE)
      const { drifted, openHolds } = await repairDrift(some, options)
      options.metrics.driftedGates.inc(drifted)
      report.accounts += some.length
      report.driftedGates += drifted
      report.openHolds += openHolds
    }
    if (isStopped()) return report
    options.metrics.openHolds.set(report.openHolds)
    await options.prune?.()
    return report
  } finally {
    await redis.eval(RELEASE_LOCK, 1, lock, token)
  }
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
