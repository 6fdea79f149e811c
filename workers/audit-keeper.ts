import { setTimeout as delay } from 'node:timers/promises'
import type { AuditReport } from '../src/billing/audit/audit-books.ts'
import type { AuditRunStore, NewAuditRun } from '../src/billing/audit/audit-run-store.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import { inOneProcess } from '../src/platform/redis/fleet-lock.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { AUDIT_ASKED, AUDIT_JOB } from '../src/platform/redis/redis-keys.ts'

export interface AuditKeeperOptions {
  redis: Redis
  audit: () => Promise<AuditReport>
  runs: AuditRunStore
  /** Between two scheduled audits of the fleet; 0: only when an operator asks. */
  everyMs: number
  logger: Logger
  clock: () => number
}

/** Audits the books now and then and when an operator asks, in one process of the fleet at a time. */
export interface AuditKeeper {
  /** Gives a running audit a moment; one that takes longer is cut off and kept nowhere. */
  stop(): Promise<void>
}

const LOOK_MS = 1_000
const TRY_AGAIN_MS = 60_000
const KEPT_MS = 30 * 86_400_000
const STOP_WITHIN_MS = 2_000

/** The first scheduled run comes `everyMs` after the start, or after the last of any process. */
export function startAuditKeeper(options: AuditKeeperOptions): AuditKeeper {
  const { redis, runs, everyMs, logger, clock } = options
  let nextAt = clock() + everyMs
  let running: Promise<void> = Promise.resolve()

  const runOnce = async (cause: NewAuditRun['cause']): Promise<void> => {
    const at = new Date(clock())
    try {
      const report = await options.audit()
      await runs.record({ at, durationMs: clock() - at.getTime(), cause, report })
      await runs.prune(new Date(clock() - KEPT_MS))
      nextAt = clock() + everyMs
      if (report.ok) return logger.info({ cause }, 'the books are in order')
      const [first] = report.checks.filter((check) => check.broken > 0)
      logger.error(
        { alarm: 'audit-failed', broken: report.broken, check: first?.name },
        'an audit found discrepancies',
      )
    } catch (error) {
      nextAt = clock() + Math.min(everyMs, TRY_AGAIN_MS)
      logger.error({ alarm: 'audit-not-run', err: error }, 'the books could not be audited')
    }
  }

  /** Another process may have run since. */
  const isDue = async (): Promise<boolean> => {
    if (everyMs === 0 || clock() < nextAt) return false
    const latest = await runs.latest()
    nextAt = Math.max(nextAt, (latest?.at.getTime() ?? 0) + everyMs)
    return clock() >= nextAt
  }

  const look = async (): Promise<void> => {
    const isAsked = (await redis.exists(AUDIT_ASKED)) === 1
    if (!isAsked && !(await isDue())) return
    await inOneProcess(redis, AUDIT_JOB, async () => {
      // Whoever asks from here on gets another run: this one may have looked already.
      const asked = (await redis.del(AUDIT_ASKED)) === 1
      if (asked || (await isDue())) await runOnce(asked ? 'operator' : 'schedule')
    })
  }
  const stopLooking = pollEvery(
    LOOK_MS,
    () => {
      running = look()
      return running
    },
    (error) => logger.warn({ err: error }, 'nobody can be asked whether an audit is due'),
  )
  return {
    async stop() {
      stopLooking()
      await Promise.race([running.catch(() => undefined), delay(STOP_WITHIN_MS, undefined, { ref: false })])
    },
  }
}
