import type { QueueView } from '../../core/api/operations.ts'
import { withTimeout } from '../process/with-timeout.ts'
import type { Redis } from '../redis/redis.ts'
import type { JobQueue } from './queues.ts'

/** Every queue: those of the calls of each shard, and those of the fleet, which are with the first shard. */
export interface Queues {
  calls: ReadonlyArray<{ shard: number; dispatch: JobQueue; settlement: JobQueue }>
  events: JobQueue
  catalog: JobQueue
  mail: JobQueue
}

export interface QueueStats {
  /** By name, then by shard. */
  data: QueueView[]
  /** The shards whose queues could not be read. */
  shards_away: number[]
}

/** The order in which queues are listed. */
const NAMES = ['dispatch', 'settlement', 'events', 'catalog', 'mail'] as const

/** A settlement that waits longer is late: a batch takes a tenth of a second. */
const SETTLEMENT_LATE_MS = 5_000

/**
 * Length of each queue and age of its oldest job, or of its next by priority. Reads no job data. Leaves out the shards
 * that do not respond within `withinMs`; rejects if none does.
 */
export async function readQueues(
  redis: Redis,
  { calls, events, catalog, mail }: Queues,
  nowMs: number,
  withinMs: number,
): Promise<QueueStats> {
  let failure: unknown = new Error('redis did not respond in time')
  const note = (error: unknown) => {
    failure = error
  }
  const ofShards = await Promise.all(
    calls.map(({ shard, dispatch, settlement }) => {
      const ofCalls = { dispatch, settlement }
      const queues = Object.entries(shard === 0 ? { ...ofCalls, events, catalog, mail } : ofCalls)
      const read = queues.map(([name, queue]) =>
        readQueue(redis.shard(shard), { name: name as QueueView['name'], shard }, queue, nowMs),
      )
      return withTimeout<QueueView[] | null>(Promise.all(read), withinMs, null, note)
    }),
  )
  const data = ofShards.flatMap((views) => views ?? [])
  if (data.length === 0) throw failure
  return {
    data: NAMES.flatMap((name) => data.filter((queue) => queue.name === name)),
    shards_away: calls.map(({ shard }) => shard).filter((_, index) => ofShards[index] === null),
  }
}

async function readQueue(
  redis: Redis,
  id: Pick<QueueView, 'name' | 'shard'>,
  queue: JobQueue,
  nowMs: number,
): Promise<QueueView> {
  const [counts, next] = await Promise.all([
    queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed'),
    Promise.all([queue.getRanges(['waiting'], 0, 0, true), queue.getRanges(['prioritized'], 0, 0, true)]),
  ])
  const oldest = await Promise.all(next.flat().map((jobId) => redis.hget(queue.toKey(jobId), 'timestamp')))
  const since = oldest.filter((timestamp) => timestamp !== null).map(Number)
  return {
    ...id,
    waiting: (counts.waiting ?? 0) + (counts.prioritized ?? 0),
    active: counts.active ?? 0,
    delayed: counts.delayed ?? 0,
    failed: counts.failed ?? 0,
    oldest_waiting_ms: since.length === 0 ? null : Math.max(0, nowMs - Math.min(...since)),
  }
}

/** Whether the settlements of some shard wait too long. */
export const isSettlementBehind = (queues: readonly QueueView[]): boolean =>
  queues.some((queue) => queue.name === 'settlement' && (queue.oldest_waiting_ms ?? 0) > SETTLEMENT_LATE_MS)
