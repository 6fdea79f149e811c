import { Counter, type Registry } from 'prom-client'
import {
  createEventMailStore,
  type EventMailId,
  type EventMailStore,
} from '../../src/accounts/mail/event-mail-store.ts'
import type { Config } from '../../src/config.ts'
import { DAY_MS } from '../../src/core/kernel/time.ts'
import { RETRY_DELAYS_MS } from '../../src/core/webhooks/webhook-retry.ts'
import type { Connections } from '../../src/platform/connections.ts'
import type { Logger } from '../../src/platform/observability/logger.ts'
import type { Postgres } from '../../src/platform/postgres/postgres.ts'
import { pollEvery } from '../../src/platform/process/poll-every.ts'
import {
  createEventsQueue,
  createMailQueue,
  type DeliveryAttempt,
  enqueueDeliveries,
  enqueueMails,
} from '../../src/platform/queues/queues.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'
import { createSealer } from '../../src/platform/sealing.ts'
import {
  type ClaimBounds,
  createDeliveryStore,
  type DeliveryStore,
} from '../../src/webhooks/delivery-store.ts'
import { WEBHOOK_SECRET_PURPOSE } from '../../src/webhooks/endpoint-store.ts'
import { startEventsWorker } from '../events-worker.ts'
import { createPostWebhook } from './deliver-event.ts'

const CONCURRENCY = 32
/** Events and their delivery log. */
const KEEP_EVENTS_MS = 30 * DAY_MS
/** Of failures without a success. */
const DISABLE_AFTER_MS = 5 * DAY_MS

/** Separate clients for events, so that slow endpoints never delay a settlement. */
export interface EventsClients {
  relayRedis: Redis
  workerRedis: Redis
  postgres: Postgres
}

export const openEventsClients = (connections: Connections): EventsClients => ({
  // The relay retries instead of waiting with claimed deliveries.
  relayRedis: connections.redis('shuntyard-events-relay', 'fail-fast'),
  workerRedis: connections.redis('shuntyard-events-worker', 'wait'),
  postgres: connections.postgres('shuntyard-events', { poolSize: 2 }),
})

/** Composes the relay and the worker of events. Part of the settlement process. */
export function startEvents(
  config: Readonly<Config>,
  { relayRedis, workerRedis, postgres }: EventsClients,
  logger: Logger,
  registry: Registry,
): { stop(): Promise<void> } {
  const queue = createEventsQueue(relayRedis)
  const mailQueue = createMailQueue(relayRedis)
  const deliveries = createDeliveryStore(postgres, { isMailed: config.mail !== null })
  const relay = startEventRelay({
    deliveries,
    enqueue: (due) => enqueueDeliveries(queue, due),
    mail: config.mail && {
      claimDue: createEventMailStore(postgres).claimDue,
      enqueue: (due) =>
        enqueueMails(
          mailQueue,
          due.map((id) => ({ kind: 'event', ...id })),
        ),
    },
    keepEventsMs: KEEP_EVENTS_MS,
    logger,
  })
  const worker = startEventsWorker({
    redis: workerRedis,
    concurrency: CONCURRENCY,
    jobLockMs: config.jobLockMs,
    deliveries,
    sealer: createSealer(config.masterKeys, WEBHOOK_SECRET_PURPOSE),
    post: createPostWebhook({ allowPrivate: config.webhooksAllowPrivate }),
    retryDelaysMs: RETRY_DELAYS_MS,
    disableAfterMs: DISABLE_AFTER_MS,
    clock: Date.now,
    random: Math.random,
    logger,
    attempts: new Counter({
      name: 'shuntyard_webhook_attempts_total',
      help: 'Attempts to deliver an event to an endpoint, by outcome.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
  })
  return {
    async stop() {
      await Promise.all([relay.stop(), worker.stop()])
      await Promise.all([queue.close(), mailQueue.close()])
    },
  }
}

export interface EventRelayOptions {
  deliveries: DeliveryStore
  /** Enqueues deliveries; one that is already queued is not added again. */
  enqueue: (due: DeliveryAttempt[]) => Promise<void>
  /** Messages about events, and their queue; null: there is no mail. */
  mail: { claimDue: EventMailStore['claimDue']; enqueue: (due: EventMailId[]) => Promise<void> } | null
  /** Events and their deliveries are kept this long. */
  keepEventsMs: number
  logger: Logger
  everyMs?: number
  /** See `ClaimBounds`. Must outlast an attempt, or the same delivery may be made twice. */
  leaseMs?: number
}

const EVERY_MS = 1_000
const EVENTS_AT_ONCE = 200
/** The worker runs 32 at once: when two lanes hang, half of them remain for the third. */
const BOUNDS: Omit<ClaimBounds, 'leaseMs'> = {
  perEndpoint: 4,
  lanes: {
    quick: { perAccount: 8, inAll: 200 },
    new: { perAccount: 2, inAll: 8 },
    slow: { perAccount: 2, inAll: 8 },
  },
}
const LEASE_MS = 60_000
const MAILS_AT_ONCE = 100
/** Longer than all attempts of a message's job. */
const MAIL_LEASE_MS = 60 * 60_000
const PURGE_EVERY_MS = 10 * 60_000
const PURGE_AT_ONCE = 1_000

/**
 * Moves events from the outbox to deliveries, and due deliveries to the queue. Only PostgreSQL knows the pending work,
 * so a queue that loses its jobs loses no event. Any number of relays may run at once.
 */
export function startEventRelay(options: EventRelayOptions) {
  const { deliveries, mail, logger, everyMs = EVERY_MS, leaseMs = LEASE_MS } = options
  const stopping = new AbortController()
  let purgedAt = Number.NEGATIVE_INFINITY

  const moveOn = async (): Promise<void> => {
    if (await deliveries.hasWork()) {
      while ((await deliveries.fanOut(EVENTS_AT_ONCE)) === EVENTS_AT_ONCE && !stopping.signal.aborted);
      const due = await deliveries.claimDue({ ...BOUNDS, leaseMs })
      if (due.length > 0) await options.enqueue(due)
      const messages = await mail?.claimDue(MAILS_AT_ONCE, MAIL_LEASE_MS)
      if (messages && messages.length > 0) await mail?.enqueue(messages)
    }
    if (performance.now() - purgedAt < PURGE_EVERY_MS) return
    if ((await deliveries.purge(options.keepEventsMs, PURGE_AT_ONCE)) < PURGE_AT_ONCE)
      purgedAt = performance.now()
  }

  const stopPolling = pollEvery(
    everyMs,
    moveOn,
    (error) => logger.error({ err: error }, 'event relay failed, retrying'),
    { firstAfterMs: 0, onRecovery: () => logger.info('event relay resumed') },
  )
  return {
    async stop(): Promise<void> {
      stopping.abort()
      await stopPolling()
    },
  }
}
