import { Counter, type Registry } from 'prom-client'
import type { Config } from '../../src/config.ts'
import { DAY_MS } from '../../src/core/kernel/time.ts'
import { RETRY_DELAYS_MS } from '../../src/core/operations/webhook-retry.ts'
import type { Logger } from '../../src/platform/observability/logger.ts'
import { createPostgres } from '../../src/platform/postgres/postgres.ts'
import { createEventsQueue, enqueueDeliveries } from '../../src/platform/queues/queues.ts'
import { createRedis } from '../../src/platform/redis/redis.ts'
import { createSealer } from '../../src/platform/sealing.ts'
import { createDeliveryStore } from '../../src/webhooks/delivery-store.ts'
import { WEBHOOK_SECRET_PURPOSE } from '../../src/webhooks/endpoint-store.ts'
import { startEventsWorker } from '../events-worker.ts'
import { startEventRelay } from './event-relay.ts'
import { createPostWebhook } from './post-webhook.ts'

const CONCURRENCY = 32

/**
 * Events out, composed: the relay and the worker. Part of the settlement process, with clients of its own, so
 * that slow endpoints never stand in the way of a settlement.
 */
export function startEvents(
  config: Readonly<Config>,
  logger: Logger,
  registry: Registry,
): { stop(): Promise<void> } {
  const redisFor = (name: string, mode: 'fail-fast' | 'wait') =>
    createRedis({ url: config.redisUrl, name: `switchyard-events-${name}`, mode, logger })
  // The relay would rather try again than wait with deliveries in hand.
  const relayRedis = redisFor('relay', 'fail-fast')
  const workerRedis = redisFor('worker', 'wait')
  const postgres = createPostgres({
    databaseUrl: config.databaseUrl,
    name: 'switchyard-events',
    poolSize: 2,
    logger,
  })
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
      relayRedis.disconnect()
      workerRedis.disconnect()
      await postgres.$disconnect()
    },
  }
}
