import { Worker } from 'bullmq'
import type { Counter } from 'prom-client'
import type { Logger } from '../src/platform/observability/logger.ts'
import { EVENTS_QUEUE, type EventJob } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { QUEUE_PREFIX } from '../src/platform/redis/redis-keys.ts'
import { type DeliverEventDependencies, deliverEvent } from './events/deliver-event.ts'

export interface EventsWorkerOptions extends DeliverEventDependencies {
  /** A client in mode `wait`. BullMQ makes a second connection of it for blocking. The caller closes it. */
  redis: Redis
  concurrency: number
  jobLockMs: number
  logger: Logger
  /** Counts attempts by `outcome`. */
  attempts: Counter
}

/** A worker that died may have swallowed the queue's wake-up, so an idle one looks for itself this often. */
const IDLE_LOOK_SECONDS = 5

/**
 * Makes the deliveries that the queue hands it. A job is one attempt and ends with it: PostgreSQL says when the next is
 * due. A job that fails because PostgreSQL is away, or is lost, comes again when its lease ends. Its `stop` lets running
 * attempts finish, which their deadline bounds.
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
      prefix: QUEUE_PREFIX,
      concurrency: options.concurrency,
      lockDuration: options.jobLockMs,
      stalledInterval: options.jobLockMs,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: IDLE_LOOK_SECONDS,
    },
  )
  worker.on('error', (error) => logger.error({ err: error, queue: EVENTS_QUEUE }, 'queue error'))
  worker.on('failed', (job, error) =>
    logger.error({ err: error, deliveryId: job?.data.deliveryId }, 'a webhook delivery comes again'),
  )
  return { stop: () => worker.close() }
}
