import { DAY_MS } from '../src/core/kernel/time.ts'
import type { AlarmStore } from '../src/operations/alarm-store.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import type { Redis } from '../src/platform/redis/redis.ts'

const EVERY_MS = 1_000
const BATCH_MAX = 500
const PRUNE_EVERY_MS = 3_600_000
/** Acknowledged alarms are kept for this long. */
const KEPT_MS = 90 * DAY_MS

/** Moves the fleet's alarms from Redis to PostgreSQL. Returns how to stop. */
export function startAlarmScheduler(options: {
  redis: Redis
  alarms: AlarmStore
  logger: Logger
  clock: () => number
}): () => Promise<void> {
  const { redis, alarms, logger, clock } = options
  let pruneAt = clock() + PRUNE_EVERY_MS
  return pollEvery(
    EVERY_MS,
    async () => {
      while ((await alarms.takeOver(redis, BATCH_MAX)) === BATCH_MAX);
      if (clock() < pruneAt) return
      pruneAt = clock() + PRUNE_EVERY_MS
      await alarms.prune(new Date(clock() - KEPT_MS))
    },
    (error) => logger.warn({ err: error }, 'could not persist alarms'),
  )
}
