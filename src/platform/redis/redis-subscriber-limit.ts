import type { Logger } from '../observability/logger.ts'
import type { Redis } from './redis.ts'

const MB = 1024 * 1024
/** What Redis keeps at most for a subscriber that reads slowly before it cuts it off; and for longer than a minute. */
const HARD_BYTES = 256 * MB
const SOFT_BYTES = 128 * MB
const SOFT_SECONDS = 60

const SETTING = 'client-output-buffer-limit'

/**
 * Raises Redis' limit for subscribers to what an API instance needs to fall behind for half a minute without losing
 * the streams it waits for; Redis' own default of 32 MB is reached within a second under load. Again whenever the
 * connection is back: a Redis that was restarted has its own settings. Where the setting may not be changed it warns.
 */
export async function keepSubscriberLimit(redis: Redis, logger: Logger): Promise<void> {
  const raise = () =>
    raiseSubscriberLimit(redis).catch((error: unknown) => {
      logger.warn(
        { err: error },
        `redis lets nobody change its limit for subscribers; start it with ${SETTING} "pubsub 256mb 128mb 60"`,
      )
    })
  redis.on('ready', () => void raise())
  await raise()
}

async function raiseSubscriberLimit(redis: Redis): Promise<void> {
  const [, limits = ''] = (await redis.config('GET', SETTING)) as string[]
  const [, hard, soft, seconds] = (/pubsub (\d+) (\d+) (\d+)/.exec(limits) ?? []).map(Number)
  // 0: none.
  const isHardEnough = hard === 0 || hard! >= HARD_BYTES
  const isSoftEnough = soft === 0 || (soft! >= SOFT_BYTES && seconds! >= SOFT_SECONDS)
  if (isHardEnough && isSoftEnough) return
  await redis.config('SET', SETTING, `pubsub ${HARD_BYTES} ${SOFT_BYTES} ${SOFT_SECONDS}`)
}
