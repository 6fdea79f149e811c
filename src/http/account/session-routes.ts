import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { AccountStore } from '../../accounts/account-store.ts'
import type { SessionStore } from '../../accounts/session-store.ts'
import type { SignInService } from '../../accounts/sign-in-service.ts'
import { SecondFactorAsked } from '../../core/api/second-factor.ts'
import {
  AccountPatch,
  CredentialsBody,
  PasswordBody,
  SessionView,
  SignUpBody,
  VisitorView,
} from '../../core/api/sessions.ts'
import { normalizeEmail } from '../../core/kernel/email-address.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { signedIn } from '../plugins/session.ts'
import { readUsd } from '../read-usd.ts'
import { fromOwnPages } from '../same-origin.ts'
import { sessionView } from './account-view.ts'
import { passkeySite } from './passkey-site.ts'
import { clientOf } from './session-client.ts'
import { type SessionReplyServices, sessionReplies } from './session-replies.ts'

interface SessionServices extends SessionReplyServices {
  accounts: Pick<AccountStore, 'find' | 'setLowBalance' | 'setMails'>
  sessions: SessionStore
  signIn: SignInService
  /** Only the operator opens accounts. */
  signUpClosed: boolean
  publicUrl: string | null
}

/** Signing up, in and out; the account that is signed in; its password. */
export const sessionRoutes: FastifyPluginAsyncTypebox<SessionServices> = async (app, services) => {
  const { accounts, cookies, sessions, signIn } = services
  const ours = fromOwnPages(services.publicUrl)
  const ofSession = { onRequest: [app.requireSession] }

  const { keep, viewOf, begun: answerBegun } = sessionReplies(services)

  const signingUp = { ...ours, schema: { body: SignUpBody, response: { 201: SessionView } } }
  app.post('/sign-up', signingUp, async (request, reply) => {
    const email = normalizeEmail(request.body.email)
    const { password } = request.body
    if (services.signUpClosed)
      throw new ApiError('not_permitted', 'Accounts are opened by the operator here. Ask them for one.')
    const begun = await signIn.signUp(email, password, clientOf(request))
    return reply.code(201).send(await answerBegun(reply, begun))
  })

  const signingIn = {
    ...ours,
    schema: { body: CredentialsBody, response: { 200: SessionView, 202: SecondFactorAsked } },
  }
  app.post('/sign-in', signingIn, async (request, reply) => {
    const { email, password } = request.body
    const site = passkeySite(request, services.publicUrl)
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

  app.get('/session', { ...ofSession, schema: { response: { 200: SessionView } } }, async (request) =>
    sessionView(signedIn(request).account, services),
  )

  // Every page asks this first; a 401 would appear as an error on the browser's console.
  app.get('/visitor', { schema: { response: { 200: VisitorView } } }, async (request, reply) => {
    try {
      await app.requireSession(request, reply)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_signed_in') return { session: null }
      throw error
    }
    return { session: await sessionView(signedIn(request).account, services) }
  })

  const patching = { ...ofSession, schema: { body: AccountPatch, response: { 200: SessionView } } }
  app.patch('/account', patching, async (request) => {
    const { account } = signedIn(request)
    const { low_balance_usd: lowBalance, mails } = request.body
    if (lowBalance === undefined && mails === undefined)
      throw new ApiError(
        'invalid_request',
        'Send `low_balance_usd`, an amount or null for never, or `mails`.',
        {
          param: 'low_balance_usd',
        },
      )
    if (lowBalance !== undefined) await accounts.setLowBalance(account.id, readUsd(lowBalance))
    if (mails !== undefined) await accounts.setMails(account.id, mails)
    return viewOf(account.id)
  })

  app.post('/password', { ...ofSession, schema: { body: PasswordBody } }, async (request, reply) => {
    const { account } = signedIn(request)
    const { current_password: current, new_password: next } = request.body
    keep(reply, await signIn.changePassword(account, { current, next }, clientOf(request)))
    return reply.code(204).send()
  })
}
