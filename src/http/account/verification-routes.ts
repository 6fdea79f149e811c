import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type EmailVerification, noSuchLink } from '../../accounts/email-verification.ts'
import type { FreeCredits } from '../../accounts/free-credit.ts'
import { VerifiedView, VerifyBody } from '../../core/api/sessions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { signedIn } from '../plugins/session.ts'
import { fromOwnPages } from '../same-origin.ts'

export interface VerificationServices {
  freeCredits: Pick<FreeCredits, 'find'>
  /** Null where mail is not set up. */
  verification: EmailVerification | null
  publicUrl: string | null
}

/** Verifying the email of an account: the link of a message, and another message. */
export const verificationRoutes: FastifyPluginAsyncTypebox<VerificationServices> = async (
  app,
  { freeCredits, verification, publicUrl },
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
    const freeCredit = await freeCredits.find(account.id)
    if (!verification || freeCredit !== 'unverified')
      throw new ApiError('conflict', 'There is nothing to verify: this account waits for no message.')
    await verification.send(account.id, account.email)
    return reply.code(204).send()
  })
}
