import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { VerifiedView, VerifyBody } from '../../core/api/sessions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { signedIn } from '../plugins/session.ts'
import { requireSameOrigin } from '../same-origin.ts'
import type { ConsoleDependencies } from './console-routes.ts'
import { tooMany } from './too-many.ts'

/** Verifying the email of an account: the link of a message, and another message. */
export const verificationRoutes: FastifyPluginAsyncTypebox<ConsoleDependencies> = async (app, deps) => {
  const { console } = deps
  const { freeCredits, settings, verification } = console
  const ours = {
    onRequest: async (request: FastifyRequest) => requireSameOrigin(request, settings.publicUrl),
  }

  // Without a session: the link proves the mailbox, which may be read on another device.
  const verifying = { ...ours, schema: { body: VerifyBody, response: { 200: VerifiedView } } }
  app.post('/verify', verifying, async (request) => {
    const { token } = request.body
    if (!verification) throw noSuchLink()
    const outcome = await verification.verify(token, request.ip)
    switch (outcome.kind) {
      case 'verified':
        return { free_credit: outcome.freeCredit }
      case 'no_such_link':
        throw noSuchLink()
      case 'too_many':
        throw tooMany(outcome)
      default:
        return outcome satisfies never
    }
  })

  app.post('/verification-mails', { onRequest: [app.requireSession] }, async (request, reply) => {
    const { account } = signedIn(request)
    const freeCredit = await freeCredits.find(account.id)
    if (!verification || freeCredit !== 'unverified')
      throw new ApiError('conflict', 'There is nothing to verify: this account waits for no message.')
    const throttled = await verification.send(account.id, account.email)
    if (throttled.kind === 'too_many') throw tooMany(throttled)
    return reply.code(204).send()
  })
}

const noSuchLink = (): ApiError =>
  new ApiError(
    'invalid_request',
    'This link was used before or has expired. Sign in: the dashboard says whether your address is verified, and sends another link.',
    { param: 'token' },
  )
