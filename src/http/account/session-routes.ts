import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { AccountStore } from '../../accounts/account-store.ts'
import type { SessionStore } from '../../accounts/session-store.ts'
import type { BegunSession, SignInService } from '../../accounts/sign-in-service.ts'
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
import { notSignedIn, signedIn } from '../plugins/session.ts'
import { readUsd } from '../read-usd.ts'
import { fromOwnPages } from '../same-origin.ts'
import type { SessionCookies } from '../session-cookie.ts'
import { type SessionViewServices, sessionView } from './account-view.ts'
import { clientOf } from './session-client.ts'

interface SessionServices extends SessionViewServices {
  accounts: Pick<AccountStore, 'find' | 'setLowBalance' | 'setMails'>
  cookies: SessionCookies
  sessions: SessionStore
  sessionMs: number
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

  const keep = (reply: FastifyReply, { token }: BegunSession) =>
    cookies.write(reply, 'account', token, new Date(Date.now() + services.sessionMs))
  const viewOf = async (accountId: string): Promise<SessionView> => {
    const account = await accounts.find(accountId)
    if (!account) throw notSignedIn()
    return sessionView(account, services)
  }

  const signingUp = { ...ours, schema: { body: SignUpBody, response: { 201: SessionView } } }
  app.post('/sign-up', signingUp, async (request, reply) => {
    const email = normalizeEmail(request.body.email)
    const { password } = request.body
    if (services.signUpClosed)
      throw new ApiError('not_permitted', 'Accounts are opened by the operator here. Ask them for one.')
    const begun = await signIn.signUp(email, password, clientOf(request))
    keep(reply, begun)
    return reply.code(201).send(await viewOf(begun.accountId))
  })

  const signingIn = { ...ours, schema: { body: CredentialsBody, response: { 200: SessionView } } }
  app.post('/sign-in', signingIn, async (request, reply) => {
    const { email, password } = request.body
    const begun = await signIn.signIn(normalizeEmail(email), password, clientOf(request))
    keep(reply, begun)
    return viewOf(begun.accountId)
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
