import type { Postgres } from '../platform/postgres/postgres.ts'

const HAS_HOLDER = `
SELECT account.name IS NOT NULL
  OR EXISTS (SELECT FROM account_credentials AS it WHERE it.account_id = account.id)
  OR EXISTS (SELECT FROM identities AS it WHERE it.account_id = account.id)
  OR EXISTS (SELECT FROM passkeys AS it WHERE it.account_id = account.id) AS "hasHolder"
FROM accounts AS account WHERE account.id = $1`

/**
 * Whether a customer can sign in to an account: it has a password, a linked identity or a passkey, or it is an
 * organisation, whose members sign in.
 */
export type HasHolder = (accountId: string) => Promise<boolean>

export const createHasHolder =
  (postgres: Postgres): HasHolder =>
  async (accountId) => {
    const [row] = await postgres.$queryRawUnsafe<Array<{ hasHolder: boolean }>>(HAS_HOLDER, accountId)
    return row?.hasHolder ?? false
  }
