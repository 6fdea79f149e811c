import { lastCharacters } from '../core/accounts/api-key.ts'
import { newId } from '../core/kernel/ids.ts'
import { BYOK_KEY_PURPOSE, byokKeyContext } from '../core/routing/byok.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { ProviderKey as ProviderKeyRow } from '../platform/prisma-client/client.ts'
import { createSealer, type MasterKeys } from '../platform/sealing.ts'

/** A BYOK key as stored, without the secret. */
export type StoredByokKey = Omit<ProviderKeyRow, keyof typeof HIDDEN>

export type NewByokKey = Pick<StoredByokKey, 'providerId' | 'name' | 'allowFallback'> & { secret: string }

export type ByokKeyChange = Partial<Pick<StoredByokKey, 'name' | 'allowFallback' | 'disabled'>>

/** BYOK keys. Rejects if a change could not be announced: it is then stored, and repeating it announces it. */
export type ByokKeyStore = ReturnType<typeof createByokKeyStore>

export const BYOK_KEYS_PER_ACCOUNT_MAX = 100

const HIDDEN = { secretSealed: true } as const

/** The BYOK key store over PostgreSQL; secrets are encrypted under the master key, bound to account and key. */
export function createByokKeyStore(options: {
  postgres: Postgres
  masterKeys: MasterKeys
  /** Announces a change of an account to every process, after it is committed. */
  announceAccount: (accountId: string) => Promise<void>
}) {
  const { postgres, announceAccount } = options
  const sealer = createSealer(options.masterKeys, BYOK_KEY_PURPOSE)
  return {
    /** Stores a key encrypted. Null if the account has reached the maximum. */
    async create(accountId: string, { secret, ...settings }: NewByokKey): Promise<StoredByokKey | null> {
      const id = newId('pkey')
      const secretSealed = sealer.seal(secret, byokKeyContext(accountId, id))
      const created = await postgres.$transaction(async (transaction) => {
        // The lock on the account's row serializes the count.
        await transaction.$queryRawUnsafe('SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
        const count = await transaction.providerKey.count({ where: { accountId } })
        if (count >= BYOK_KEYS_PER_ACCOUNT_MAX) return null
        return transaction.providerKey.create({
          data: { id, accountId, secretSealed, last4: lastCharacters(secret), ...settings },
          omit: HIDDEN,
        })
      })
      if (created) await announceAccount(accountId)
      return created
    },

    /** Oldest first; of one account, or all. */
    async list(accountId?: string): Promise<StoredByokKey[]> {
      return postgres.providerKey.findMany({
        ...(accountId !== undefined && { where: { accountId } }),
        orderBy: { id: 'asc' },
        omit: HIDDEN,
      })
    },

    /** Null if the account has no such key. */
    async find(accountId: string, keyId: string): Promise<StoredByokKey | null> {
      return postgres.providerKey.findFirst({ where: { id: keyId, accountId }, omit: HIDDEN })
    },

    /** Changes the non-secret fields; null if the account has no such key. */
    async update(accountId: string, keyId: string, change: ByokKeyChange): Promise<StoredByokKey | null> {
      const [changed] = await postgres.providerKey.updateManyAndReturn({
        where: { id: keyId, accountId },
        data: change,
        omit: HIDDEN,
      })
      if (changed) await announceAccount(accountId)
      return changed ?? null
    },

    /** Deletes a key and its secret; null if there is none (of this account, if given). */
    async remove(keyId: string, accountId?: string): Promise<StoredByokKey | null> {
      const removed = await postgres.$transaction(async (transaction) => {
        const where = { id: keyId, ...(accountId !== undefined && { accountId }) }
        const found = await transaction.providerKey.findFirst({ where, omit: HIDDEN })
        await transaction.providerKey.deleteMany({ where })
        return found
      })
      if (removed) await announceAccount(removed.accountId)
      return removed
    },
  }
}
