import { DAY_MS } from '../../core/kernel/time.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { AUDIT_ASKED, AUDIT_RESTS_UNTIL } from '../../platform/redis/redis-keys.ts'
import type { AuditRunStore, NewAuditRun } from './audit-run-store.ts'
import type { AuditReport } from './run-audit.ts'

const TRY_AGAIN_MS = 60_000
/** Scheduled audits take no more than a quarter of the time: a slow one is followed by a rest of this many durations. */
const REST_DURATIONS = 3
const KEPT_MS = 30 * DAY_MS

/** From the end of an audit to the next scheduled one. */
export function restAfter(run: { failed: boolean; durationMs: number }, everyMs: number): number {
  return Math.max(run.failed ? Math.min(everyMs, TRY_AGAIN_MS) : everyMs, REST_DURATIONS * run.durationMs)
}

/** When an audit is due, and how it is run. */
export interface AuditSchedule {
  isDue: () => Promise<boolean>
  run: () => Promise<void>
}

/**
 * Audits the ledger on a schedule and when an operator asks. The first scheduled run comes `everyMs` after the start,
 * or after the last run of any process. Every process waits out the rest that follows a run of any process (see
 * restAfter), failed or not.
 */
export function createAuditSchedule(options: {
  redis: Redis
  audit: () => Promise<AuditReport>
  runs: AuditRunStore
  /** Between two scheduled audits of the fleet; 0: only when an operator asks. */
  everyMs: number
  logger: Logger
  clock: () => number
}): AuditSchedule {
  const { redis, runs, everyMs, logger, clock } = options
  let nextAt = clock() + everyMs

  const runOnce = async (cause: NewAuditRun['cause']): Promise<void> => {
    const at = new Date(clock())
    const durationMs = () => clock() - at.getTime()
    let failed = true
    try {
      const report = await options.audit()
      await runs.record({ at, durationMs: durationMs(), cause, report })
      await runs.prune(new Date(clock() - KEPT_MS))
      failed = false
      logOutcome(report, cause)
    } catch (error) {
      logger.error({ alarm: 'audit-not-run', err: error }, 'ledger audit failed')
    }
    const restMs = restAfter({ failed, durationMs: durationMs() }, everyMs)
    nextAt = clock() + restMs
    if (restMs > 0) await redis.set(AUDIT_RESTS_UNTIL, nextAt, 'PX', restMs)
  }

  const logOutcome = (report: AuditReport, cause: NewAuditRun['cause']): void => {
    if (report.ok)
      return logger.info(
        { cause, alarmsOver: ['audit-failed', 'audit-not-run'] },
        'ledger audit found no discrepancy',
      )
    const [first] = report.checks.filter((check) => check.broken > 0)
    logger.error(
      { alarm: 'audit-failed', broken: report.broken, check: first?.name },
      'ledger audit found discrepancies',
    )
  }

  /** Another process may have audited since `nextAt` was set. */
  const isScheduled = async (): Promise<boolean> => {
    if (everyMs === 0 || clock() < nextAt) return false
    const latest = await runs.latest()
    const restsUntil = Number((await redis.get(AUDIT_RESTS_UNTIL)) ?? 0)
    nextAt = Math.max(nextAt, (latest?.at.getTime() ?? 0) + everyMs, restsUntil)
    return clock() >= nextAt
  }

  return {
    isDue: async () => (await redis.exists(AUDIT_ASKED)) === 1 || (await isScheduled()),
    // The request is removed first: an operator who asks during a run gets another one.
    run: async () => runOnce((await redis.del(AUDIT_ASKED)) === 1 ? 'operator' : 'schedule'),
  }
}
