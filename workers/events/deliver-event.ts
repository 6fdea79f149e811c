import { parseRetryAfter } from '../../src/core/failover/attempt-failure.ts'
import { eventBody } from '../../src/core/webhooks/event.ts'
import { type AfterAttempt, type AttemptResult, afterAttempt } from '../../src/core/webhooks/webhook-retry.ts'
import { createGuardedPost, type GuardedPostOptions } from '../../src/platform/network/guarded-post.ts'
import type { Logger } from '../../src/platform/observability/logger.ts'
import type { Sealer } from '../../src/platform/sealing.ts'
import type { DeliveryStore, DueDelivery } from '../../src/webhooks/delivery-store.ts'
import { webhookHeaders } from '../../src/webhooks/webhook-headers.ts'

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
 * Makes one attempt at a delivery and records its result; null if there is nothing to do. After a crash before the
 * record, the attempt is repeated with the same `webhook-id`. Throws when PostgreSQL is away.
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
  if (next.kind === 'give-up') logger.warn({ ...about, result }, 'webhook delivery dropped')
  if (disabled !== null)
    logger.warn(
      { ...about, reason: disabled, alarm: 'webhook-endpoint-disabled' },
      'webhook endpoint disabled',
    )
  return next
}

/** The id is the event's, over all retries. */
const signedHeaders = (
  { event, endpoint }: DueDelivery,
  body: string,
  { sealer, clock }: DeliverEventDependencies,
): Record<string, string> =>
  webhookHeaders(
    event.id,
    body,
    endpoint.sealedSecrets.map((sealed) => sealer.open(sealed, endpoint.id)),
    clock(),
  )

/** Posts one body to an endpoint. Never rejects: every failure is a result. */
type PostWebhook = (url: string, body: string, headers: Record<string, string>) => Promise<AttemptResult>

export interface PostWebhookOptions extends Pick<GuardedPostOptions, 'allowPrivate' | 'resolve'> {
  /** From start to end of the response, ms. Shorter than the lease of a queued delivery, so that it is not made twice at once. */
  timeoutMs?: number
}

/** Posts over a connection of its own, and keeps nothing of the response but its status. */
export function createPostWebhook({ timeoutMs = 15_000, ...options }: PostWebhookOptions): PostWebhook {
  const post = createGuardedPost({ ...options, userAgent: 'Shuntyard-Webhooks/1' })
  return async (url, body, headers) => {
    const startedAt = performance.now()
    const result = await post(url, body, { headers, timeoutMs })
    const durationMs = performance.now() - startedAt
    if (result.kind === 'unanswered') return { ...result, durationMs }
    const { statusCode, retryAfter } = result
    return { kind: 'answered', statusCode, retryAfterMs: parseRetryAfter(retryAfter, Date.now()), durationMs }
  }
}
