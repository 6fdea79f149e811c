import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { BegunSession } from '../../accounts/sign-in-service.ts'
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
import { requireSameOrigin } from '../same-origin.ts'
import { sessionView } from './account-view.ts'
import type { ConsoleDependencies } from './console-routes.ts'
import { tooMany } from './too-many.ts'

/** Signing up, in and out; the account that is signed in; its password. */
export const sessionRoutes: FastifyPluginAsyncTypebox<ConsoleDependencies> = async (app, { console }) => {
  const { accounts, cookies, sessions, settings, signIn } = console
  const ours = {
    onRequest: async (request: Parameters<typeof requireSameOrigin>[0]) =>
      requireSameOrigin(request, settings.publicUrl),
  }
  const ofSession = { onRequest: [app.requireSession] }

  const keep = (reply: FastifyReply, { token }: BegunSession) =>
    cookies.write(reply, 'account', token, new Date(Date.now() + settings.sessionMs))
  const viewOf = async (accountId: string): Promise<SessionView> => {
    const account = await accounts.find(accountId)
    if (!account) throw notSignedIn()
    return sessionView(account, console)
  }

  const signingUp = { ...ours, schema: { body: SignUpBody, response: { 201: SessionView } } }
  app.post('/sign-up', signingUp, async (request, reply) => {
    const email = normalizeEmail(request.body.email)
    const { password } = request.body
    refuseGuessable(password, 'password', email)
    if (settings.signUpClosed)
      throw new ApiError('not_permitted', 'Accounts are opened by the operator here. Ask them for one.')
    const outcome = await signIn.signUp(email, password, request.ip)
    switch (outcome.kind) {
      case 'signed_in':
        keep(reply, outcome)
        return reply.code(201).send(await viewOf(outcome.accountId))
      case 'too_many':
        throw tooMany(outcome)
      case 'email_taken':
        throw new ApiError(
          'email_taken',
          'This email has an account. Sign in; if it has no password yet, ask the operator to set one.',
          { param: 'email' },
        )
      default:
        return outcome satisfies never
    }
  })

  const signingIn = { ...ours, schema: { body: CredentialsBody, response: { 200: SessionView } } }
  app.post('/sign-in', signingIn, async (request, reply) => {
    const { email, password } = request.body
    const outcome = await signIn.signIn(normalizeEmail(email), password, request.ip)
    switch (outcome.kind) {
      case 'signed_in':
        keep(reply, outcome)
        return viewOf(outcome.accountId)
      case 'too_many':
        throw tooMany(outcome)
      case 'wrong':
        throw new ApiError('invalid_credentials', 'Email or password is wrong. Check both.', {
          challenge: 'Session',
        })
      case 'suspended':
        throw new ApiError('account_suspended', 'This account is suspended. Contact the operator.')
      default:
        return outcome satisfies never
    }
  })

  app.post('/sign-out', ours, async (request, reply) => {
    const token = cookies.read(request, 'account')
    const session = token === null ? null : await sessions.find(token)
    if (session) await sessions.end(session.id)
    cookies.clear(reply, 'account')
    return reply.code(204).send()
  })

  app.get('/session', { ...ofSession, schema: { response: { 200: SessionView } } }, async (request) =>
    sessionView(signedIn(request).account, console),
  )

  // Every page asks this first; a 401 would appear as an error on the browser's console.
  app.get('/visitor', { schema: { response: { 200: VisitorView } } }, async (request, reply) => {
    try {
      await app.requireSession(request, reply)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_signed_in') return { session: null }
      throw error
    }
    return { session: await sessionView(signedIn(request).account, console) }
  })

  const patching = { ...ofSession, schema: { body: AccountPatch, response: { 200: SessionView } } }
  app.patch('/account', patching, async (request) => {
    const { account } = signedIn(request)
    const { low_balance_usd: lowBalance } = request.body
    if (lowBalance === undefined)
      throw new ApiError('invalid_request', 'Send `low_balance_usd`: an amount, or null for never.', {
        param: 'low_balance_usd',
      })
    await accounts.setLowBalance(account.id, readUsd(lowBalance))
    return viewOf(account.id)
  })

  app.post('/password', { ...ofSession, schema: { body: PasswordBody } }, async (request, reply) => {
    const { account } = signedIn(request)
    const { current_password: current, new_password: next } = request.body
    refuseGuessable(next, 'new_password', account.email)
    const outcome = await signIn.changePassword(account.id, current, next)
    switch (outcome.kind) {
      case 'signed_in':
        keep(reply, outcome)
        return reply.code(204).send()
      case 'too_many':
        throw tooMany(outcome)
      case 'wrong':
        throw new ApiError('invalid_request', 'This is not your current password.', {
          param: 'current_password',
        })
      default:
        return outcome satisfies never
    }
  })
}

/** Refuses a new password that is the email, or of fewer than four different characters. */
function refuseGuessable(password: string, param: string, email: string): void {
  if (password.toLowerCase() === email || new Set(password).size < 4)
    throw new ApiError('invalid_request', 'This password is too easy to guess. Choose another one.', {
      param,
    })
}
