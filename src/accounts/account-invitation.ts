import { DAY_MS } from '../core/kernel/time.ts'
import type { Account } from './account-store.ts'
import { type EmailTokenStore, INVITATION_DAYS } from './email-token-store.ts'

/** How long an invitation to choose a password is valid. */
const INVITATION_MS = INVITATION_DAYS * DAY_MS

/** How an invitation is sent: in a message, or as a link that the operator passes on. */
export type InvitationDelivery =
  | { kind: 'mailed' }
  /** `path` opens the page for choosing a password, relative to the gateway's URL. It is returned only once. */
  | { kind: 'link'; path: string }

/** Issues a token for choosing a password, for an account that an operator opened. */
export const issueInvitation = (
  tokens: Pick<EmailTokenStore, 'issue'>,
  accountId: string,
  email: string,
): ReturnType<EmailTokenStore['issue']> => tokens.issue(accountId, 'reset_password', email, INVITATION_MS)

export type Invite = (account: Pick<Account, 'id'> & { email: string }) => Promise<InvitationDelivery>

/** @param enqueue enqueues the message; null if the gateway sends no mail: the link is then returned */
export function createInvite(deps: {
  tokens: Pick<EmailTokenStore, 'issue'>
  enqueue: ((accountId: string) => Promise<void>) | null
}): Invite {
  const { tokens, enqueue } = deps
  return async ({ id, email }) => {
    if (enqueue) {
      await enqueue(id)
      return { kind: 'mailed' }
    }
    const { token } = await issueInvitation(tokens, id, email)
    return { kind: 'link', path: `/reset#${token}` }
  }
}
