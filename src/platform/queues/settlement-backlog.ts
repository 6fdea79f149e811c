import type { Logger } from 'pino'
import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from '../redis/redis.ts'
import { QUEUE_PREFIX } from '../redis/redis-keys.ts'
import { SETTLEMENT_QUEUE } from './queues.ts'

/** Kept by finish-calls.lua and complete-jobs.lua. */
export const SETTLEMENT_BYTES = `${QUEUE_PREFIX}:${SETTLEMENT_QUEUE}:bytes`

const LOOK_MS = 1_000
/** Of the memory that Redis may use; holds, rates and calls that run need the rest. */
const MEMORY_SHARE = 0.5
/** Once full, it takes calls again below this part of its bound. */
const RESUME_SHARE = 0.9

/**
 * Looks every second how much of Redis the calls take that wait to be settled, while PostgreSQL is away: beyond a bound
 * new calls have to be refused, before Redis refuses all writes. The bound is `maxBytes`, or half of Redis's `maxmemory`
 * if that is less.
 */
export function watchSettlementBacklog(options: {
  redis: Pick<Redis, 'get' | 'info'>
  maxBytes: number
  logger: Logger
  lookMs?: number
}) {
  const { redis, maxBytes, logger, lookMs = LOOK_MS } = options
  let isFull = false
  let bound: number | null = null
  const look = async () => {
    bound ??= Math.min(maxBytes, MEMORY_SHARE * memoryOf(await redis.info('memory')))
    const bytes = Number((await redis.get(SETTLEMENT_BYTES)) ?? 0)
    if (isFull ? bytes > RESUME_SHARE * bound : bytes < bound) return
    isFull = !isFull
    const seen = { bytes, maxBytes: bound }
    if (isFull) logger.error({ alarm: 'settlement-backlog-full', ...seen }, FULL)
    else logger.info({ alarmsOver: ['settlement-backlog-full'], ...seen }, 'calls are taken again')
  }
  const stop = pollEvery(
    lookMs,
    look,
    (error) => logger.warn({ err: error }, 'the settlement backlog could not be read'),
    { firstAfterMs: 0 },
  )
  return {
    /** Whether new calls are to be refused. */
    isFull: () => isFull,
    stop,
  }
}

const FULL = 'too many calls wait to be settled; new calls are refused'

/** `maxmemory` in what `INFO memory` says; 0 there is no bound. */
function memoryOf(info: string): number {
  const bytes = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0)
  return bytes === 0 ? Number.POSITIVE_INFINITY : bytes
}
