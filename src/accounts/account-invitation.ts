import type { Account } from './account-store.ts'
import type { EmailTokenStore } from './email-token-store.ts'

/** How long whoever is invited may take to choose a password. */
export const INVITATION_DAYS = 7
const INVITATION_MS = INVITATION_DAYS * 24 * 3_600_000

/** How an invitation reaches its account: in a message, or by whoever gets to see the link. */
export type SentInvitation =
  | { kind: 'mailed' }
  /** `path` opens the page to choose a password, from the gateway's address on. It is not shown again. */
  | { kind: 'link'; path: string }

/** A token by which the holder of an account chooses a password, for an account that an operator opened. */
export const issueInvitation = (
  tokens: Pick<EmailTokenStore, 'issue'>,
  accountId: string,
  email: string,
): ReturnType<EmailTokenStore['issue']> => tokens.issue(accountId, 'reset_password', email, INVITATION_MS)

export type Invite = (account: Pick<Account, 'id'> & { email: string }) => Promise<SentInvitation>

/** @param enqueue enqueues the message; null where no message leaves the gateway: the link is returned then */
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
