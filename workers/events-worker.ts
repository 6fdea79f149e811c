import { Worker } from 'bullmq'
import type { Counter } from 'prom-client'
import type { Logger } from '../src/platform/observability/logger.ts'
import { EVENTS_QUEUE, type EventJob } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { queuePrefix } from '../src/platform/redis/redis-keys.ts'
import { type DeliverEventDependencies, deliverEvent } from './events/deliver-event.ts'

export interface EventsWorkerOptions extends DeliverEventDependencies {
  /** A client in mode `wait`. BullMQ opens a second connection of it for blocking. The caller closes it. */
  redis: Redis
  concurrency: number
  jobLockMs: number
  logger: Logger
  /** Counts attempts by `outcome`. */
  attempts: Counter
}

/** A dead worker may have consumed the queue's wake-up, so an idle worker checks this often. */
const IDLE_LOOK_SECONDS = 5

/**
 * Makes the deliveries of the queue. A job is one attempt; PostgreSQL has the time of the next. A job that fails
 * because PostgreSQL is away, or is lost, is repeated when its lease ends. `stop` waits for running attempts, which
 * have a deadline.
 */
export function startEventsWorker(options: EventsWorkerOptions) {
  const { logger, attempts } = options
  const worker = new Worker<EventJob>(
    EVENTS_QUEUE,
    async ({ data }) => {
      const next = await deliverEvent(data.deliveryId, options)
      if (next) attempts.inc({ outcome: next.kind })
    },
    {
      connection: options.redis,
      prefix: queuePrefix(0),
      concurrency: options.concurrency,
      lockDuration: options.jobLockMs,
      stalledInterval: options.jobLockMs,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: IDLE_LOOK_SECONDS,
    },
  )
  worker.on('error', (error) => logger.error({ err: error, queue: EVENTS_QUEUE }, 'queue error'))
  worker.on('failed', (job, error) =>
    logger.error({ err: error, deliveryId: job?.data.deliveryId }, 'webhook delivery failed, retrying'),
  )
  return { stop: () => worker.close() }
}
