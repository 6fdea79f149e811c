import type { PostgresTransaction } from '../platform/postgres/postgres.ts'

/** The ways to use an account without its password. */
export interface WaysIn {
  /** Ids of the linked identity providers. */
  identities: string[]
  passkeys: number
  /** Number of unrevoked API keys. */
  apiKeys: number
}

/** Reads the ways to use an account. */
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
 * Removes all of them and the second factor; of the keys only those that the holder created, not an operator's. The
 * caller announces the account, so that its keys end everywhere.
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
