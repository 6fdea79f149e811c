import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readUsd } from '../../../core/api/request-fields.ts'
import { SecondFactorAsked } from '../../../core/api/second-factor.ts'
import {
  AccountPatch,
  ActOnBody,
  CredentialsBody,
  PasswordBody,
  SessionView,
  SignUpBody,
} from '../../../core/api/sessions.ts'
import { normalizeEmail } from '../../../core/kernel/email-address.ts'
import { ApiError, invalid } from '../../../core/kernel/errors.ts'
import { formatUsd } from '../../../core/kernel/money.ts'
import { actingOn, refuseUnpermitted, signedIn } from '../../plugins/session.ts'
import { fromOwnPages } from '../../same-origin.ts'
import { sessionView } from '../account-view.ts'
import { passkeySite } from './passkey-site.ts'
import { clientOf, sessionReplies } from './session-replies.ts'

/** Sign-up, sign-in and sign-out; the signed-in person, the password, and the session's account. */
export const sessionRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { accounts, cookies, members, sessions, signIn } = app.accounts
  const ours = fromOwnPages(app.accounts.publicUrl)
  const ofSession = { onRequest: [app.requireSession] }

  const toView = { onRequest: [app.requirePermission('view')] }
  const { keep, begun: answerBegun } = sessionReplies(app)

  const signingUp = { ...ours, schema: { body: SignUpBody, response: { 201: SessionView } } }
  app.post('/sign-up', signingUp, async (request, reply) => {
    const email = normalizeEmail(request.body.email)
    const { password } = request.body
    if (app.accounts.config.signUpClosed)
      throw new ApiError(
        'not_permitted',
        'Sign-up is closed. Ask the operator of this gateway for an account.',
      )
    const begun = await signIn.signUp(email, password, clientOf(request))
    return reply.code(201).send(await answerBegun(reply, begun))
  })

  const signingIn = {
    ...ours,
    schema: { body: CredentialsBody, response: { 200: SessionView, 202: SecondFactorAsked } },
  }
  app.post('/sign-in', signingIn, async (request, reply) => {
    const { email, password } = request.body
    const site = passkeySite(request, app.accounts.publicUrl)
    const result = await signIn.signIn(normalizeEmail(email), password, clientOf(request), site)
    if (result.kind === 'begun') return reply.code(200).send(await answerBegun(reply, result))
    const { step, hasTotp, passkey } = result
    return reply.code(202).send({ step, totp: hasTotp, passkey: passkey && { ...passkey } })
  })

  app.post('/sign-out', ours, async (request, reply) => {
    const token = cookies.read(request, 'account')
    const session = token === null ? null : await sessions.find(token)
    if (session) await sessions.end(session.id)
    cookies.clear(reply, 'account')
    return reply.code(204).send()
  })

  app.get('/session', { ...toView, schema: { response: { 200: SessionView } } }, async (request) =>
    sessionView(actingOn(request), app),
  )

  const choosing = { ...ofSession, schema: { body: ActOnBody, response: { 200: SessionView } } }
  app.post('/session/account', choosing, async (request) => {
    const { person, stored } = signedIn(request)
    const { account_id: accountId } = request.body
    const isOwn = accountId === person.id
    const chosen = isOwn
      ? { account: person, role: 'owner' as const }
      : await members.find(accountId, person.id)
    if (!chosen) throw new ApiError('not_found', 'You are not a member of an organisation with this id.')
    await sessions.actOn(stored.id, isOwn ? null : accountId)
    return sessionView({ person, ...chosen }, app)
  })

  const patching = { ...toView, schema: { body: AccountPatch, response: { 200: SessionView } } }
  app.patch('/account', patching, async (request, reply) => {
    const { account, person } = actingOn(request)
    const { low_balance_usd: lowBalance, mails } = request.body
    if (lowBalance === undefined && mails === undefined)
      throw invalid('low_balance_usd', 'Send `low_balance_usd` (an amount, or null for never) or `mails`.')
    if (lowBalance !== undefined) {
      refuseUnpermitted(request, 'limits')
      const lowBalancePico = readUsd(lowBalance)
      await accounts.setLowBalance(account.id, lowBalancePico)
      const details = { low_balance_usd: lowBalancePico === null ? null : formatUsd(lowBalancePico) }
      await app.recordAction(request, 'low_balance.set', account.id, details)
    }
    if (mails !== undefined) await accounts.setMails(person.id, mails)
    await app.requirePermission('view')(request, reply)
    return sessionView(actingOn(request), app)
  })

  app.post('/password', { ...ofSession, schema: { body: PasswordBody } }, async (request, reply) => {
    const { person } = signedIn(request)
    const { current_password: current, new_password: next } = request.body
    keep(reply, await signIn.changePassword(person, { current, next }, clientOf(request)))
    return reply.code(204).send()
  })
}
