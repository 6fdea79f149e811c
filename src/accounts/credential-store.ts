import type { Postgres } from '../platform/postgres.ts'

/** An account as signing in finds it. */
export interface Credentials {
  accountId: string
  isSuspended: boolean
  /** Null: it was opened by the operator and has no password. */
  passwordHash: string | null
}

export interface CredentialStore {
  /** By email, however it is capitalized; where two differ in that alone, the one written just so. */
  findByEmail(email: string): Promise<Credentials | null>
  find(accountId: string): Promise<Credentials | null>
  /** Gives an account a password, or another one. */
  setPassword(accountId: string, passwordHash: string): Promise<void>
}

const FIND = `
SELECT account.id AS "accountId", account.state = 'suspended' AS "isSuspended",
       credential.password_hash AS "passwordHash"
FROM accounts AS account LEFT JOIN account_credentials AS credential ON credential.account_id = account.id`

export function createCredentialStore(postgres: Postgres): CredentialStore {
  const first = async (condition: string, value: string): Promise<Credentials | null> => {
    const [row] = await postgres.$queryRawUnsafe<Credentials[]>(`${FIND} ${condition} LIMIT 1`, value)
    return row ?? null
  }
  return {
    findByEmail: (email) =>
      first('WHERE lower(account.email) = lower($1) ORDER BY account.email = $1 DESC', email),
    find: (accountId) => first('WHERE account.id = $1', accountId),
    async setPassword(accountId, passwordHash) {
      await postgres.accountCredential.upsert({
        where: { accountId },
        create: { accountId, passwordHash },
        update: { passwordHash, changedAt: new Date() },
      })
    },
  }
}
