import type { Logger } from '../observability/logger.ts'
import type { Redis } from './redis.ts'

const MB = 1024 * 1024
/** Output buffer limits of Redis for a slow subscriber; the soft one applies after a minute. */
const HARD_BYTES = 256 * MB
const SOFT_BYTES = 128 * MB
const SOFT_SECONDS = 60

const SETTING = 'client-output-buffer-limit'

/**
 * Raises Redis's output buffer limit for subscribers, so that an API instance can fall behind for half a minute without
 * losing its streams; the default of 32 MB is reached within a second under load. Repeated on every reconnect, because
 * a restarted Redis has its own settings. Logs a warning if the setting may not be changed.
 */
export async function keepSubscriberLimit(redis: Redis, logger: Logger): Promise<void> {
  const raise = () =>
    raiseSubscriberLimit(redis).catch((error: unknown) => {
      logger.warn(
        { err: error },
        `redis refuses to change its subscriber limit; start it with ${SETTING} "pubsub 256mb 128mb 60"`,
      )
    })
  redis.on('ready', () => void raise())
  await raise()
}

async function raiseSubscriberLimit(redis: Redis): Promise<void> {
  const [, limits = ''] = (await redis.config('GET', SETTING)) as string[]
  const [, hard, soft, seconds] = (/pubsub (\d+) (\d+) (\d+)/.exec(limits) ?? []).map(Number)
  // 0: no limit.
  const isHardEnough = hard === 0 || hard! >= HARD_BYTES
  const isSoftEnough = soft === 0 || (soft! >= SOFT_BYTES && seconds! >= SOFT_SECONDS)
  if (isHardEnough && isSoftEnough) return
  await redis.config('SET', SETTING, `pubsub ${HARD_BYTES} ${SOFT_BYTES} ${SOFT_SECONDS}`)
}
