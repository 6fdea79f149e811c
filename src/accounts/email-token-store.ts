import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import { hashOfToken, isToken, newToken } from './secret-token.ts'

const VALID_MS = 24 * 3_600_000

/**
 * Links that verify the email of an account with pending free credit. Each is valid for 24 hours, together with
 * earlier ones, until the first of them is used.
 */
export type EmailTokenStore = ReturnType<typeof createEmailTokenStore>

const FIND = `
SELECT account.id AS "accountId", account.email
FROM email_tokens AS token JOIN accounts AS account ON account.id = token.account_id
WHERE token.token_hash = $1 AND token.expires_at > now()`

export function createEmailTokenStore(postgres: Postgres) {
  return {
    /** A new token and its recipient; null if the account has nothing pending. */
    async issue(accountId: string): Promise<{ token: string; email: string } | null> {
      const waits = { accountId, state: 'unverified' as const }
      const [account, waiting] = await Promise.all([
        postgres.account.findUnique({ where: { id: accountId }, select: { email: true } }),
        postgres.freeCredit.findFirst({ where: waits }),
      ])
      if (!account || !waiting) return null
      const token = newToken()
      await postgres.emailToken.deleteMany({ where: { accountId, expiresAt: { lt: new Date() } } })
      await postgres.emailToken.create({
        data: { tokenHash: hashOfToken(token), accountId, expiresAt: new Date(Date.now() + VALID_MS) },
      })
      return { token, email: account.email }
    },

    /** The account of a valid token, with its email; else null. Read-only. */
    async find(
      transaction: PostgresTransaction,
      token: string,
    ): Promise<{ accountId: string; email: string } | null> {
      if (!isToken(token)) return null
      const [row] = await transaction.$queryRawUnsafe<Array<{ accountId: string; email: string }>>(
        FIND,
        hashOfToken(token),
      )
      return row ?? null
    },

    async end(transaction: PostgresTransaction, accountId: string): Promise<void> {
      await transaction.emailToken.deleteMany({ where: { accountId } })
    },
  }
}
