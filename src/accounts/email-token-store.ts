import { HOUR_MS } from '../core/kernel/time.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import { hashOfToken, isToken, newToken } from './secret-token.ts'

export const INVITATION_DAYS = 7

/** The purposes of links in messages, and their validity. */
const VALID_MS = {
  verify_email: 24 * HOUR_MS,
  change_email: 24 * HOUR_MS,
  reset_password: HOUR_MS,
  /** For the account of an organisation. */
  invitation: INVITATION_DAYS * 24 * HOUR_MS,
}
export type EmailTokenPurpose = keyof typeof VALID_MS

export interface IssuedToken {
  token: string
  /** The recipient. */
  email: string
}

/**
 * Tokens of the links in messages. Several of one purpose are valid together; the first use ends them all. Only
 * their hashes are stored.
 */
export type EmailTokenStore = ReturnType<typeof createEmailTokenStore>

const USE = `
DELETE FROM email_tokens WHERE token_hash = $1 AND purpose = $2 AND expires_at > now()
RETURNING account_id AS "accountId", email`

export function createEmailTokenStore(postgres: Postgres) {
  const issue = async (
    accountId: string,
    purpose: EmailTokenPurpose,
    email: string,
    validMs: number = VALID_MS[purpose],
  ): Promise<IssuedToken> => {
    const token = newToken()
    await postgres.emailToken.deleteMany({ where: { accountId, expiresAt: { lt: new Date() } } })
    const expiresAt = new Date(Date.now() + validMs)
    await postgres.emailToken.create({
      data: { tokenHash: hashOfToken(token), accountId, purpose, email, expiresAt },
    })
    return { token, email }
  }
  return {
    issue,

    /** A token that verifies the email of an account; null if it is verified. */
    async issueVerification(accountId: string): Promise<IssuedToken | null> {
      const account = await postgres.account.findUnique({
        where: { id: accountId },
        select: { email: true, emailVerifiedAt: true },
      })
      return account?.email && account.emailVerifiedAt === null
        ? issue(accountId, 'verify_email', account.email)
        : null
    },

    /** The account and recipient of a valid token, which stays valid; otherwise null. */
    async find(
      purpose: EmailTokenPurpose,
      token: string,
    ): Promise<{ accountId: string; email: string } | null> {
      if (!isToken(token)) return null
      return postgres.emailToken.findFirst({
        where: { tokenHash: hashOfToken(token), purpose, expiresAt: { gt: new Date() } },
        select: { accountId: true, email: true },
      })
    },

    /** Uses a valid token and ends all others of its account and purpose. Returns its account and recipient; otherwise null. */
    async use(
      transaction: PostgresTransaction,
      purpose: EmailTokenPurpose,
      token: string,
    ): Promise<{ accountId: string; email: string } | null> {
      if (!isToken(token)) return null
      const [used] = await transaction.$queryRawUnsafe<Array<{ accountId: string; email: string }>>(
        USE,
        hashOfToken(token),
        purpose,
      )
      if (!used) return null
      await transaction.emailToken.deleteMany({ where: { accountId: used.accountId, purpose } })
      return used
    },
  }
}
