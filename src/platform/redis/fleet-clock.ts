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
/** A smaller difference is taken for none, so that time does not step back and forth by what a command takes. */
const TOLERATED_MS = 500
const ALARMING_MS = 5_000
/** A Redis is seldom replaced by one with another clock; waits that are older than so many are long over. */
const KEPT_STEPS = 8

/**
 * Tells the time by the fleet's clock, unix ms. Given when something was noted by it before, tells the time as if the
 * clock had not been put forward since: a Redis that is replaced by one whose clock is ahead cuts no wait short.
 */
export type FleetTime = (notedAt?: number) => number

/**
 * The time by Redis's clock, which every process of a fleet shares: what one process sets a deadline by, another
 * judges by. Hosts whose clocks are right see their own time.
 * Compares the clocks now, with each new connection, since it may be to another server, and repeatedly. Rejects when Redis
 * is away.
 */
export async function startFleetClock(options: FleetClockOptions) {
  const { redis, logger, clock = Date.now, pollMs = POLL_MS } = options
  let aheadMs = 0
  /** When the clock was put forward, by the clock as it was before, and by how much. */
  const steps: Array<{ at: number; byMs: number }> = []
  const compare = async () => {
    const askedAt = clock()
    const [seconds, microseconds] = await redis.time()
    const answeredAt = clock()
    // When it was read in between is not known: an answer that took long says too little.
    if (answeredAt - askedAt > TOLERATED_MS) return
    const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000
    const measuredMs = Math.round((askedAt + answeredAt) / 2 - redisMs)
    const nextMs = Math.abs(measuredMs) <= TOLERATED_MS ? 0 : measuredMs
    if (Math.abs(nextMs - aheadMs) <= TOLERATED_MS) return
    if (nextMs < aheadMs) steps.push({ at: clock() - aheadMs, byMs: aheadMs - nextMs })
    if (steps.length > KEPT_STEPS) steps.shift()
    aheadMs = nextMs
    if (Math.abs(aheadMs) < ALARMING_MS) return
    logger.warn({ alarm: 'clock-skew', aheadMs }, 'the clock of this host differs from that of redis')
  }
  await compare()
  steps.length = 0
  const onError = (error: unknown) => logger.warn({ err: error }, 'the clock of redis cannot be read')
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
