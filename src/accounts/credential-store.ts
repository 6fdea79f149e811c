import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'

export interface Credentials {
  accountId: string
  isSuspended: boolean
  /** Null: opened by an operator without a password. */
  passwordHash: string | null
}

export type CredentialStore = ReturnType<typeof createCredentialStore>

const FIND = `
SELECT account.id AS "accountId", account.state = 'suspended' AS "isSuspended",
       credential.password_hash AS "passwordHash"
FROM accounts AS account LEFT JOIN account_credentials AS credential ON credential.account_id = account.id`

async function replacePassword(
  transaction: PostgresTransaction,
  accountId: string,
  passwordHash: string,
): Promise<void> {
  await transaction.accountCredential.upsert({
    where: { accountId },
    create: { accountId, passwordHash },
    update: { passwordHash, changedAt: new Date() },
  })
  // The change of email may have been requested with the old password.
  await transaction.emailToken.deleteMany({ where: { accountId, purpose: { not: 'verify_email' } } })
  await transaction.emailChange.deleteMany({ where: { accountId, confirmedAt: null } })
  // So may a step that links another service or adds a passkey.
  await transaction.signInStep.deleteMany({ where: { accountId } })
  // Must follow the password: a concurrent new session has either waited for it or is visible here.
  await transaction.consoleSession.deleteMany({ where: { accountId } })
}

export function createCredentialStore(postgres: Postgres) {
  const first = async (condition: string, value: string): Promise<Credentials | null> => {
    const [row] = await postgres.$queryRawUnsafe<Credentials[]>(`${FIND} ${condition} LIMIT 1`, value)
    return row ?? null
  }
  return {
    /** By email, ignoring case; if two differ only in case, the exact match. */
    findByEmail: (email: string): Promise<Credentials | null> =>
      first('WHERE lower(account.email) = lower($1) ORDER BY account.email = $1 DESC', email),
    find: (accountId: string): Promise<Credentials | null> => first('WHERE account.id = $1', accountId),
    /** Sets the password of a new account, in the transaction that opens it. */
    async create(transaction: PostgresTransaction, accountId: string, passwordHash: string): Promise<void> {
      await transaction.accountCredential.create({ data: { accountId, passwordHash } })
    },
    /** Sets the password of an account and ends its sessions and the links sent for it. */
    async setPassword(accountId: string, passwordHash: string): Promise<void> {
      await postgres.$transaction((transaction) => replacePassword(transaction, accountId, passwordHash))
    },
    /** The same, in the transaction of the link that allows it. */
    replacePassword,
    /** The same if the current hash is the expected one; otherwise returns false without a change. */
    async changePassword(accountId: string, passwordHash: string, expectedHash: string): Promise<boolean> {
      return postgres.$transaction(async (transaction) => {
        const where = { accountId, passwordHash: expectedHash }
        // Locks the row, so that only one of several concurrent changes finds the expected hash.
        const { count } = await transaction.accountCredential.updateMany({ where, data: { passwordHash } })
        if (count === 0) return false
        await replacePassword(transaction, accountId, passwordHash)
        return true
      })
    },
  }
}
