import { DAY_MS } from '../src/core/kernel/time.ts'
import type { AlarmNoticeStore } from '../src/operations/alarm-notice-store.ts'
import type { AlarmStore } from '../src/operations/alarm-store.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import type { Redis } from '../src/platform/redis/redis.ts'

const EVERY_MS = 1_000
const BATCH_MAX = 500
const QUIET_EVERY_MS = 60_000
const PRUNE_EVERY_MS = 3_600_000
/** Alarms are kept for this long after they were acknowledged, or over. */
const KEPT_MS = 90 * DAY_MS

/** Moves the fleet's alarms from Redis to PostgreSQL, and resolves those that fell quiet. Returns how to stop. */
export function startAlarmScheduler(options: {
  redis: Redis
  alarms: AlarmStore
  notices: Pick<AlarmNoticeStore, 'prune'>
  logger: Logger
  clock: () => number
}): () => Promise<void> {
  const { redis, alarms, notices, logger, clock } = options
  let quietAt = clock() + QUIET_EVERY_MS
  let pruneAt = clock() + PRUNE_EVERY_MS
  return pollEvery(
    EVERY_MS,
    async () => {
      while ((await alarms.takeOver(redis, BATCH_MAX)) === BATCH_MAX);
      if (clock() >= quietAt) {
        quietAt = clock() + QUIET_EVERY_MS
        await alarms.endQuiet()
      }
      if (clock() < pruneAt) return
      pruneAt = clock() + PRUNE_EVERY_MS
      await alarms.prune(new Date(clock() - KEPT_MS))
      await notices.prune(new Date(clock() - KEPT_MS))
    },
    (error) => logger.warn({ err: error }, 'could not persist alarms'),
  )
}
