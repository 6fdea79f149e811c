import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { PaymentRailName } from '../../core/billing/postings.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { DAY_MS, MINUTE_MS } from '../../core/kernel/time.ts'
import { clientNetworks } from '../../platform/network/client-networks.ts'

/** Rails send far less; a longer body is not theirs. */
const BODY_LIMIT_BYTES = 512 * 1024
const RETRY_AFTER_SECONDS = 10

/**
 * POST /webhooks/stripe and /webhooks/paypal: reports of the rails. No key; the signature over the raw bytes is the
 * credential. 200 once the report is stored and acted on, also if the payment is unknown, so that it is not repeated in
 * vain; 400 for a forgery; 503 if it should be sent again.
 */
export const paymentWebhooks: FastifyPluginAsync = async (app) => {
  const { logger } = app.calls
  const { payments } = app.billing
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const receive = (rail: PaymentRailName) => {
    const bound = createWebhookBound()
    const mayLog = createLogSampler()
    return async (request: FastifyRequest) => {
      // A locally verified signature costs microseconds; no limit before it may reject a genuine webhook.
      const leave = payments.rails.get(rail)?.asksToVerify ? bound.enter(request.ip) : () => undefined
      let verdict: WebhookVerdict = null
      try {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const outcome = await payments.topUps.receiveWebhook(rail, body, request.headers)
        verdict = outcome.kind === 'forged' ? 'forged' : 'genuine'
        if (outcome.kind === 'forged') {
          if (mayLog())
            logger.warn({ rail, requestId: request.id, reason: outcome.reason }, 'payment webhook rejected')
          throw new ApiError('invalid_request', 'The signature of this webhook is not valid.')
        }
        return { received: true }
      } catch (cause) {
        if (cause instanceof ApiError) throw cause
        logger.error({ err: cause, rail, requestId: request.id }, 'payment webhook failed')
        throw new ApiError('overloaded', 'Send it again later.', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
          cause,
        })
      } finally {
        leave(verdict)
      }
    }
  }

  for (const rail of ['stripe', 'paypal'] as const) {
    const handler = receive(rail)
    app.post(`/webhooks/${rail}`, { bodyLimit: BODY_LIMIT_BYTES }, async (request) => {
      if (!payments.rails.has(rail))
        throw new ApiError('surface_unavailable', 'This payment provider is not configured.')
      return handler(request)
    })
  }
}

/** True at most once a second, so that forgeries do not fill the log. */
function createLogSampler(): () => boolean {
  let lastAtMs = 0
  return () => {
    const now = Date.now()
    if (now - lastAtMs < 1_000) return false
    lastAtMs = now
    return true
  }
}

/** The verdict on a webhook; null: unknown. */
type WebhookVerdict = 'genuine' | 'forged' | null

/** Concurrent checks, with separate limits for networks that recently sent a genuine webhook and for all others. */
const AT_ONCE_MAX = 20
/** Maximum forgeries of one network per minute; its further webhooks are not checked. */
const FORGERIES_MAX = 20
const KNOWN_FOR_MS = 7 * DAY_MS
const NETWORKS_MAX = 10_000

/**
 * Limits webhooks whose signature is verified by a request to the rail, so that forgeries cannot block genuine ones.
 */
export function createWebhookBound() {
  const forgeries = new LRUCache<string, number>({ max: NETWORKS_MAX, ttl: MINUTE_MS, noUpdateTTL: true })
  const known = new LRUCache<string, true>({ max: NETWORKS_MAX, ttl: KNOWN_FOR_MS })
  const places = { known: 0, others: 0 }
  return {
    /** Takes a slot; the returned function releases it with the verdict. Throws 429 if there is none. */
    enter(networkAddress: string): (verdict: WebhookVerdict) => void {
      const { subnet } = clientNetworks(networkAddress)
      const group = known.has(subnet) ? 'known' : 'others'
      if (places[group] >= AT_ONCE_MAX || (forgeries.get(subnet) ?? 0) >= FORGERIES_MAX) {
        // A rejected rail sends again later, and lost reports are reconciled.
        throw new ApiError('rate_limit_exceeded', 'Too many webhooks at once. Send it again later.', {
          retryAfterSeconds: 10,
        })
      }
      places[group] += 1
      return (verdict) => {
        places[group] -= 1
        if (verdict === 'genuine') known.set(subnet, true)
        if (verdict === 'forged') forgeries.set(subnet, (forgeries.get(subnet) ?? 0) + 1)
      }
    },
  }
}
