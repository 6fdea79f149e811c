import type { EventEmitter } from 'node:events'
import type { Logger } from '../observability/logger.ts'
import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from './redis.ts'

export interface FleetClockOptions {
  redis: Pick<Redis, 'time'> & Pick<EventEmitter, 'on' | 'off'>
  logger: Logger
  clock?: () => number
  pollMs?: number
}

const POLL_MS = 5_000
/** Smaller differences are ignored, so that the time does not vary by the latency of a command. */
const TOLERATED_MS = 500
const ALARMING_MS = 5_000
/** Number of clock steps kept. A Redis is seldom replaced by one with another clock, and older waits are over. */
const KEPT_STEPS = 8

/**
 * Returns the time of the fleet's clock, unix ms. With `notedAt`, an earlier reading, it returns the time as if the
 * clock had not stepped forward since, so that a replacement Redis with a fast clock shortens no wait.
 */
export type FleetTime = (notedAt?: number) => number

/**
 * Follows Redis's clock, which all processes of a fleet share, so that one process can judge a deadline that another
 * set. A host whose clock is right sees its own time. Compares the clocks now, with each new connection (it may be to
 * another server) and repeatedly. Rejects when Redis is away.
 */
export async function startFleetClock(options: FleetClockOptions) {
  const { redis, logger, clock = Date.now, pollMs = POLL_MS } = options
  let aheadMs = 0
  /** The forward steps: the time before the step and its size. */
  const steps: Array<{ at: number; byMs: number }> = []
  const compare = async () => {
    const askedAt = clock()
    const [seconds, microseconds] = await redis.time()
    const answeredAt = clock()
    // The reading lies somewhere between request and response, so a slow response is too inaccurate.
    if (answeredAt - askedAt > TOLERATED_MS) return
    const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000
    const measuredMs = Math.round((askedAt + answeredAt) / 2 - redisMs)
    const nextMs = Math.abs(measuredMs) <= TOLERATED_MS ? 0 : measuredMs
    if (Math.abs(nextMs - aheadMs) <= TOLERATED_MS) return
    if (nextMs < aheadMs) steps.push({ at: clock() - aheadMs, byMs: aheadMs - nextMs })
    if (steps.length > KEPT_STEPS) steps.shift()
    aheadMs = nextMs
    if (Math.abs(aheadMs) < ALARMING_MS) return
    logger.warn({ alarm: 'clock-skew', aheadMs }, 'host clock differs from the clock of redis')
  }
  await compare()
  steps.length = 0
  const onError = (error: unknown) => logger.warn({ err: error }, 'redis clock read failed')
  const stopPolling = pollEvery(pollMs, compare, onError)
  const onReady = () => void compare().catch(onError)
  redis.on('ready', onReady)
  const now: FleetTime = (notedAt = Number.POSITIVE_INFINITY) =>
    steps.reduce((time, { at, byMs }) => (at >= notedAt ? time - byMs : time), clock() - aheadMs)
  return {
    now,
    stop() {
      stopPolling()
      redis.off('ready', onReady)
    },
  }
}
