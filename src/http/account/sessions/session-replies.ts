import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isPerson } from '../../../accounts/account-store.ts'
import type { SessionClient } from '../../../accounts/session-store.ts'
import type { BegunSession } from '../../../accounts/sign-in-service.ts'
import type { SessionView } from '../../../core/api/sessions.ts'
import { notSignedIn } from '../../plugins/session.ts'
import { sessionView } from '../account-view.ts'

/** The responses of routes after a sign-in. */
export function sessionReplies(app: Pick<FastifyInstance, 'accounts' | 'billing'>) {
  const { accounts, cookies, sessionMs } = app.accounts
  const keep = (reply: FastifyReply, { token }: Pick<BegunSession, 'token'>): void =>
    cookies.write(reply, 'account', token, new Date(Date.now() + sessionMs))
  /** For a session that acts on the person's own account. */
  const viewOf = async (accountId: string): Promise<SessionView> => {
    const account = await accounts.find(accountId)
    if (!account || !isPerson(account)) throw notSignedIn()
    return sessionView({ person: account, account, role: 'owner' }, app)
  }
  return {
    keep,
    /** Sets the cookie of a new session, and returns its view. */
    async begun(reply: FastifyReply, session: BegunSession): Promise<SessionView> {
      keep(reply, session)
      return viewOf(session.accountId)
    },
  }
}

/** The client of a request, as stored with sessions. */
export const clientOf = ({ ip, headers }: FastifyRequest): SessionClient => ({
  networkAddress: ip,
  userAgent: headers['user-agent'] ?? '',
})
