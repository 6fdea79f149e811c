import { Counter, type Registry } from 'prom-client'
import type { Config } from '../../src/config.ts'
import { DAY_MS } from '../../src/core/kernel/time.ts'
import { RETRY_DELAYS_MS } from '../../src/core/operations/webhook-retry.ts'
import type { Connections } from '../../src/platform/connections.ts'
import type { Logger } from '../../src/platform/observability/logger.ts'
import type { Postgres } from '../../src/platform/postgres/postgres.ts'
import { createEventsQueue, enqueueDeliveries } from '../../src/platform/queues/queues.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'
import { createSealer } from '../../src/platform/sealing.ts'
import { createDeliveryStore } from '../../src/webhooks/delivery-store.ts'
import { WEBHOOK_SECRET_PURPOSE } from '../../src/webhooks/endpoint-store.ts'
import { startEventsWorker } from '../events-worker.ts'
import { startEventRelay } from './event-relay.ts'
import { createPostWebhook } from './post-webhook.ts'

const CONCURRENCY = 32

/** What events go out over: clients of their own, so that slow endpoints never stand in the way of a settlement. */
export interface EventsClients {
  relayRedis: Redis
  workerRedis: Redis
  postgres: Postgres
}

export const openEventsClients = (connections: Connections): EventsClients => ({
  // The relay would rather try again than wait with deliveries in hand.
  relayRedis: connections.redis('switchyard-events-relay', 'fail-fast'),
  workerRedis: connections.redis('switchyard-events-worker', 'wait'),
  postgres: connections.postgres('switchyard-events', { poolSize: 2 }),
})

/** Events out, composed: the relay and the worker. Part of the settlement process. */
export function startEvents(
  config: Readonly<Config>,
  { relayRedis, workerRedis, postgres }: EventsClients,
  logger: Logger,
  registry: Registry,
): { stop(): Promise<void> } {
  const queue = createEventsQueue(relayRedis)
  const deliveries = createDeliveryStore(postgres)
  const relay = startEventRelay({
    deliveries,
    enqueue: (due) => enqueueDeliveries(queue, due),
    keepEventsMs: config.eventRetentionDays * DAY_MS,
    logger,
  })
  const worker = startEventsWorker({
    redis: workerRedis,
    concurrency: CONCURRENCY,
    jobLockMs: config.jobLockMs,
    deliveries,
    sealer: createSealer(config.masterKeys, WEBHOOK_SECRET_PURPOSE),
    post: createPostWebhook({
      allowPrivate: config.webhooksAllowPrivate,
      timeoutMs: config.webhookTimeoutMs,
    }),
    retryDelaysMs: RETRY_DELAYS_MS,
    disableAfterMs: config.webhookDisableAfterDays * DAY_MS,
    clock: Date.now,
    random: Math.random,
    logger,
    attempts: new Counter({
      name: 'switchyard_webhook_attempts_total',
      help: 'Attempts to deliver an event to an endpoint, by outcome.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
  })
  return {
    async stop() {
      await Promise.all([relay.stop(), worker.stop()])
      await queue.close()
    },
  }
}
