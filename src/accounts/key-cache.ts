import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { isImportedForm, type KeyKind, type LimitSettings, parseApiKey } from '../core/accounts/api-key.ts'
import type { KeyAuthority } from '../core/accounts/key-authority.ts'
import { effectiveScopes, type KeyScope } from '../core/accounts/key-scope.ts'
import type { MemberRole } from '../core/accounts/member-permissions.ts'
import type { OperatorRole } from '../core/accounts/operator-permissions.ts'
import type { LimitReset } from '../core/billing/allowance-period.ts'
import type { BudgetedKey } from '../core/billing/budget.ts'
import type { Guardrail } from '../core/guardrails/guardrail.ts'
import { MINUTE_MS } from '../core/kernel/time.ts'
import { type AllowList, readAllowList } from '../core/routing/allow-list.ts'
import type { ByokKey } from '../core/routing/byok.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'
import { type KeyChange, watchKeyChanges } from '../platform/redis/key-changes.ts'
import type { Redis } from '../platform/redis/redis.ts'

/** The data of a key that admission needs. */
export interface KeyRecord extends LimitSettings {
  keyId: string
  /** Null for admin keys. */
  accountId: string | null
  kind: KeyKind
  /** The owner of an admin key; null for keys of accounts. */
  operator: { id: string; name: string; role: OperatorRole } | null
  state: 'active' | 'revoked'
  /** The authority that paused it; null: not paused. */
  pausedBy: KeyAuthority | null
  name: string
  /** The personal account of its creator; null: unknown. */
  createdBy: string | null
  limitPico: bigint | null
  limitReset: LimitReset
  /** Monthly spending limit of all keys of its creator; null: no budget. */
  memberBudget: BudgetedKey['memberBudget']
  /** Monthly spending limit of all keys of the account; null: no cap. */
  accountLimitPico: bigint | null
  /** Absent: none. */
  groups?: BudgetedKey['groups']
  /** Unix milliseconds; null: never. */
  expiresAt: number | null
  /** The account's BYOK keys without their secrets, for planning a call. */
  byokKeys: readonly ByokKey[]
  /** Ids of the surfaces that were granted to the key, its account or all accounts. */
  surfaces: readonly string[]
  /** The permitted models and providers. Absent: all. */
  allowList?: AllowList
  /** Its permissions besides calls, limited by the current role of its creator. */
  scopes: readonly KeyScope[]
  /** Retention of prompts and completions in days. Absent: not kept. */
  promptLogDays?: number
  /** How old a cached response may be that answers a call without a header about it. Absent: none answers it. */
  cacheSeconds?: number
  /** Asked about its prompts and answers, those of all keys of the account first. Absent: none. */
  guardrails?: readonly Guardrail[]
}

/** A key as PostgreSQL has it. */
export interface FoundKey
  extends Omit<
    KeyRecord,
    | 'keyId'
    | 'operator'
    | 'memberBudget'
    | 'expiresAt'
    | 'allowList'
    | 'scopes'
    | 'promptLogDays'
    | 'cacheSeconds'
  > {
  id: string
  operator: (NonNullable<KeyRecord['operator']> & { state: 'active' | 'disabled' }) | null
  /** Null for admin keys. */
  accountState: string | null
  creator: {
    /** Null: no longer a member. */
    role: MemberRole | null
    isSuspended: boolean
    memberBudget: KeyRecord['memberBudget']
  } | null
  pausedAt: Date | null
  expiresAt: Date | null
  scopes: string[]
  allowedModels: string[]
  allowedProviders: string[]
  promptLogDays: number | null
  cacheSeconds: number | null
  /** When the secret that it was found by ends; absent: with the key. */
  secretUntil?: Date
}

/** A key that may call models: it belongs to an account. */
export type StandardKey = KeyRecord & { accountId: string }

/** An active key of an account without settings: no budget, and the limits of the gateway. */
export const plainKey = (accountId: string, keyId: string): StandardKey => ({
  keyId,
  accountId,
  kind: 'standard',
  operator: null,
  state: 'active',
  pausedBy: null,
  name: '',
  createdBy: null,
  limitPico: null,
  limitReset: 'none',
  memberBudget: null,
  accountLimitPico: null,
  expiresAt: null,
  requestsPerMinute: null,
  concurrentCalls: null,
  customerRequestsPerMinute: null,
  customerConcurrentCalls: null,
  accountLimits: { requestsPerMinute: null, concurrentCalls: null },
  byokKeys: [],
  surfaces: [],
  scopes: [],
})

export type KeyLookup =
  /** `suspended`: its account is; `creator_suspended`: its creator is; `disabled`: its operator is. */
  | { kind: 'paused' | 'revoked' | 'expired' | OwnerState; key: KeyRecord }
  /** Malformed, mistyped or never issued. */
  | { kind: 'unknown' }
  /** Not cached, and PostgreSQL is unavailable. */
  | { kind: 'unavailable' }
  /** Not cached, and its network looked up too many nonexistent keys. */
  | { kind: 'throttled' }

/**
 * Key lookup by secret, for the API tier: one PostgreSQL query on a key's first call, then memory. Returns a plain
 * value if cached, so that the hot path never waits; `await` accepts both.
 *
 * Freshness: change messages evict the named entries, and a missed message evicts everything. As a
 * fallback, for unannounced changes, an entry is reloaded after `refreshMs`, and stays in use
 * while PostgreSQL is unavailable.
 */
export type KeyCache = Awaited<ReturnType<typeof startKeyCache>>

export interface KeyCacheOptions {
  keys: { findBySecret: (secret: string) => Promise<FoundKey | null> }
  /** For polling the change counter. */
  redis: Redis
  /** A connection for this cache's subscription. The caller closes it. */
  subscriber: Redis
  logger: Logger
  clock: () => number
  maxEntries?: number
  /** Maximum concurrent PostgreSQL queries; further lookups are `unavailable`. */
  maxMisses?: number
  pollMs?: number
  refreshMs?: number
}

/** State of a key's account, its creator, or the operator of an admin key. */
type OwnerState = 'active' | 'suspended' | 'creator_suspended' | 'disabled'

interface Entry {
  key: KeyRecord
  owner: OwnerState
  /** When the secret ends, which was replaced by another; absent: with the key. Unix milliseconds. */
  secretUntil?: number
  refreshAt: number
}

/** Result of a PostgreSQL read: an entry, no such key, or null if it was unavailable. */
type Reading = Entry | 'unknown' | null

/** Well-formed secrets of nonexistent keys; separate, so that guesses cannot evict keys. */
const UNKNOWN_MAX = 10_000
/** Failed lookups per minute of one IPv4 address or IPv6 /64. */
const UNKNOWN_PER_NETWORK_MAX = 100
const NETWORKS_MAX = 10_000

/** Subscribes, reads the change counter, and starts polling. Waits for Redis. */
export async function startKeyCache(options: KeyCacheOptions) {
  const { keys, redis, subscriber, logger, clock, refreshMs = 60_000, maxMisses = 1_000 } = options
  /** The entries that a change of a key or of an account names, by its id. */
  const named = new Map<string, Set<string>>()
  const entries = new LRUCache<string, Entry>({
    // With `max` it would take the memory of all at the start.
    maxSize: options.maxEntries ?? 100_000,
    sizeCalculation: () => 1,
    onInsert: ({ key }, id) => {
      for (const name of namesOf(key)) named.set(name, (named.get(name) ?? new Set()).add(id))
    },
    // Also before another entry replaces it.
    dispose: ({ key }, id) => {
      for (const name of namesOf(key)) {
        const ids = named.get(name)
        ids?.delete(id)
        if (ids?.size === 0) named.delete(name)
      }
    },
  })
  const unknown = new LRUCache<string, true>({ max: UNKNOWN_MAX, ttl: refreshMs })
  const strangers = new LRUCache<string, number>({ max: NETWORKS_MAX, ttl: MINUTE_MS, noUpdateTTL: true })
  const misses = new Map<string, Promise<Reading>>()
  const listeners: Array<(change: KeyChange) => void> = []
  /** Counts evictions, so that a value read before an eviction is not cached after it. */
  let drops = 0

  const count = (subnet: string, by: number) => strangers.set(subnet, (strangers.get(subnet) ?? 0) + by)
  const dropAll = () => {
    drops += 1
    entries.clear()
  }
  const drop = (change: KeyChange): void => {
    if ('everyAccount' in change) return dropAll()
    drops += 1
    const ids = named.get('keyId' in change ? change.keyId : change.accountId)
    for (const id of ids ? [...ids] : []) entries.delete(id)
  }

  const read = async (id: string, secret: string): Promise<Reading> => {
    const dropsBefore = drops
    try {
      const found = await keys.findBySecret(secret)
      if (!found) {
        unknown.set(id, true)
        entries.delete(id)
        return 'unknown'
      }
      const entry = toEntry(found, clock() + refreshMs)
      if (drops === dropsBefore) entries.set(id, entry)
      return entry
    } catch (error) {
      logger.warn({ err: error }, 'API key lookup failed')
      return null
    } finally {
      misses.delete(id)
    }
  }
  const readOnce = (id: string, secret: string): Promise<Reading> => {
    const running = misses.get(id)
    if (running) return running
    if (misses.size >= maxMisses) return Promise.resolve(null)
    const reading = read(id, secret)
    misses.set(id, reading)
    return reading
  }

  const stopWatching = await watchKeyChanges({
    redis,
    subscriber,
    onChange: (change) => {
      drop(change)
      for (const listener of listeners) listener(change)
    },
    onUnknown: () => {
      dropAll()
      for (const listener of listeners) listener({ everyAccount: true })
    },
    onFailure: (error) => logger.error({ err: error }, 'API key changes poll failed'),
    ...(options.pollMs !== undefined && { pollMs: options.pollMs }),
  })

  return {
    lookup(secret: string, networkAddress: string): KeyLookup | Promise<KeyLookup> {
      // The digest is the cache's key: no secret stays in memory.
      const id = hash('sha256', secret, 'base64')
      const entry = entries.get(id)
      if (!entry) {
        const isForm = parseApiKey(secret) !== null || isImportedForm(secret)
        if (unknown.has(id) || !isForm) return { kind: 'unknown' }
        const running = misses.get(id)
        if (running) return running.then((reading) => judge(reading, clock()))
        const { subnet } = clientNetworks(networkAddress)
        if ((strangers.get(subnet) ?? 0) >= UNKNOWN_PER_NETWORK_MAX) return { kind: 'throttled' }
        // Counted before the result, so that concurrent lookups count too.
        count(subnet, 1)
        return readOnce(id, secret).then((reading) => {
          if (reading !== 'unknown') count(subnet, -1)
          return judge(reading, clock())
        })
      }
      if (entry.refreshAt <= clock()) {
        entry.refreshAt = clock() + refreshMs
        void readOnce(id, secret)
      }
      return judge(entry, clock())
    },
    /** Evicts what a local change affects before its message arrives, so that it is visible here immediately. */
    forget: drop,
    /** Calls a listener with every announced change, after it was applied here, and with one of all accounts if some were missed. */
    onChange: (listener: (change: KeyChange) => void): void => void listeners.push(listener),
    async stop(): Promise<void> {
      stopWatching()
      await Promise.all(misses.values())
    },
  }
}

/** What a change that concerns a key may name: the key, its account, or the personal account of its creator. */
const namesOf = ({ keyId, accountId, createdBy }: KeyRecord): string[] =>
  [keyId, accountId, createdBy].filter((name) => name !== null)

/** Looks up a key by its id without a cache, for routes without its secret. Rejects if PostgreSQL is unavailable. */
export async function lookUpKey(
  keys: { find: (keyId: string) => Promise<FoundKey | null> },
  keyId: string,
  nowMs: number,
): Promise<KeyLookup> {
  const found = await keys.find(keyId)
  return judge(found ? toEntry(found, nowMs) : 'unknown', nowMs)
}

function judge(reading: Reading, nowMs: number): KeyLookup {
  if (reading === null) return { kind: 'unavailable' }
  if (reading === 'unknown') return { kind: 'unknown' }
  const { key, owner, secretUntil } = reading
  if (secretUntil !== undefined && secretUntil <= nowMs) return { kind: 'unknown' }
  if (key.state === 'revoked') return { kind: 'revoked', key }
  if (key.expiresAt !== null && key.expiresAt <= nowMs) return { kind: 'expired', key }
  return { kind: key.pausedBy !== null && owner === 'active' ? 'paused' : owner, key }
}

function toEntry(
  { accountState, operator, creator, secretUntil, ...found }: FoundKey,
  refreshAt: number,
): Entry {
  const allowList = readAllowList(found.allowedModels, found.allowedProviders)
  return {
    key: {
      keyId: found.id,
      accountId: found.accountId,
      kind: found.kind,
      operator: operator && { id: operator.id, name: operator.name, role: operator.role },
      // A key ends with the membership of its creator, even if it was being created meanwhile.
      state: creator?.role === null ? 'revoked' : found.state,
      pausedBy: found.pausedAt && (found.pausedBy ?? 'creator'),
      name: found.name,
      createdBy: found.createdBy,
      limitPico: found.limitPico,
      limitReset: found.limitReset,
      memberBudget: creator?.memberBudget ?? null,
      accountLimitPico: found.accountLimitPico,
      ...(found.groups?.length && { groups: found.groups }),
      expiresAt: found.expiresAt?.getTime() ?? null,
      requestsPerMinute: found.requestsPerMinute,
      concurrentCalls: found.concurrentCalls,
      customerRequestsPerMinute: found.customerRequestsPerMinute,
      customerConcurrentCalls: found.customerConcurrentCalls,
      accountLimits: found.accountLimits,
      byokKeys: found.byokKeys,
      surfaces: found.surfaces,
      scopes: effectiveScopes(found.scopes, creator?.role ?? null),
      ...(allowList && { allowList }),
      ...(found.promptLogDays !== null && { promptLogDays: found.promptLogDays }),
      ...(found.cacheSeconds !== null && { cacheSeconds: found.cacheSeconds }),
      ...(found.guardrails?.length && { guardrails: found.guardrails }),
    },
    owner: ownerOf({ accountState, operator, creator }),
    ...(secretUntil && { secretUntil: secretUntil.getTime() }),
    refreshAt,
  }
}

function ownerOf({
  accountState,
  operator,
  creator,
}: Pick<FoundKey, 'accountState' | 'operator' | 'creator'>): OwnerState {
  if (accountState === 'suspended') return 'suspended'
  if (creator?.isSuspended) return 'creator_suspended'
  return operator?.state === 'disabled' ? 'disabled' : 'active'
}
