import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { noSuchLink } from '../../../accounts/email-verification.ts'
import { noMail } from '../../../accounts/mail/notify.ts'
import {
  EmailChangeBody,
  NewPasswordBody,
  PasswordResetBody,
  VerifiedView,
  VerifyBody,
  WaysInView,
} from '../../../core/api/sessions.ts'
import { normalizeEmail } from '../../../core/kernel/email-address.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { signedIn } from '../../plugins/session.ts'
import { fromOwnPages } from '../../same-origin.ts'

/**
 * Actions with links in messages: verifying and changing the email of an account, and resetting its password. The links
 * need no session, because they prove access to the mailbox, which may be on another device.
 */
export const emailRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { verification, passwordReset, emailChange } = app.accounts
  const ours = fromOwnPages(app.accounts.publicUrl)
  const ofSession = { onRequest: [app.requireSession] }

  const verifying = { ...ours, schema: { body: VerifyBody, response: { 200: VerifiedView } } }
  app.post('/verify', verifying, async (request) => {
    if (!verification) throw noSuchLink()
    return { free_credit: await verification.verify(request.body.token, request.ip) }
  })

  app.post('/verification-mails', ofSession, async (request, reply) => {
    const { person } = signedIn(request)
    if (!verification) throw noMail()
    if (person.emailVerifiedAt !== null) throw new ApiError('conflict', 'This address is already verified.')
    await verification.send(person.id, person.email)
    return reply.code(204).send()
  })

  app.post('/password-resets', { ...ours, schema: { body: PasswordResetBody } }, async (request, reply) => {
    await passwordReset.request(normalizeEmail(request.body.email), request.ip)
    return reply.code(202).send({})
  })

  const resetting = { ...ours, schema: { body: NewPasswordBody, response: { 200: WaysInView } } }
  app.post('/password-resets/use', resetting, async (request) => {
    const { token, password } = request.body
    const { identities, passkeys, apiKeys } = await passwordReset.reset(token, password, request.ip)
    return { identities, passkeys, api_keys: apiKeys }
  })

  app.post('/email-changes', { ...ofSession, schema: { body: EmailChangeBody } }, async (request, reply) => {
    const { email, current_password: password } = request.body
    if (!emailChange) throw noMail()
    await emailChange.request(signedIn(request).person, normalizeEmail(email), password)
    return reply.code(202).send({})
  })

  app.post('/email-changes/confirm', { ...ours, schema: { body: VerifyBody } }, async (request, reply) => {
    if (!emailChange) throw noSuchLink()
    await emailChange.confirm(request.body.token, request.ip)
    return reply.code(204).send()
  })
}
