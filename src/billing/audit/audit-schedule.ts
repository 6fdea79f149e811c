import { DAY_MS } from '../../core/kernel/time.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { AUDIT_ASKED, AUDIT_FAILURES, AUDIT_RESTS_UNTIL } from '../../platform/redis/redis-keys.ts'
import type { AuditRunStore } from './audit-run-store.ts'
import { AuditBusyError } from './audit-turn.ts'
import type { AuditReach } from './ledger-audit.ts'
import type { AuditReport } from './run-audit.ts'

/** Between two scheduled audits of the fleet. */
export const AUDIT_EVERY_MS = 15 * 60_000
const TRY_AGAIN_MS = 60_000
/** An audit that keeps failing is tried again after 1, 2, 4 … minutes, at most after this. */
const TRY_AGAIN_MAX_MS = 6 * 3_600_000
/** Scheduled audits take no more than a quarter of the time: a slow one is followed by a rest of this many durations. */
const REST_DURATIONS = 3
const KEPT_MS = 30 * DAY_MS

/** From the end of an audit to the next scheduled one. `failures`: how many have failed in a row, 0 after a success. */
export function restAfter(run: { failures: number; durationMs: number }, everyMs: number): number {
  const againMs = Math.min(everyMs, TRY_AGAIN_MS) * 2 ** (run.failures - 1)
  return Math.max(
    run.failures === 0 ? everyMs : Math.min(againMs, TRY_AGAIN_MAX_MS),
    REST_DURATIONS * run.durationMs,
  )
}

/**
 * Audits the ledger on a schedule and when an operator asks. The first scheduled run comes `everyMs` after the start,
 * or after the last run of any process. Every process waits out the rest that follows a run of any process (see
 * restAfter), failed or not.
 */
export function createAuditSchedule(options: {
  redis: Redis
  audit: (reach: AuditReach) => Promise<AuditReport>
  runs: AuditRunStore
  /** Between two scheduled audits of the fleet. */
  everyMs: number
  logger: Logger
  clock: () => number
}) {
  const { redis, runs, everyMs, logger, clock } = options
  let nextAt = clock() + everyMs

  const runOnce = async (asked: string | null): Promise<void> => {
    const cause = asked === null ? 'schedule' : 'operator'
    const reach = asked === null ? 'scheduled' : asked === 'full' ? 'full' : 'new'
    const at = new Date(clock())
    const durationMs = () => clock() - at.getTime()
    let failures = 0
    try {
      const report = await options.audit(reach)
      await runs.record({ at, durationMs: durationMs(), cause, report })
      await runs.prune(new Date(clock() - KEPT_MS))
      await redis.del(AUDIT_FAILURES)
      logOutcome(report, cause)
    } catch (error) {
      if (error instanceof AuditBusyError) {
        logger.info({ cause }, 'ledger audit postponed, another one is running')
        nextAt = clock() + TRY_AGAIN_MS
        return
      }
      failures = await redis.incr(AUDIT_FAILURES)
      await redis.pexpire(AUDIT_FAILURES, 2 * TRY_AGAIN_MAX_MS)
      logger.error({ alarm: 'audit-not-run', err: error, failures }, 'ledger audit failed')
    }
    const restMs = restAfter({ failures, durationMs: durationMs() }, everyMs)
    nextAt = clock() + restMs
    if (restMs > 0) await redis.set(AUDIT_RESTS_UNTIL, nextAt, 'PX', restMs)
  }

  const logOutcome = (report: AuditReport, cause: string): void => {
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
    if (clock() < nextAt) return false
    const latest = await runs.latest()
    const restsUntil = Number((await redis.get(AUDIT_RESTS_UNTIL)) ?? 0)
    nextAt = Math.max(nextAt, (latest?.at.getTime() ?? 0) + everyMs, restsUntil)
    return clock() >= nextAt
  }

  return {
    isDue: async () => (await redis.exists(AUDIT_ASKED)) === 1 || (await isScheduled()),
    // The request is removed first: an operator who asks during a run gets another one.
    run: async () => runOnce(await redis.getdel(AUDIT_ASKED)),
  }
}
