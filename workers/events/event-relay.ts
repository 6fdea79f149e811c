import type { Logger } from '../../src/platform/observability/logger.ts'
import { pollEvery } from '../../src/platform/process/poll-every.ts'
import type { DeliveryAttempt } from '../../src/platform/queues/queues.ts'
import type { ClaimBounds, DeliveryStore } from '../../src/webhooks/delivery-store.ts'

export interface EventRelayOptions {
  deliveries: DeliveryStore
  /** Puts deliveries into the queue; one that is there already stays one. */
  enqueue: (due: DeliveryAttempt[]) => Promise<void>
  /** Events and their deliveries are kept this long. */
  keepEventsMs: number
  logger: Logger
  everyMs?: number
  /** See `ClaimBounds`. Must outlast an attempt, or the same delivery may be made twice. */
  leaseMs?: number
}

const EVERY_MS = 500
const EVENTS_AT_ONCE = 200
/** The worker runs 32 at once: what hangs in two lanes leaves half of them to the third. */
const BOUNDS: Omit<ClaimBounds, 'leaseMs'> = {
  perEndpoint: 4,
  lanes: {
    quick: { perAccount: 8, inAll: 200 },
    new: { perAccount: 2, inAll: 8 },
    slow: { perAccount: 2, inAll: 8 },
  },
}
const LEASE_MS = 60_000
const PURGE_EVERY_MS = 10 * 60_000
const PURGE_AT_ONCE = 1_000

/**
 * Moves events on: from the outbox to deliveries, and deliveries that are due to the queue. PostgreSQL alone
 * has what is still to be done, so a queue that lost its jobs loses no event. Any number may run at once.
 */
export function startEventRelay(options: EventRelayOptions) {
  const { deliveries, logger, everyMs = EVERY_MS, leaseMs = LEASE_MS } = options
  const stopping = new AbortController()
  let purgedAt = Number.NEGATIVE_INFINITY

  const moveOn = async (): Promise<void> => {
    while ((await deliveries.fanOut(EVENTS_AT_ONCE)) === EVENTS_AT_ONCE && !stopping.signal.aborted);
    const due = await deliveries.claimDue({ ...BOUNDS, leaseMs })
    if (due.length > 0) await options.enqueue(due)
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
