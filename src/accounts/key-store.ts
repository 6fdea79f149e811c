import type { LimitReset } from '../core/allowance-period.ts'
import { formatApiKey, type KeyKind, keyHint } from '../core/api-key.ts'
import type { OwnProviderKey } from '../core/byok.ts'
import { newId } from '../core/ids.ts'
import type { PicoUsd } from '../core/money.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { AccountState } from './account-store.ts'
import type { KeyHasher } from './key-hash.ts'

/** A key as stored: everything but the secret. */
export interface StoredKey {
  id: string
  /** Null for admin keys. */
  accountId: string | null
  kind: KeyKind
  /** First 10 and last 4 characters of the secret. */
  prefix: string
  suffix: string
  name: string
  limitPico: bigint | null
  limitReset: LimitReset
  expiresAt: Date | null
  requestsPerMinute: number | null
  concurrentCalls: number | null
  state: 'active' | 'revoked'
  createdAt: Date
  revokedAt: Date | null
}

/** A key with the state of its account, which decides with it; null for admin keys. */
export interface KeyWithAccount extends StoredKey {
  accountState: AccountState | null
  /** The account's own keys at providers that are in use, oldest first. */
  providerKeys: OwnProviderKey[]
}

export interface NewKey {
  name: string
  limitPico: PicoUsd | null
  limitReset: LimitReset
  expiresAt: Date | null
  requestsPerMinute: number | null
  concurrentCalls: number | null
}

export interface KeyStore {
  /** Issues a key of an account, or an admin key for null. The secret is returned here and never again. */
  create(accountId: string | null, settings: NewKey): Promise<{ key: StoredKey; secret: string }>
  /** Newest first; of one account, or all. */
  list(accountId?: string): Promise<StoredKey[]>
  /** Revokes a key for good; revoking again changes nothing. Null when there is no such key. */
  revoke(keyId: string, now: Date): Promise<StoredKey | null>
  findBySecret(secret: string): Promise<KeyWithAccount | null>
  find(keyId: string): Promise<KeyWithAccount | null>
}

/** Every column but the hash, which nothing outside the lookup needs. */
const STORED = {
  id: true,
  accountId: true,
  kind: true,
  prefix: true,
  suffix: true,
  name: true,
  limitPico: true,
  limitReset: true,
  expiresAt: true,
  requestsPerMinute: true,
  concurrentCalls: true,
  state: true,
  createdAt: true,
  revokedAt: true,
} as const

/** What an API key's lookup reads of its account. */
const ACCOUNT = {
  state: true,
  providerKeys: {
    where: { disabled: false },
    orderBy: { id: 'asc' },
    select: { id: true, providerId: true, allowFallback: true },
  },
} as const

/** The key store over PostgreSQL. `randomBytes` is the source of new secrets. */
export function createKeyStore(
  postgres: Postgres,
  hasher: KeyHasher,
  randomBytes: (count: number) => Uint8Array,
): KeyStore {
  return {
    async create(accountId, settings) {
      const kind: KeyKind = accountId === null ? 'admin' : 'standard'
      const secret = formatApiKey(kind, randomBytes(32))
      const key = await postgres.apiKey.create({
        data: {
          id: newId('key'),
          accountId,
          kind,
          hash: hasher.hash(secret),
          hashMasterKeyId: hasher.masterKeyId,
          ...keyHint(secret),
          ...settings,
        },
        select: STORED,
      })
      return { key, secret }
    },

    async list(accountId) {
      return postgres.apiKey.findMany({
        ...(accountId !== undefined && { where: { accountId } }),
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        select: STORED,
      })
    },

    async revoke(keyId, now) {
      await postgres.apiKey.updateMany({
        where: { id: keyId, state: 'active' },
        data: { state: 'revoked', revokedAt: now },
      })
      return postgres.apiKey.findUnique({ where: { id: keyId }, select: STORED })
    },

    async findBySecret(secret) {
      const found = await postgres.apiKey.findFirst({
        where: { hash: { in: hasher.hashes(secret) } },
        select: { ...STORED, hashMasterKeyId: true, account: { select: ACCOUNT } },
      })
      if (!found) return null
      const { account, hashMasterKeyId, ...key } = found
      if (hashMasterKeyId !== hasher.masterKeyId) await moveHash(postgres, key.id, secret, hasher)
      return { ...key, accountState: account?.state ?? null, providerKeys: account?.providerKeys ?? [] }
    },

    async find(keyId) {
      const found = await postgres.apiKey.findUnique({
        where: { id: keyId },
        select: { ...STORED, account: { select: ACCOUNT } },
      })
      if (!found) return null
      const { account, ...key } = found
      return { ...key, accountState: account?.state ?? null, providerKeys: account?.providerKeys ?? [] }
    },
  }
}

/** A key that is used after a change of the master key stands under the new one from then on. */
async function moveHash(postgres: Postgres, id: string, secret: string, hasher: KeyHasher): Promise<void> {
  const data = { hash: hasher.hash(secret), hashMasterKeyId: hasher.masterKeyId }
  await postgres.apiKey.update({ where: { id }, data })
}
