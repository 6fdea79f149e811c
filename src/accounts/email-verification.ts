import type { FreeCreditState } from '../core/api/sessions.ts'
import { type ApiError, invalid } from '../core/kernel/errors.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { EmailTokenStore } from './email-token-store.ts'
import type { FreeCredits } from './free-credit.ts'
import type { MakeSpendable } from './make-spendable.ts'
import type { SignInThrottle } from './sign-in-throttle.ts'

/** Email verification, if mail is configured. It also decides on a pending free credit. */
export type EmailVerification = ReturnType<typeof createEmailVerification>

export function createEmailVerification(deps: {
  postgres: Postgres
  tokens: EmailTokenStore
  freeCredits: Pick<FreeCredits, 'decideVerified'>
  throttle: Pick<SignInThrottle, 'verification' | 'verificationMail'>
  /** Enqueues the message. */
  enqueue: (accountId: string) => Promise<void>
  makeSpendable: MakeSpendable
}) {
  const { postgres, tokens, freeCredits, throttle, makeSpendable } = deps

  return {
    /** Enqueues the message with the link. Throws ApiError 429 if the mailbox had too many. */
    async send(accountId: string, email: string): Promise<void> {
      await throttle.verificationMail(email)
      await deps.enqueue(accountId)
    },

    /**
     * Uses a link once, before it expires, and decides on a pending free credit; null if there is none. Throws ApiError
     * for an invalid link. Rejects if PostgreSQL or Redis is unavailable; the link then stays valid.
     */
    async verify(token: string, networkAddress: string): Promise<FreeCreditState | null> {
      await throttle.verification(networkAddress)
      const verified = await postgres.$transaction(async (transaction) => {
        const used = await tokens.use(transaction, 'verify_email', token)
        if (!used) return null
        const freeCredit = await freeCredits.decideVerified(transaction, { ...used, networkAddress })
        // The address may have changed since the message was sent.
        const { count } = await transaction.account.updateMany({
          where: { id: used.accountId, email: used.email },
          data: { emailVerifiedAt: new Date() },
        })
        if (count === 0) throw noSuchLink()
        return { accountId: used.accountId, freeCredit }
      })
      if (!verified) throw noSuchLink()
      if (verified.freeCredit === 'granted') await makeSpendable(verified.accountId)
      return verified.freeCredit
    },
  }
}

export const noSuchLink = (): ApiError =>
  invalid('token', 'This link was used or has expired. Request a new one.')
