import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import type { BegunSession } from '../../accounts/sign-in-service.ts'
import type { SessionView, VisitorView } from '../../core/api/sessions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { notSignedIn, signedIn } from '../plugins/session.ts'
import { requireSameOrigin } from '../same-origin.ts'
import { sessionView } from './account-view.ts'
import type { ConsoleDependencies } from './console-routes.ts'
import { readEmail, readFields, readNewEmail, readNewPassword, readPassword, readUsd } from './read-body.ts'
import { tooMany } from './too-many.ts'

/** Signing up, in and out; the account that is signed in; its password. */
export const sessionRoutes: FastifyPluginAsync<ConsoleDependencies> = async (app, { console }) => {
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

  app.post('/sign-up', ours, async (request, reply) => {
    const fields = readFields(request.body, ['email', 'password'])
    const email = readNewEmail(fields)
    const password = readNewPassword(fields, 'password', email)
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

  app.post('/sign-in', ours, async (request, reply) => {
    const fields = readFields(request.body, ['email', 'password'])
    const [email, password] = [readEmail(fields), readPassword(fields, 'password')]
    const outcome = await signIn.signIn(email, password, request.ip)
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

  app.get('/session', ofSession, async (request) => sessionView(signedIn(request).account, console))

  // Every page asks this first, and being nobody is no failure that a browser should write on its console.
  app.get('/visitor', async (request, reply): Promise<VisitorView> => {
    try {
      await app.requireSession(request, reply)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_signed_in') return { session: null }
      throw error
    }
    return { session: await sessionView(signedIn(request).account, console) }
  })

  app.patch('/account', ofSession, async (request) => {
    const fields = readFields(request.body, ['low_balance_usd'])
    const { account } = signedIn(request)
    if (!('low_balance_usd' in fields))
      throw new ApiError('invalid_request', 'Send `low_balance_usd`: an amount, or null for never.', {
        param: 'low_balance_usd',
      })
    await accounts.setLowBalance(account.id, readUsd(fields, 'low_balance_usd'))
    return viewOf(account.id)
  })

  app.post('/password', ofSession, async (request, reply) => {
    const { account } = signedIn(request)
    const fields = readFields(request.body, ['current_password', 'new_password'])
    const current = readPassword(fields, 'current_password')
    const next = readNewPassword(fields, 'new_password', account.email)
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
