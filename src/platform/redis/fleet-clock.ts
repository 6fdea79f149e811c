import type { Logger } from '../observability/logger.ts'
import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from './redis.ts'

export interface FleetClockOptions {
  redis: Pick<Redis, 'time'>
  logger: Logger
  clock?: () => number
  pollMs?: number
}

const POLL_MS = 5_000
/** A smaller difference is taken for none, so that time does not step back and forth by what a command takes. */
const TOLERATED_MS = 500
const ALARMING_MS = 5_000

/**
 * The time by Redis's clock, which every process of a fleet shares: what one process sets a deadline by, another
 * judges by. Hosts whose clocks are right see their own time.
 * Compares the clocks, now and repeatedly. Rejects when Redis is away.
 */
export async function startFleetClock(options: FleetClockOptions) {
  const { redis, logger, clock = Date.now, pollMs = POLL_MS } = options
  let aheadMs = 0
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
    aheadMs = nextMs
    if (Math.abs(aheadMs) < ALARMING_MS) return
    logger.warn({ alarm: 'clock-skew', aheadMs }, 'the clock of this host differs from that of redis')
  }
  await compare()
  const stop = pollEvery(pollMs, compare, (error) =>
    logger.warn({ err: error }, 'the clock of redis cannot be read'),
  )
  return { now: () => clock() - aheadMs, stop }
}
