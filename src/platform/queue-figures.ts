import type { QueueView } from '../core/operator-api.ts'
import type { DispatchQueue, EventsQueue, SettlementQueue } from './queues.ts'
import type { Redis } from './redis.ts'

export interface Queues {
  dispatch: DispatchQueue
  settlement: SettlementQueue
  events: EventsQueue
}

/** A charge that waits longer than this is late: a batch takes a tenth of a second. */
const SETTLEMENT_LATE_MS = 5_000

/** How full each queue is and how long its oldest job waits. Reads no job's data. Rejects while Redis is away. */
export async function readQueues(redis: Redis, queues: Queues, nowMs: number): Promise<QueueView[]> {
  const read = async (
    name: QueueView['name'],
    queue: DispatchQueue | SettlementQueue | EventsQueue,
  ): Promise<QueueView> => {
    const [counts, [oldest]] = await Promise.all([
      queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed'),
      queue.getRanges(['waiting'], 0, 0, true),
    ])
    const since = oldest === undefined ? null : await redis.hget(queue.toKey(oldest), 'timestamp')
    return {
      name,
      waiting: (counts.waiting ?? 0) + (counts.prioritized ?? 0),
      active: counts.active ?? 0,
      delayed: counts.delayed ?? 0,
      failed: counts.failed ?? 0,
      oldest_waiting_ms: since === null ? null : Math.max(0, nowMs - Number(since)),
    }
  }
  return Promise.all([
    read('dispatch', queues.dispatch),
    read('settlement', queues.settlement),
    read('events', queues.events),
  ])
}

/** Whether finished calls wait too long for their charge. */
export const isSettlementBehind = (queues: readonly QueueView[]): boolean =>
  queues.some((queue) => queue.name === 'settlement' && (queue.oldest_waiting_ms ?? 0) > SETTLEMENT_LATE_MS)
