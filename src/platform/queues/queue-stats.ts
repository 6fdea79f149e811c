import type { QueueView } from '../../core/api/operations.ts'
import type { Redis } from '../redis/redis.ts'
import type { JobQueue } from './queues.ts'

/** All queues by name. */
export type Queues = Record<QueueView['name'], JobQueue>

/** A settlement that waits longer is late: a batch takes a tenth of a second. */
const SETTLEMENT_LATE_MS = 5_000

/**
 * Length of each queue and age of its oldest job, or of its next by priority. Reads no job data. Rejects while Redis is
 * away.
 */
export async function readQueues(redis: Redis, queues: Queues, nowMs: number): Promise<QueueView[]> {
  const read = async (name: QueueView['name'], queue: JobQueue): Promise<QueueView> => {
    const [counts, next] = await Promise.all([
      queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed'),
      Promise.all([queue.getRanges(['waiting'], 0, 0, true), queue.getRanges(['prioritized'], 0, 0, true)]),
    ])
    const oldest = await Promise.all(next.flat().map((id) => redis.hget(queue.toKey(id), 'timestamp')))
    const since = oldest.filter((timestamp) => timestamp !== null).map(Number)
    return {
      name,
      waiting: (counts.waiting ?? 0) + (counts.prioritized ?? 0),
      active: counts.active ?? 0,
      delayed: counts.delayed ?? 0,
      failed: counts.failed ?? 0,
      oldest_waiting_ms: since.length === 0 ? null : Math.max(0, nowMs - Math.min(...since)),
    }
  }
  return Promise.all([
    read('dispatch', queues.dispatch),
    read('settlement', queues.settlement),
    read('events', queues.events),
    read('catalog', queues.catalog),
    read('mail', queues.mail),
  ])
}

/** Whether settlements wait too long. */
export const isSettlementBehind = (queues: readonly QueueView[]): boolean =>
  queues.some((queue) => queue.name === 'settlement' && (queue.oldest_waiting_ms ?? 0) > SETTLEMENT_LATE_MS)
