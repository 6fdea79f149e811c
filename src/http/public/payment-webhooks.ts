import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { PaymentRailName } from '../../core/billing/payment-movements.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { TopUps } from '../../payments/create-top-ups.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { unavailable } from '../plugins/answer-errors.ts'
import { createWebhookBound, type WebhookVerdict } from '../webhook-bound.ts'

/** Rails send far less; what is longer is not theirs. */
const BODY_LIMIT_BYTES = 512 * 1024
const RETRY_AFTER_SECONDS = 10

/**
 * POST /webhooks/stripe and /webhooks/paypal: what the rails tell. No key; the signature over the raw bytes is
 * the credential. Answered 200 once it is kept and acted on, also when the payment is unknown, so that nothing
 * is repeated in vain; 400 when forged; 503 when it should come again.
 */
export const paymentWebhooks: FastifyPluginAsync<{
  topUps: Pick<TopUps, 'service' | 'rails'>
  logger: Logger
}> = async (app, { topUps, logger }) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const receive = (rail: PaymentRailName) => {
    const bound = createWebhookBound()
    const mayLog = createLogSampler()
    return async (request: FastifyRequest) => {
      // A signature that is checked on the spot costs microseconds; nothing before it may shut out a genuine webhook.
      const leave = topUps.rails.get(rail)?.asksToVerify ? bound.enter(request.ip) : () => undefined
      let verdict: WebhookVerdict = null
      try {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const outcome = await topUps.service.receiveWebhook(rail, body, request.headers)
        verdict = outcome.kind === 'forged' ? 'forged' : 'genuine'
        if (outcome.kind === 'forged') {
          if (mayLog())
            logger.warn({ rail, requestId: request.id, reason: outcome.reason }, 'a webhook was refused')
          throw new ApiError('invalid_request', 'The signature of this webhook is not valid.')
        }
        return { received: true }
      } catch (cause) {
        if (cause instanceof ApiError) throw cause
        logger.error({ err: cause, rail, requestId: request.id }, 'a webhook could not be handled')
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
      if (!topUps.rails.has(rail)) throw unavailable(request)
      return handler(request)
    })
  }
}

/** True once a second at the most: who sends forgeries does not fill the log. */
function createLogSampler(): () => boolean {
  let lastAtMs = 0
  return () => {
    const now = Date.now()
    if (now - lastAtMs < 1_000) return false
    lastAtMs = now
    return true
  }
}
