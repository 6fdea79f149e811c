import { MINUTE_MS } from '../core/kernel/time.ts'
import type { FindQueuedCalls } from '../platform/queues/call-jobs.ts'
import type { ReadEpoch } from '../platform/redis/redis-epoch.ts'
import { type Sharded, shardOf } from '../platform/redis/redis-keys.ts'
import { type DriftCheckDependencies, type DriftReport, repairDrift } from './audit/drift-check.ts'
import { type HoldSweepDependencies, sweepHolds } from './holds/hold-sweep.ts'
import type { BillingMetrics } from './reports/billing-metrics.ts'

export interface MaintenanceOptions extends HoldSweepDependencies, DriftCheckDependencies {
  /** Whose accounts it maintains. */
  shard: number
  redis: Sharded
  metrics: BillingMetrics
  /** The age of the shard's data; nothing is swept while it is young. Absent: it is old enough. */
  readEpoch?: ReadEpoch
  clock: () => number
}

export interface MaintenanceReport {
  /** Accounts whose balance cache was compared with the ledger. */
  accounts: number
  lostCalls: number
  driftedBalances: number
  openHolds: number
}

/** Workers have resynced all of their calls and settlements by then. */
const YOUNG_MS = MINUTE_MS
const ACCOUNTS_AT_ONCE = 100
/** An account is compared in each run until this long after its last change: PostgreSQL may lose its last commits. */
const IDLE_AFTER_MS = 3 * MINUTE_MS
/** Longer than a transaction that posts to the ledger takes. */
const POSTING_MS = 5 * MINUTE_MS
/** Accounts of the ledger whose version alone is compared, by one command. */
const VERSIONS_AT_ONCE = 1_000

/**
 * Creates the maintenance of a shard's balance caches. Each shard has its own, so that one whose server is away holds up no
 * other. A run sweeps holds, and compares balance caches with the ledger: those of
 * listed accounts (see HoldStore.accounts) and of accounts with a recent posting, and the versions of one page of all
 * accounts of the ledger. The first run, and one that finds that PostgreSQL lost commits, compares the versions of all. Repairs what
 * it finds and reports it. An account that is idle and equals the ledger leaves the list. A run can be repeated, and
 * can run beside live traffic and runs of other processes.
 */
export function createMaintenance(options: MaintenanceOptions) {
  const { shard, redis, holds, balances, metrics, logger, clock } = options
  const isOfShard = (accountId: string) => shardOf(accountId, redis) === shard
  /** Idle accounts, with their version and since when they are known to be idle, unix ms. */
  let idle = new Map<string, { version: bigint | null; sinceMs: number }>()
  /** The account that ended the last page of versions. */
  let lastCompared = ''
  let mustCompareAll = true
  let lastRunMs = clock()

  const repair = async (
    accountIds: readonly string[],
    report: MaintenanceReport,
    stopping?: AbortSignal,
  ): Promise<Pick<DriftReport, 'idle' | 'openHolds'>> => {
    const sum = { idle: new Map<string, bigint | null>(), openHolds: 0 }
    for (let start = 0; start < accountIds.length && !stopping?.aborted; start += ACCOUNTS_AT_ONCE) {
      const some = accountIds.slice(start, start + ACCOUNTS_AT_ONCE)
      const found = await repairDrift(some, options)
      for (const [accountId, version] of found.idle) sum.idle.set(accountId, version)
      sum.openHolds += found.openHolds
      metrics.driftedBalances.inc(found.drifted)
      report.accounts += some.length
      report.driftedBalances += found.drifted
      mustCompareAll ||= found.ledgerWentBack
    }
    return sum
  }

  const unlistIdle = async (found: Map<string, bigint | null>): Promise<void> => {
    const now = clock()
    const still: typeof idle = new Map()
    for (const [accountId, version] of found) {
      const before = idle.get(accountId)
      const sinceMs = before?.version === version ? before.sinceMs : now
      if (now - sinceMs >= IDLE_AFTER_MS) await holds.unlist(accountId, version)
      else still.set(accountId, { version, sinceMs })
    }
    idle = still
  }

  /** Compares the versions of the next page of accounts, or of all accounts. */
  const compareVersions = async (report: MaintenanceReport, stopping?: AbortSignal): Promise<void> => {
    if (mustCompareAll) lastCompared = ''
    const isAll = mustCompareAll
    do {
      const page = await balances.versions(lastCompared, VERSIONS_AT_ONCE)
      const ofShard = page.filter(({ id }) => isOfShard(id))
      const cached = await holds.versions(ofShard.map(({ id }) => id))
      const differing = ofShard.filter(({ id, version }) => (cached.get(id) ?? version) !== version)
      await repair(
        differing.map(({ id }) => id),
        report,
        stopping,
      )
      lastCompared = page.length < VERSIONS_AT_ONCE ? '' : page.at(-1)!.id
    } while (isAll && lastCompared !== '' && !stopping?.aborted)
    if (isAll && !stopping?.aborted) mustCompareAll = false
  }

  return async (stopping?: AbortSignal): Promise<MaintenanceReport> => {
    const report: MaintenanceReport = { accounts: 0, lostCalls: 0, driftedBalances: 0, openHolds: 0 }
    const startedMs = clock()
    const listed = await holds.accounts(shard)
    report.lostCalls = await sweepHolds(listed, startedMs, {
      ...options,
      findQueued: findQueuedBy(options),
    })
    metrics.lostCalls.inc(report.lostCalls)
    const { idle: idleNow, openHolds } = await repair(listed, report, stopping)
    report.openHolds = openHolds
    const posted = await balances.postedWithin(startedMs - lastRunMs + POSTING_MS)
    const known = new Set(listed)
    await repair(
      posted.filter((accountId) => isOfShard(accountId) && !known.has(accountId)),
      report,
      stopping,
    )
    await compareVersions(report, stopping)
    if (stopping?.aborted) return report
    await unlistIdle(idleNow)
    lastRunMs = startedMs
    metrics.openHolds.set({ shard }, report.openHolds)
    logger.debug(report, 'maintenance done')
    return report
  }
}

/** A hold may be back before the job it belongs to. Asked afterwards: the data may be lost while we look. */
function findQueuedBy({ findQueued, readEpoch }: MaintenanceOptions): FindQueuedCalls {
  return async (calls) => {
    const queued = await findQueued(calls)
    const isYoung = readEpoch && (await readEpoch()).ageMs < YOUNG_MS
    return isYoung ? new Set(calls.map(({ callId }) => callId)) : queued
  }
}
