import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import {
  type BodyBudgetLimits,
  type BodyOwner,
  type BodyReservation,
  createBodyBudget,
} from '../../calls/admission/body-budget.ts'
import { whenResponseCloses } from '../when-response-closes.ts'

export interface WeighBodiesOptions {
  limits: BodyBudgetLimits & { bodyLimitBytes: number }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What `weighBody` reserved for this request; null where it was not asked. */
    bodyReservation: BodyReservation | null
  }
  interface FastifyInstance {
    /**
     * An onRequest hook after authentication: reserves what the request announces, before any of it is read. 429 or
     * 503 where the budget has no room for it.
     */
    weighBody(request: FastifyRequest, reply: FastifyReply): Promise<void>
  }
}

/** The budget of request bodies in flight. Adds no hook but for clients that ask before they send a body. */
export const weighBodies = plugin<WeighBodiesOptions>(
  async (app, { limits }) => {
    const budget = createBodyBudget(limits)
    app.decorateRequest('bodyReservation', null)
    app.decorate('weighBody', async (request: FastifyRequest, reply: FastifyReply) => {
      const bytes = announcedBytes(request, limits.bodyLimitBytes)
      // One that is too long is refused as that, and read by nobody.
      if (bytes > limits.bodyLimitBytes) return
      const reservation = budget.reserve(ownerOf(request), bytes)
      request.bodyReservation = reservation
      whenResponseCloses(reply.raw, () => reservation.release())
    })
    // `Expect: 100-continue`: by default Node tells the client to send its body before anybody has looked at the request.
    app.server.on('checkContinue', (request, response) => app.routing(request, response))
    app.addHook('preParsing', async (request, reply) => {
      if (request.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue()
    })
  },
  { name: 'weigh-bodies', dependencies: ['authenticate', 'account-sessions'] },
)

/** The length of a body as its headers say; one that comes in chunks may be as long as any. */
export function announcedBytes({ headers }: FastifyRequest, limitBytes: number): number {
  const length = headers['content-length']
  if (length !== undefined) return Number(length)
  return headers['transfer-encoding'] === undefined ? 0 : limitBytes
}

function ownerOf({ key, accountSession }: FastifyRequest): BodyOwner {
  const accountId = key?.accountId ?? accountSession?.account.id
  if (accountId === undefined) throw new Error('the body of a request is weighed before anybody is known')
  return { accountId, keyId: key?.keyId ?? null }
}
