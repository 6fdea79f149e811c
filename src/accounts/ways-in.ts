import type { PostgresTransaction } from '../platform/postgres/postgres.ts'

/** How an account can be used without its password. */
export interface WaysIn {
  /** Ids of the providers whose identities sign in to it. */
  identities: string[]
  passkeys: number
  /** API keys that are not revoked. */
  apiKeys: number
}

/** The ways in that an account has. */
export async function waysIn(transaction: PostgresTransaction, accountId: string): Promise<WaysIn> {
  const identities = await transaction.identity.findMany({
    where: { accountId },
    orderBy: { provider: 'asc' },
  })
  return {
    identities: identities.map(({ provider }) => provider),
    passkeys: await transaction.passkey.count({ where: { accountId } }),
    apiKeys: await transaction.apiKey.count({ where: { accountId, state: 'active' } }),
  }
}

/**
 * Removes them all, with the second factor; of keys those that its holder made, and not those of an operator. The caller
 * announces the account, so that its keys end everywhere.
 */
export async function removeWaysIn(transaction: PostgresTransaction, accountId: string): Promise<void> {
  const where = { accountId }
  await transaction.identity.deleteMany({ where })
  await transaction.passkey.deleteMany({ where })
  await transaction.accountTotp.deleteMany({ where })
  await transaction.recoveryCode.deleteMany({ where })
  await transaction.apiKey.updateMany({
    where: { accountId, createdBy: accountId, state: 'active' },
    data: { state: 'revoked', revokedAt: new Date() },
  })
}

/** Removes what sends prompts and events of the account elsewhere: its BYOK keys and webhooks. */
export async function removeWaysOut(transaction: PostgresTransaction, accountId: string): Promise<void> {
  const where = { accountId }
  await transaction.providerKey.deleteMany({ where })
  await transaction.webhookEndpoint.deleteMany({ where })
}
