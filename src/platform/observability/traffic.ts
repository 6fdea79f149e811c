import { MINUTE_MS } from '../../core/kernel/time.ts'
import type { Redis } from '../redis/redis.ts'
import { trafficKey } from '../redis/redis-keys.ts'
import { addCounts, minuteOf, type TrafficCounts, trafficField } from './traffic-counts.ts'

/** One hour of series, and a margin. */
const KEPT_SECONDS = 3_900
/** Seconds that could not be written are kept up to this number; older ones are dropped. */
const SECONDS_WAITING_MAX = 120

type Pipeline = ReturnType<Redis['pipeline']>

/** Creates the counters of one process, kept in memory until the next report. */
export function createTrafficCounter(clock: () => number) {
  /** By second, unix ms. */
  let waiting = new Map<number, TrafficCounts>()
  const add = (second: number, counts: Iterable<readonly [string, bigint]>) => {
    const known = waiting.get(second)
    if (known) return addCounts(known, counts)
    if (waiting.size >= SECONDS_WAITING_MAX) waiting.delete(waiting.keys().next().value as number)
    waiting.set(second, new Map(counts))
  }
  return {
    /** Adds to figures of this second; see traffic-counts.ts for their names. */
    add: (counts: Iterable<readonly [figure: string, count: bigint]>): void =>
      add(Math.floor(clock() / 1000) * 1000, counts),
    /** Adds the counts to the pipeline; call `done` with whether Redis has stored them. */
    flush(pipeline: Pipeline): { done(written: boolean): void } {
      const flushed = waiting
      waiting = new Map()
      for (const [second, counts] of flushed) {
        const key = trafficKey(minuteOf(second))
        for (const [figure, count] of counts)
          pipeline.hincrby(key, trafficField(second, figure), String(count))
        pipeline.expire(key, KEPT_SECONDS)
      }
      return {
        done(written) {
          if (!written) for (const [second, counts] of flushed) add(second, counts)
        },
      }
    },
  }
}

/** Reads the fleet's counts for the minutes that a period overlaps. Rejects while Redis is away. */
export async function readTraffic(
  redis: Redis,
  fromMs: number,
  toMs: number,
): Promise<Map<number, Record<string, string>>> {
  const first = minuteOf(fromMs)
  const length = Math.max(1, Math.ceil(toMs / MINUTE_MS) - first)
  const minutes = Array.from({ length }, (_, index) => first + index)
  const found = await redis.pipeline(minutes.map((minute) => ['hgetall', trafficKey(minute)])).exec()
  return new Map(
    minutes.map((minute, index) => {
      const [error, fields] = found?.[index] ?? [new Error('redis returned no response'), null]
      if (error) throw error
      return [minute, fields as Record<string, string>]
    }),
  )
}
