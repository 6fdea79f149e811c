import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { Identity as IdentityRow } from '../../platform/prisma-client/client.ts'

/** An account at an identity provider. */
export interface Identity {
  provider: string
  /** The provider's id of its user. */
  subject: string
  /** Normalized. */
  email: string
}

/** The links between identities and accounts. */
export type IdentityStore = ReturnType<typeof createIdentityStore>

export function createIdentityStore(postgres: Postgres) {
  return {
    async accountOf({ provider, subject }: Identity): Promise<string | null> {
      const row = await postgres.identity.findUnique({ where: { provider_subject: { provider, subject } } })
      return row?.accountId ?? null
    },

    list: (accountId: string): Promise<IdentityRow[]> =>
      postgres.identity.findMany({ where: { accountId }, orderBy: { createdAt: 'asc' } }),

    /** Links an identity in the transaction that opens its account. */
    async create(
      transaction: PostgresTransaction,
      accountId: string,
      { provider, subject, email }: Identity,
    ): Promise<void> {
      await transaction.identity.create({ data: { provider, subject, email, accountId } })
    },

    /** False if it is linked to another account, or the account to another identity of that provider. */
    async link(
      accountId: string,
      { provider, subject, email }: Identity,
      transaction: PostgresTransaction = postgres,
    ): Promise<boolean> {
      const data = [{ provider, subject, email, accountId }]
      return (await transaction.identity.createMany({ data, skipDuplicates: true })).count > 0
    },

    async unlink(accountId: string, provider: string): Promise<boolean> {
      const { count } = await postgres.identity.deleteMany({ where: { accountId, provider } })
      return count > 0
    },
  }
}
