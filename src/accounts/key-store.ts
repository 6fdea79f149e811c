import {
  formatApiKey,
  type KeyKind,
  keyHint,
  lastCharacters,
  type RateLimits,
} from '../core/accounts/api-key.ts'
import type { SettingBounds } from '../core/accounts/key-authority.ts'
import type { MemberRole } from '../core/accounts/member-permissions.ts'
import type { BudgetedKey } from '../core/billing/budget.ts'
import type { GroupRule } from '../core/billing/group.ts'
import { SLOWED_REQUESTS_PER_MINUTE } from '../core/billing/uncharged-cost.ts'
import type { Guardrail } from '../core/guardrails/guardrail.ts'
import { newId } from '../core/kernel/ids.ts'
import type { ByokKey } from '../core/routing/byok.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import type { ApiKey as ApiKeyRow, Guardrail as GuardrailRow } from '../platform/prisma-client/client.ts'
import { type AccountState, escapeLike } from './account-store.ts'
import { IMPORTED_HASH, importedKeyId, type KeyHasher } from './key-hash.ts'
import type { StoredOperator } from './operators/operator-store.ts'

/** A key as stored: everything but the secret and its hash. */
export type StoredKey = Omit<ApiKeyRow, keyof typeof HIDDEN>

export type OperatorOfKey = Pick<StoredOperator, keyof typeof OPERATOR>

/** A key with the state of its account, null for admin keys. */
export interface KeyWithAccount extends StoredKey {
  accountState: AccountState | null
  /** The owner of an admin key; null for keys of accounts. */
  operator: OperatorOfKey | null
  /** Limits over all keys of the account. */
  accountLimits: RateLimits
  /** The account's active BYOK keys, oldest first. */
  byokKeys: ByokKey[]
  /** The creator; null for admin keys. */
  creator: KeyCreator | null
  /** The spend cap of the account. */
  accountLimitPico: bigint | null
  groups: GroupRule[]
  guardrails: Guardrail[]
  /** Ids of the surfaces that were granted to the key, its account or all accounts. */
  surfaces: string[]
  /** The secret that it was found by was replaced, and is valid until then. */
  secretUntil?: Date
}

export type NewKey = Pick<
  StoredKey,
  'name' | 'limitPico' | 'limitReset' | 'expiresAt' | 'requestsPerMinute' | 'concurrentCalls'
> &
  Partial<
    Pick<
      StoredKey,
      | 'customerRequestsPerMinute'
      | 'customerConcurrentCalls'
      | 'allowedModels'
      | 'allowedProviders'
      | 'createdBy'
      | 'scopes'
      | 'project'
    >
  > & { bounds?: SettingBounds }

/** The editable settings of a key; absent: unchanged, null: none. */
export type KeyEdit = Partial<
  Omit<NewKey, 'bounds'> & Pick<StoredKey, 'pausedAt' | 'promptLogDays' | 'cacheSeconds'>
>

/** An edit with the authority that makes it. */
export type AuthorizedEdit = KeyEdit & Partial<Pick<StoredKey, 'pausedBy'> & Pick<NewKey, 'bounds'>>

export interface KeyBounds {
  active: number
  /** Including revoked keys, which stay in the list. */
  inAll: number
}

type KeyCreation =
  | { kind: 'created'; key: StoredKey; secret: string }
  | { kind: 'too-many-active' }
  | { kind: 'too-many' }

export type KeyStore = ReturnType<typeof createKeyStore>

/** Only the lookup needs the hash. */
const HIDDEN = { hash: true, hashMasterKeyId: true, previousHash: true } as const

const GRANTS = { select: { surface: true }, orderBy: { surface: 'asc' } } as const

/** The account columns that a key lookup reads. */
const ACCOUNT = {
  state: true,
  requestsPerMinute: true,
  concurrentCalls: true,
  monthlyLimitPico: true,
  slowedAt: true,
  guardrails: { where: { keyId: null } },
  providerKeys: {
    where: { disabled: false },
    orderBy: { id: 'asc' },
    select: { id: true, providerId: true, allowFallback: true },
  },
  surfaceGrants: GRANTS,
} as const

const OPERATOR = { id: true, name: true, role: true, state: true } as const

/** The relations that a key lookup reads. */
const BESIDE = {
  account: { select: ACCOUNT },
  operator: { select: OPERATOR },
  surfaceGrants: GRANTS,
  guardrails: true,
} as const

/** As many keys as a search by name reads. */
const NAMED_MAX = 1_000

/** The lock on the account's row serializes counting its keys. */
const LOCK_ACCOUNT = 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE'

const COUNT = `
SELECT count(*)::int AS "inAll", (count(*) FILTER (WHERE state = 'active'))::int AS active
FROM api_keys WHERE account_id = $1`

const BY_HASH = `
SELECT id, hash = ANY ($1::bytea[]) AS "isCurrent" FROM api_keys
WHERE hash = ANY ($1::bytea[]) OR (previous_hash = ANY ($1::bytea[]) AND previous_until > now())`

/** A key that was taken over from a former member has no secret that could stay valid. */
const ROTATE = `
UPDATE api_keys SET hash = $2, hash_master_key_id = $3, prefix = $4, suffix = $5,
  previous_hash = CASE WHEN $6::bigint > 0 AND suffix <> '' THEN hash END,
  previous_until = CASE WHEN $6::bigint > 0 AND suffix <> '' THEN now() + $6::bigint * interval '1 ms' END
WHERE id = $1 AND kind = 'standard' AND state = 'active'`

/** The key store over PostgreSQL. `randomBytes` is the source of new secrets. */
export function createKeyStore(
  postgres: Postgres,
  hasher: KeyHasher,
  randomBytes: (count: number) => Uint8Array,
) {
  const hashed = (secret: string) => ({
    hash: hasher.hash(secret),
    hashMasterKeyId: hasher.masterKeyId,
    ...keyHint(secret),
  })

  const insert = async (
    client: PostgresTransaction,
    owner: { accountId: string } | { operatorId: string },
    settings: NewKey,
  ) => {
    const kind: KeyKind = 'operatorId' in owner ? 'admin' : 'standard'
    const secret = formatApiKey(kind, randomBytes(32))
    const key = await client.apiKey.create({
      data: {
        id: newId('key'),
        ...owner,
        kind,
        ...hashed(secret),
        ...settings,
      },
      omit: HIDDEN,
    })
    return { key, secret }
  }

  const withRelations = async <
    Key extends Parameters<typeof withAccount>[0] &
      Parameters<typeof keyCreatorOf>[1] &
      Parameters<typeof groupRulesOf>[1],
  >(
    key: Key,
  ) => {
    const [creator, grantsToAll, groups] = await Promise.all([
      keyCreatorOf(postgres, key),
      postgres.surfaceGrant.findMany({ where: { accountId: null, keyId: null }, ...GRANTS }),
      groupRulesOf(postgres, key),
    ])
    return { ...withAccount(key, creator, grantsToAll), groups }
  }

  return {
    /** Issues a key of an account. Only this result contains the secret. */
    create: (accountId: string, settings: NewKey): Promise<{ key: StoredKey; secret: string }> =>
      insert(postgres, { accountId }, settings),

    /** The same for a key of another gateway, known by its SHA-256, whose secret stays valid. */
    adopt: (accountId: string, settings: NewKey, sha256: Uint8Array<ArrayBuffer>): Promise<StoredKey> =>
      postgres.apiKey.create({
        data: {
          ...{
            id: importedKeyId(sha256),
            accountId,
            kind: 'standard',
            hash: sha256,
            hashMasterKeyId: IMPORTED_HASH,
          },
          ...{ prefix: 'sk-', suffix: '', ...settings },
        },
        omit: HIDDEN,
      }),

    /** The same of an operator: an admin key. */
    createOfOperator: (operatorId: string, settings: NewKey): Promise<{ key: StoredKey; secret: string }> =>
      insert(postgres, { operatorId }, settings),

    /** The same with a maximum number of keys, which also holds for concurrent creations. */
    async createWithin(accountId: string, settings: NewKey, bounds: KeyBounds): Promise<KeyCreation> {
      return postgres.$transaction(async (transaction): Promise<KeyCreation> => {
        await transaction.$queryRawUnsafe(LOCK_ACCOUNT, accountId)
        const [count] = await transaction.$queryRawUnsafe<KeyBounds[]>(COUNT, accountId)
        if (!count || count.active >= bounds.active) return { kind: 'too-many-active' }
        if (count.inAll >= bounds.inAll) return { kind: 'too-many' }
        return { kind: 'created', ...(await insert(transaction, { accountId }, settings)) }
      })
    },

    /** Admin keys, newest first; of one operator, or all. */
    listOfOperators: (operatorId?: string): Promise<StoredKey[]> =>
      postgres.apiKey.findMany({
        where: { kind: 'admin', ...(operatorId !== undefined && { operatorId }) },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        omit: HIDDEN,
      }),

    /** Newest first; of one account, or all. */
    async list(accountId?: string): Promise<StoredKey[]> {
      return postgres.apiKey.findMany({
        ...(accountId !== undefined && { where: { accountId } }),
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        omit: HIDDEN,
      })
    },

    /** The keys, of one account or all, whose names have a text, or whose id it is; at most a thousand. */
    async idsNamed(text: string, accountId: string | null): Promise<string[]> {
      const keys = await postgres.apiKey.findMany({
        where: {
          ...(accountId !== null && { accountId }),
          OR: [{ id: text }, { name: { contains: escapeLike(text), mode: 'insensitive' } }],
        },
        select: { id: true },
        take: NAMED_MAX,
      })
      return keys.map(({ id }) => id)
    },

    async names(ids: readonly string[]): Promise<Map<string, string>> {
      const keys = await postgres.apiKey.findMany({
        where: { id: { in: [...ids] } },
        select: { id: true, name: true },
      })
      return new Map(keys.map(({ id, name }) => [id, name]))
    },

    /** Revokes a key permanently; idempotent. Null if there is no such key. */
    async revoke(keyId: string, now: Date): Promise<StoredKey | null> {
      await postgres.apiKey.updateMany({
        where: { id: keyId, state: 'active' },
        data: { state: 'revoked', revokedAt: now },
      })
      return postgres.apiKey.findUnique({ where: { id: keyId }, omit: HIDDEN })
    },

    /**
     * Replaces the secret of an active key; only this result contains the new one. The former is valid for `graceMs` more, one
     * before it no longer. Null if there is no such key.
     */
    async rotateSecret(keyId: string, graceMs: number): Promise<{ key: StoredKey; secret: string } | null> {
      const secret = formatApiKey('standard', randomBytes(32))
      const { hash, hashMasterKeyId, prefix, suffix } = hashed(secret)
      const written = [keyId, hash, hashMasterKeyId, prefix, suffix, BigInt(graceMs)]
      const count = await postgres.$executeRawUnsafe(ROTATE, ...written)
      const key =
        count === 0 ? null : await postgres.apiKey.findUnique({ where: { id: keyId }, omit: HIDDEN })
      return key && { key, secret }
    },

    async findBySecret(secret: string): Promise<KeyWithAccount | null> {
      const [named] = await postgres.$queryRawUnsafe<Array<{ id: string; isCurrent: boolean }>>(
        BY_HASH,
        hasher.hashes(secret),
      )
      // A well-formed key can be invented; it costs only this statement.
      if (!named) return null
      const found = await postgres.apiKey.findUnique({
        where: { id: named.id },
        omit: { hash: true, previousHash: true },
        include: BESIDE,
      })
      if (!found) return null
      const { hashMasterKeyId, ...key } = found
      const { isCurrent } = named
      if (isCurrent && hashMasterKeyId !== hasher.masterKeyId)
        await moveHash(postgres, key.id, secret, hasher, hashMasterKeyId === IMPORTED_HASH)
      const secretUntil = isCurrent ? null : key.previousUntil
      return { ...(await withRelations(key)), ...(secretUntil && { secretUntil }) }
    },

    async find(keyId: string): Promise<KeyWithAccount | null> {
      const found = await postgres.apiKey.findUnique({
        where: { id: keyId },
        omit: HIDDEN,
        include: BESIDE,
      })
      return found && withRelations(found)
    },
  }
}

type Grants = Array<{ surface: string }>
type AccountOfKey = RateLimits & {
  state: AccountState
  monthlyLimitPico: bigint | null
  slowedAt: Date | null
  providerKeys: ByokKey[]
  surfaceGrants: Grants
  guardrails: GuardrailRow[]
}

const withAccount = <
  Key extends { account: AccountOfKey | null; surfaceGrants: Grants; guardrails: GuardrailRow[] },
>(
  { account, surfaceGrants, guardrails, ...key }: Key,
  creator: KeyCreator | null,
  grantsToAll: Grants,
) => ({
  ...key,
  creator,
  accountState: account?.state ?? null,
  accountLimits: {
    requestsPerMinute: account && requestsPerMinuteOf(account),
    concurrentCalls: account?.concurrentCalls ?? null,
  },
  accountLimitPico: account?.monthlyLimitPico ?? null,
  byokKeys: account?.providerKeys ?? [],
  guardrails: [...(account?.guardrails ?? []), ...guardrails] as Guardrail[],
  surfaces: [...surfaceGrants, ...(account ? [...account.surfaceGrants, ...grantsToAll] : [])].map(
    ({ surface }) => surface,
  ),
})

/** A slowed account has at most the limit of the slowdown. */
function requestsPerMinuteOf({ requestsPerMinute, slowedAt }: AccountOfKey): number | null {
  if (slowedAt === null) return requestsPerMinute
  return Math.min(requestsPerMinute ?? SLOWED_REQUESTS_PER_MINUTE, SLOWED_REQUESTS_PER_MINUTE)
}

/** Rehashes a key that is used after a change of the master key, or after it was imported. */
async function moveHash(
  postgres: Postgres,
  id: string,
  secret: string,
  hasher: KeyHasher,
  isImported: boolean,
): Promise<void> {
  const data = {
    ...{ hash: hasher.hash(secret), hashMasterKeyId: hasher.masterKeyId },
    ...(isImported && { suffix: lastCharacters(secret) }),
  }
  await postgres.apiKey.update({ where: { id }, data })
}

const LOCK_KEY = 'SELECT id FROM api_keys WHERE id = $1 FOR UPDATE'

/**
 * Changes a key as `decide` returns for its current settings, which are locked meanwhile. Resolves with false if there
 * is no such key in use, and rejects with the error of `decide`.
 */
export const editKey = (
  postgres: Postgres,
  keyId: string,
  decide: (key: StoredKey) => AuthorizedEdit,
): Promise<boolean> =>
  postgres.$transaction(async (transaction) => {
    await transaction.$queryRawUnsafe(LOCK_KEY, keyId)
    const key = await transaction.apiKey.findUnique({ where: { id: keyId }, omit: HIDDEN })
    if (key?.state !== 'active') return false
    await transaction.apiKey.update({ where: { id: keyId }, data: decide(key), select: { id: true } })
    return true
  })

/** The current data of a key's creator that the key depends on. */
interface KeyCreator {
  /** The role in the account; null: no longer a member. */
  role: MemberRole | null
  isSuspended: boolean
  /** Monthly spending limit of the creator's keys; null: no budget. */
  memberBudget: BudgetedKey['memberBudget']
}

/** The data for the holder of a personal account, whose state is the account's own, and for operators, who are above it. */
const OWNER: KeyCreator = { role: 'owner', isSuspended: false, memberBudget: null }

/** The budget of a key's project, and the account's rules for values. */
async function groupRulesOf(
  postgres: Postgres,
  { accountId, project }: { accountId: string | null; project: string | null },
): Promise<GroupRule[]> {
  if (accountId === null) return []
  const ofProject = project === null ? [] : [{ scope: 'project', value: project }]
  const rules = await postgres.groupBudget.findMany({
    where: { accountId, OR: [{ value: '' }, ...ofProject] },
    select: { scope: true, value: true, tag: true, limitPico: true, limitReset: true },
    orderBy: { scope: 'asc' },
  })
  return rules as GroupRule[]
}

/** The creator of a key; null for admin keys, which belong to no account. */
async function keyCreatorOf(
  postgres: Postgres,
  { accountId, createdBy: personId }: { accountId: string | null; createdBy: string | null },
): Promise<KeyCreator | null> {
  if (accountId === null) return null
  if (personId === null || personId === accountId) return OWNER
  const member = await postgres.organisationMember.findUnique({
    where: { accountId_personId: { accountId, personId } },
    select: { role: true, monthlyBudgetPico: true, person: { select: { state: true } } },
  })
  if (!member) return { role: null, isSuspended: false, memberBudget: null }
  const { role, monthlyBudgetPico: limitPico, person } = member
  return {
    role,
    isSuspended: person.state === 'suspended',
    memberBudget: limitPico === null ? null : { memberId: personId, limitPico },
  }
}
