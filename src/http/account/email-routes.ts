import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type EmailVerification, noSuchLink } from '../../accounts/email-verification.ts'
import { VerifiedView, VerifyBody } from '../../core/api/sessions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { signedIn } from '../plugins/session.ts'
import { fromOwnPages } from '../same-origin.ts'

interface VerificationServices {
  /** Null where mail is not set up. */
  verification: EmailVerification | null
  publicUrl: string | null
}

/** Verifying the email of an account: the link of a message, and another message. */
export const verificationRoutes: FastifyPluginAsyncTypebox<VerificationServices> = async (
  app,
  { verification, publicUrl },
) => {
  // Without a session: the link proves the mailbox, which may be read on another device.
  const verifying = {
    ...fromOwnPages(publicUrl),
    schema: { body: VerifyBody, response: { 200: VerifiedView } },
  }
  app.post('/verify', verifying, async (request) => {
    if (!verification) throw noSuchLink()
    return { free_credit: await verification.verify(request.body.token, request.ip) }
  })

  app.post('/verification-mails', { onRequest: [app.requireSession] }, async (request, reply) => {
    const { account } = signedIn(request)
    if (!verification) throw noMail()
    if (account.emailVerifiedAt !== null)
      throw new ApiError('conflict', 'There is nothing to verify: this address is verified.')
    await verification.send(account.id, account.email)
    return reply.code(204).send()
  })
}

const noMail = (): ApiError => new ApiError('conflict', 'This gateway sends no email. Ask its operator.')
