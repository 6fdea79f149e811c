import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../core/errors.ts'
import type { PaymentRailName } from '../../core/payment-movements.ts'
import type { AppDependencies } from '../app.ts'
import { unavailable } from '../plugins/answer-errors.ts'

/** Rails send far less; what is longer is not theirs. */
const BODY_LIMIT_BYTES = 512 * 1024
/** Per rail and instance. A rail that is refused sends again later, and lost news is asked for. */
const PER_SECOND_MAX = 100
const AT_ONCE_MAX = 20
const RETRY_AFTER_SECONDS = 10

/**
 * POST /webhooks/stripe and /webhooks/paypal: what the rails tell. No key; the signature over the raw bytes is
 * the credential. Answered 200 once it is kept and acted on, also when the payment is unknown, so that nothing
 * is repeated in vain; 400 when forged; 503 when it should come again.
 */
export const paymentWebhooks: FastifyPluginAsync<Pick<AppDependencies, 'topUps' | 'logger'>> = async (
  app,
  { topUps, logger },
) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const receive = (rail: PaymentRailName) => {
    const bound = createArrivalBound(Date.now)
    return async (request: {
      id: string
      body: unknown
      headers: Record<string, string | string[] | undefined>
    }) => {
      const leave = bound()
      try {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const outcome = await topUps.service.receiveWebhook(rail, body, request.headers)
        if (outcome.kind === 'forged') {
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
        leave()
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

/** Bounds arrivals a second and at once; throws 429 beyond. Returns what to call when one is done. */
function createArrivalBound(clock: () => number): () => () => void {
  let second = 0
  let arrived = 0
  let atOnce = 0
  return () => {
    const now = Math.floor(clock() / 1000)
    if (now !== second) {
      second = now
      arrived = 0
    }
    arrived += 1
    if (arrived > PER_SECOND_MAX || atOnce >= AT_ONCE_MAX) {
      throw new ApiError('rate_limit_exceeded', 'Too many webhooks at once. Send it again later.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    }
    atOnce += 1
    return () => {
      atOnce -= 1
    }
  }
}
