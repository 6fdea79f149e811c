import type { AuditRunStore, NewAuditRun } from '../src/billing/audit/audit-run-store.ts'
import type { AuditReport } from '../src/billing/audit/run-audit.ts'
import { DAY_MS } from '../src/core/kernel/time.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { type FleetJob, runOnOneProcess } from '../src/platform/redis/fleet-job.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { AUDIT_ASKED, AUDIT_JOB, AUDIT_RESTS_UNTIL } from '../src/platform/redis/redis-keys.ts'

const LOOK_MS = 1_000
const TRY_AGAIN_MS = 60_000
/** Scheduled audits take no more than a quarter of the time: a slow one is followed by a rest of this many durations. */
const REST_DURATIONS = 3
const KEPT_MS = 30 * DAY_MS
/** An audit that takes longer to stop is cut off and recorded nowhere. */
const STOP_WITHIN_MS = 2_000

/** From the end of an audit to the next scheduled one. */
export function restAfter(run: { failed: boolean; durationMs: number }, everyMs: number): number {
  return Math.max(run.failed ? Math.min(everyMs, TRY_AGAIN_MS) : everyMs, REST_DURATIONS * run.durationMs)
}

/**
 * Audits the ledger on a schedule and when an operator asks. The first scheduled run comes `everyMs` after the start,
 * or after the last of any process. Every process keeps the rest that follows a run (see restAfter), whether it failed
 * or not and whoever ran it.
 */
export function startAuditScheduler(options: {
  redis: Redis
  audit: () => Promise<AuditReport>
  runs: AuditRunStore
  /** Between two scheduled audits of the fleet; 0: only when an operator asks. */
  everyMs: number
  logger: Logger
  clock: () => number
}): FleetJob {
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
      logger.error({ alarm: 'audit-not-run', err: error }, 'the ledger could not be audited')
    }
    const restMs = restAfter({ failed, durationMs: durationMs() }, everyMs)
    nextAt = clock() + restMs
    if (restMs > 0) await redis.set(AUDIT_RESTS_UNTIL, nextAt, 'PX', restMs)
  }

  const logOutcome = (report: AuditReport, cause: NewAuditRun['cause']): void => {
    if (report.ok)
      return logger.info(
        { cause, alarmsOver: ['audit-failed', 'audit-not-run'] },
        'the audit found no discrepancy',
      )
    const [first] = report.checks.filter((check) => check.broken > 0)
    logger.error(
      { alarm: 'audit-failed', broken: report.broken, check: first?.name },
      'an audit found discrepancies',
    )
  }

  /** Another process may have run since. */
  const isScheduled = async (): Promise<boolean> => {
    if (everyMs === 0 || clock() < nextAt) return false
    const latest = await runs.latest()
    const restsUntil = Number((await redis.get(AUDIT_RESTS_UNTIL)) ?? 0)
    nextAt = Math.max(nextAt, (latest?.at.getTime() ?? 0) + everyMs, restsUntil)
    return clock() >= nextAt
  }

  return runOnOneProcess({
    redis,
    name: AUDIT_JOB,
    everyMs: LOOK_MS,
    isDue: async () => (await redis.exists(AUDIT_ASKED)) === 1 || (await isScheduled()),
    // An operator who asks from here on gets another run: this one may have looked already.
    run: async () => runOnce((await redis.del(AUDIT_ASKED)) === 1 ? 'operator' : 'schedule'),
    onFailure: (error) => logger.warn({ err: error }, 'could not check whether an audit is due'),
    stopWithinMs: STOP_WITHIN_MS,
  })
}
