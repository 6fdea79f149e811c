import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import type { Account, AccountStore } from '../../accounts/account-store.ts'
import type { SessionStore, StoredSession } from '../../accounts/session-store.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { requireSameOrigin } from '../same-origin.ts'
import type { SessionCookies } from '../session-cookie.ts'

export interface SessionOptions {
  sessions: Pick<SessionStore, 'find'>
  accounts: Pick<AccountStore, 'find'>
  cookies: SessionCookies
  publicUrl: string | null
}

/** An account holder who is signed in. */
export interface AccountSession {
  stored: StoredSession
  account: Account
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireSession`. */
    accountSession: AccountSession | null
  }
  interface FastifyInstance {
    /**
     * An onRequest hook for the console's routes: 401 unless an account holder is signed in, 403 where another
     * site's page asks for a change. Reads PostgreSQL, so that what ends a session ends it at once.
     */
    requireSession(request: FastifyRequest, reply: FastifyReply): Promise<void>
  }
}

/** Sessions of account holders. Adds no hook; routes ask for it. */
export const accountSessions = plugin<SessionOptions>(
  async (app, { sessions, accounts, cookies, publicUrl }) => {
    app.decorateRequest('accountSession', null)
    app.decorate('requireSession', async (request: FastifyRequest, reply: FastifyReply) => {
      requireSameOrigin(request, publicUrl)
      const token = cookies.read(request, 'account')
      if (token === null) throw notSignedIn()
      const stored = await sessions.find(token)
      const account = stored?.accountId != null ? await accounts.find(stored.accountId) : null
      if (!stored || !account || account.state === 'suspended') {
        cookies.clear(reply, 'account')
        throw notSignedIn()
      }
      request.accountSession = { stored, account }
    })
  },
  { name: 'account-sessions', dependencies: ['answer-errors'] },
)

/** The session of a request that `requireSession` let through. */
export function signedIn({ accountSession }: FastifyRequest): AccountSession {
  if (accountSession === null) throw new Error('this route does not ask for a session')
  return accountSession
}

export const notSignedIn = (): ApiError =>
  new ApiError('not_signed_in', 'You are not signed in, or your session has ended. Sign in.', {
    challenge: 'Session',
  })
