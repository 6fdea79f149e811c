import { LRUCache } from 'lru-cache'
import { BYOK_KEY_PURPOSE, byokKeyContext } from '../core/routing/byok.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { type KeyChange, watchKeyChanges } from '../platform/redis/key-changes.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { createSealer, type MasterKeys } from '../platform/sealing.ts'

/** The requested BYOK key and the provider it is for. */
interface ByokKeyUse {
  keyId: string
  accountId: string
  providerId: string
}

export type VaultResult =
  | { kind: 'opened'; secret: string }
  /** Deleted or disabled since the call was planned. */
  | { kind: 'gone' }
  /** Not cached, and PostgreSQL is unavailable. */
  | { kind: 'unavailable' }

/**
 * BYOK key cache for the processes that call providers: one PostgreSQL query on a key's first use, then
 * memory, where it stays encrypted and is decrypted for each use. A change of the key or its account evicts it;
 * as a fallback it is reloaded after `refreshMs`, and stays in use while PostgreSQL is unavailable.
 */
export type ByokKeyVault = Awaited<ReturnType<typeof openByokKeyVault>>

interface Entry {
  accountId: string
  providerId: string
  secretSealed: string
  refusals: number
  isAccepted: boolean
  refreshAt: number
}

/** Result of a read: an entry, no such active key, or null if PostgreSQL was unavailable. */
type Reading = Entry | 'gone' | null

const KEYS_MAX = 10_000
const READS_MAX = 100
const NOTES_MAX = 100
/** Minimum interval between stored refusals of one key. */
const NOTE_EVERY_MS = 1_000
/** Opens the cache; PostgreSQL is first queried for the first key. Waits for Redis. */
export async function openByokKeyVault(options: {
  postgres: Postgres
  redis: Redis
  /** A connection in subscriber mode; it may have other subscriptions. */
  subscriber: Redis
  masterKeys: MasterKeys
  logger: Logger
  clock: () => number
  refreshMs?: number
}) {
  const { postgres, logger, clock, refreshMs = 60_000 } = options
  const sealer = createSealer(options.masterKeys, BYOK_KEY_PURPOSE)
  const entries = new LRUCache<string, Entry>({ max: KEYS_MAX })
  const notedAt = new LRUCache<string, number>({ max: KEYS_MAX })
  const reads = new Map<string, Promise<Reading>>()
  const notes = new Set<Promise<void>>()
  /** Counts evictions, so that a value read before an eviction is not cached after it. */
  let drops = 0

  const dropAll = () => {
    drops += 1
    entries.clear()
  }
  const drop = (change: KeyChange) => {
    // Changes of API keys do not affect BYOK keys.
    if (!('accountId' in change)) return
    drops += 1
    for (const [id, { accountId }] of entries.entries())
      if (accountId === change.accountId) entries.delete(id)
  }

  const read = async (keyId: string): Promise<Reading> => {
    const dropsBefore = drops
    try {
      const found = await postgres.providerKey.findFirst({
        where: { id: keyId, disabled: false },
        select: { accountId: true, providerId: true, secretSealed: true, refusals: true, acceptedAt: true },
      })
      if (!found) {
        entries.delete(keyId)
        return 'gone'
      }
      const { acceptedAt, ...known } = found
      const entry = { ...known, isAccepted: acceptedAt !== null, refreshAt: clock() + refreshMs }
      if (drops === dropsBefore) entries.set(keyId, entry)
      return entry
    } catch (error) {
      logger.warn({ err: error, providerKeyId: keyId }, 'BYOK key lookup failed')
      return null
    } finally {
      reads.delete(keyId)
    }
  }
  const readOnce = (keyId: string): Promise<Reading> => {
    const running = reads.get(keyId)
    if (running) return running
    if (reads.size >= READS_MAX) return Promise.resolve(null)
    const reading = read(keyId)
    reads.set(keyId, reading)
    return reading
  }
  const lookUp = (keyId: string): Reading | Promise<Reading> => {
    const entry = entries.get(keyId)
    if (!entry) return readOnce(keyId)
    if (entry.refreshAt <= clock()) {
      entry.refreshAt = clock() + refreshMs
      void readOnce(keyId)
    }
    return entry
  }

  const write = (keyId: string, reception: KeyReception) => {
    if (notes.size >= NOTES_MAX) return
    const note = writeReception(postgres, keyId, reception)
      .then(
        () => undefined,
        (error: unknown) => logger.warn({ err: error, providerKeyId: keyId }, 'BYOK key result not stored'),
      )
      .finally(() => notes.delete(note))
    notes.add(note)
  }

  const stopWatching = await watchKeyChanges({
    ...options,
    onChange: drop,
    onUnknown: dropAll,
    onFailure: (error) => logger.error({ err: error }, 'BYOK key changes poll failed'),
  })

  return {
    /** Never rejects. */
    async open({ keyId, accountId, providerId }: ByokKeyUse): Promise<VaultResult> {
      const reading = await lookUp(keyId)
      if (reading === null) return { kind: 'unavailable' }
      if (reading === 'gone' || reading.accountId !== accountId || reading.providerId !== providerId)
        return { kind: 'gone' }
      try {
        const secret = sealer.open(reading.secretSealed, byokKeyContext(accountId, keyId))
        return { kind: 'opened', secret }
      } catch (error) {
        logger.error(
          { alarm: 'provider-key-sealed', err: error, providerKeyId: keyId },
          'BYOK key cannot be decrypted; check the configured master keys',
        )
        return { kind: 'unavailable' }
      }
    },

    /** Stores a provider's verdict on a key in the background. */
    note(keyId: string, reception: KeyReception): void {
      const entry = entries.get(keyId)
      if (reception === 'accepted') {
        if (!entry || (entry.refusals === 0 && entry.isAccepted)) return
        entry.refusals = 0
        entry.isAccepted = true
        notedAt.delete(keyId)
        write(keyId, reception)
        return
      }
      const now = clock()
      if (now - (notedAt.get(keyId) ?? -NOTE_EVERY_MS) < NOTE_EVERY_MS) return
      notedAt.set(keyId, now)
      if (entry) entry.refusals += 1
      write(keyId, reception)
    },

    async stop(): Promise<void> {
      stopWatching()
      await Promise.all([...reads.values(), ...notes])
    },
  }
}

/** The result of a BYOK key at its provider; a failure has the reason that its owner sees. */
export type KeyReception = 'accepted' | 'unauthorized' | 'payment_required' | 'forbidden' | 'unreachable'

/** Consecutive failures after which a key counts as failing. */
const REFUSALS_TO_FAIL = 3

const NOTE_REFUSAL = `
UPDATE provider_keys SET
  refusals = refusals + 1, last_error = $2, last_error_at = now(),
  failing_since = CASE WHEN refusals + 1 >= $3::int THEN coalesce(failing_since, now()) ELSE failing_since END
WHERE id = $1`

const NOTE_ACCEPTED = `
UPDATE provider_keys SET refusals = 0, failing_since = NULL, accepted_at = now()
WHERE id = $1 AND (refusals > 0 OR accepted_at IS NULL)`

/** Stores a provider's verdict on a key. Rejects while PostgreSQL is unavailable. */
export async function writeReception(
  postgres: Pick<Postgres, '$executeRawUnsafe'>,
  keyId: string,
  reception: KeyReception,
): Promise<void> {
  if (reception === 'accepted') await postgres.$executeRawUnsafe(NOTE_ACCEPTED, keyId)
  else await postgres.$executeRawUnsafe(NOTE_REFUSAL, keyId, reception, REFUSALS_TO_FAIL)
}
