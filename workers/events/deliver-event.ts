import { Webhook } from 'standardwebhooks'
import { eventBody } from '../../src/core/operations/event.ts'
import { type AfterAttempt, afterAttempt } from '../../src/core/operations/webhook-retry.ts'
import type { Logger } from '../../src/platform/observability/logger.ts'
import type { Sealer } from '../../src/platform/sealing.ts'
import type { DeliveryStore, DueDelivery } from '../../src/webhooks/delivery-store.ts'
import type { PostWebhook } from './post-webhook.ts'

export interface DeliverEventDependencies {
  deliveries: DeliveryStore
  /** Opens the endpoints' secrets. */
  sealer: Sealer
  post: PostWebhook
  retryDelaysMs: readonly number[]
  disableAfterMs: number
  clock: () => number
  random: () => number
  logger: Logger
}

/**
 * Makes one attempt at a delivery and records what came of it; null when there is nothing to do. A crash
 * before the record makes the same attempt again, with the same `webhook-id`. Throws when PostgreSQL is away.
 */
export async function deliverEvent(
  deliveryId: string,
  deps: DeliverEventDependencies,
): Promise<AfterAttempt | null> {
  const { deliveries, logger } = deps
  const delivery = await deliveries.findDue(deliveryId)
  if (!delivery) return null
  const body = eventBody(delivery.event)
  const result = await deps.post(delivery.endpoint.url, body, signedHeaders(delivery, body, deps))
  const next = afterAttempt(result, delivery.attempts + 1, deps.retryDelaysMs, deps.random())
  const { disabled } = await deliveries.record(delivery, result, next, deps.disableAfterMs)
  const about = { deliveryId, eventId: delivery.event.id, endpointId: delivery.endpoint.id }
  if (next.kind === 'give-up') logger.warn({ ...about, result }, 'a webhook delivery was given up')
  if (disabled !== null)
    logger.warn(
      { ...about, reason: disabled, alarm: 'webhook-endpoint-disabled' },
      'a webhook endpoint was disabled',
    )
  return next
}

/** The headers of Standard Webhooks. The time is the attempt's; the id is the event's, over all retries. */
function signedHeaders(
  { event, endpoint }: DueDelivery,
  body: string,
  { sealer, clock }: DeliverEventDependencies,
): Record<string, string> {
  const now = new Date(clock())
  const signatures = endpoint.sealedSecrets.map((sealed) =>
    new Webhook(sealer.open(sealed, endpoint.id)).sign(event.id, now, body),
  )
  return {
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
  }
}
