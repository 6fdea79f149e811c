import type { Logger } from 'pino'
import { pollEvery } from '../process/poll-every.ts'
import type { Redis } from '../redis/redis.ts'
import { queuePrefix, shardSubject } from '../redis/redis-keys.ts'
import { SETTLEMENT_QUEUE } from './queues.ts'

/** Updated by finish-calls.lua and complete-jobs.lua. */
export const settlementBytesKey = (shard: number): string => `${queuePrefix(shard)}:${SETTLEMENT_QUEUE}:bytes`

const LOOK_MS = 1_000
/** Share of Redis's memory for the backlog; holds, rates and running calls need the rest. */
const MEMORY_SHARE = 0.5
/** After the backlog was full, calls are accepted again below this part of its bound. */
const RESUME_SHARE = 0.9

/**
 * Measures every second how much of Redis's memory the unsettled calls of a shard use while PostgreSQL is away. Beyond a
 * bound, new calls are refused, before Redis refuses all writes. The bound of all shards together is `maxBytes`, or half
 * of Redis's `maxmemory` if that is less; each has an equal part, wherever it is.
 */
export function watchSettlementBacklog(options: {
  redis: Pick<Redis, 'get' | 'info' | 'shards'>
  shard: number
  maxBytes: number
  logger: Logger
  lookMs?: number
}) {
  const { redis, shard, maxBytes, logger, lookMs = LOOK_MS } = options
  let isFull = false
  let bound: number | null = null
  const look = async () => {
    bound ??= Math.min(maxBytes, MEMORY_SHARE * memoryOf(await redis.info('memory'))) / redis.shards
    const bytes = Number((await redis.get(settlementBytesKey(shard))) ?? 0)
    if (isFull ? bytes > RESUME_SHARE * bound : bytes < bound) return
    isFull = !isFull
    const seen = { ...shardSubject(shard, redis), bytes, maxBytes: bound }
    if (isFull) logger.error({ alarm: 'settlement-backlog-full', ...seen }, FULL)
    else
      logger.info(
        { alarmsOver: ['settlement-backlog-full'], ...seen },
        'settlement backlog below its bound, accepting calls',
      )
  }
  const stop = pollEvery(
    lookMs,
    look,
    (error) => logger.warn({ err: error }, 'settlement backlog read failed'),
    { firstAfterMs: 0 },
  )
  return {
    /** Whether to refuse new calls. */
    isFull: () => isFull,
    stop,
  }
}

const FULL = 'settlement backlog full, refusing calls'

/** `maxmemory` of `INFO memory`; 0 means no limit. */
function memoryOf(info: string): number {
  const bytes = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0)
  return bytes === 0 ? Number.POSITIVE_INFINITY : bytes
}
