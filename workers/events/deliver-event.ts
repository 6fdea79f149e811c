import { lookup } from 'node:dns'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Webhook } from 'standardwebhooks'
import { parseRetryAfter } from '../../src/core/failover/attempt-failure.ts'
import { eventBody } from '../../src/core/webhooks/event.ts'
import { type AfterAttempt, type AttemptResult, afterAttempt } from '../../src/core/webhooks/webhook-retry.ts'
import {
  AddressRefused,
  checkWebhookUrl,
  createGuardedLookup,
  createResolveName,
  isPublicAddress,
  type ResolveName,
} from '../../src/platform/network/public-address.ts'
import type { Logger } from '../../src/platform/observability/logger.ts'
import type { Sealer } from '../../src/platform/sealing.ts'
import type { DeliveryStore, DueDelivery } from '../../src/webhooks/delivery-store.ts'

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

/** Posts one body to an endpoint. Never rejects: every failure is a result. */
type PostWebhook = (url: string, body: string, headers: Record<string, string>) => Promise<AttemptResult>

export interface PostWebhookOptions {
  /** Permits private addresses, any port, and plain http. */
  allowPrivate: boolean
  /** From start to end of the response, ms. Shorter than the lease of a queued delivery, so that it is not made twice at once. */
  timeoutMs?: number
  /** Name resolution. By default DNS only, and the system's resolver if private addresses are allowed. */
  resolve?: ResolveName
}

/** A response is read up to this size and then cut off. Its content is not kept. */
const ANSWER_BYTES_MAX = 64 * 1024
const ERROR_LENGTH_MAX = 200

/**
 * An HTTP client for URLs chosen by clients: public addresses only, checked when the socket connects; no redirects, no
 * proxy, no reused connections, no kept responses, and a deadline for the whole request.
 */
export function createPostWebhook({
  allowPrivate,
  timeoutMs = 15_000,
  resolve = allowPrivate ? lookup : createResolveName(),
}: PostWebhookOptions): PostWebhook {
  const guardedLookup = createGuardedLookup(resolve, (address) => allowPrivate || isPublicAddress(address))
  return async (text, body, headers) => {
    const startedAt = performance.now()
    const unanswered = (error: string): AttemptResult => ({
      kind: 'unanswered',
      error: error.slice(0, ERROR_LENGTH_MAX),
      durationMs: performance.now() - startedAt,
    })
    // The rules may have become stricter since the endpoint was created.
    const check = checkWebhookUrl(text, allowPrivate)
    if (check.kind === 'refused') return unanswered(`the address ${check.reason}`)
    const { url } = check
    const signal = AbortSignal.timeout(timeoutMs)
    return new Promise((settle) => {
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      const request = send(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          'user-agent': 'Shuntyard-Webhooks/1',
          ...headers,
        },
        agent: false,
        lookup: guardedLookup,
        signal,
      })
      let answered: AttemptResult | null = null
      request.on('error', (error) =>
        settle(
          answered ?? unanswered(signal.aborted ? `no response within ${timeoutMs} ms` : describe(error)),
        ),
      )
      request.on('response', (response) => {
        const answer: AttemptResult = {
          kind: 'answered',
          statusCode: response.statusCode ?? 0,
          retryAfterMs: parseRetryAfter(response.headers['retry-after'], Date.now()),
          durationMs: performance.now() - startedAt,
        }
        answered = answer
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > ANSWER_BYTES_MAX) response.destroy()
        })
        // Only the status matters, so an error in the rest of the response is ignored.
        response.on('error', () => undefined)
        response.on('close', () => settle(answer))
      })
      request.end(body)
    })
  }
}

/** Does not leak the address that a name resolved to. */
function describe(error: Error): string {
  if (error instanceof AddressRefused) return error.message
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
