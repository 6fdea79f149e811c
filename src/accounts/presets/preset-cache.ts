import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { ApiError } from '../../core/kernel/errors.ts'
import { createSharedRoom } from '../../core/kernel/shared-room.ts'
import { type PresetReference, type PresetVersion, presetLabel } from '../../core/presets/preset.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { PresetStore } from './preset-store.ts'

/**
 * Presets for the API tier, as keys are kept (key-cache.ts): one PostgreSQL query on the first use, then memory. A
 * change of the account drops its presets; as a fallback, one is read again in background after `refreshMs`, and stays
 * in use if that fails. Reads and memory are shared by accounts, so that none takes them from others.
 */
export type PresetCache = ReturnType<typeof createPresetCache>

export interface PresetCacheOptions {
  presets: Pick<PresetStore, 'read'>
  logger: Logger
  clock: () => number
  refreshMs: number
  maxBytes?: number
  /** Maximum concurrent PostgreSQL queries. An account alone has half of them. */
  maxReads?: number
}

interface Entry {
  accountId: string
  /** Null: there is none. */
  preset: PresetVersion | null
  /** The state of the account when it was read. */
  state: object
  refreshAt: number
}

const bytesOf = ({ preset }: Entry): number => ENTRY_BYTES + (preset ? JSON.stringify(preset).length : 0)

const ACCOUNTS_MAX = 100_000
const ENTRY_BYTES = 500
/** An account with at most this many reads waits for no share. */
const FEW_READS = 4
/** The part of the memory that one account may use; its oldest entries give way. */
const ACCOUNT_SHARE = 1 / 16
/** Names that do not exist are remembered apart, so that they evict no presets. */
const UNKNOWN_MAX = 10_000

export function createPresetCache(options: PresetCacheOptions) {
  const { presets, logger, clock, refreshMs, maxBytes = 64 * 1024 * 1024, maxReads = 100 } = options
  /** The entries of each account, oldest first, and their bytes. */
  const held = new Map<string, { ids: Set<string>; bytes: number }>()
  const entries = new LRUCache<string, Entry>({
    maxSize: maxBytes,
    sizeCalculation: bytesOf,
    // Also before another entry replaces it.
    dispose: (entry, id) => {
      const own = held.get(entry.accountId)!
      own.ids.delete(id)
      own.bytes -= bytesOf(entry)
      if (own.ids.size === 0) held.delete(entry.accountId)
    },
  })
  const unknown = new LRUCache<string, Entry>({ max: UNKNOWN_MAX })
  const keep = (id: string, entry: Entry) => {
    entries.delete(id)
    unknown.delete(id)
    if (entry.preset === null) return void unknown.set(id, entry)
    const bytes = bytesOf(entry)
    if (bytes > maxBytes * ACCOUNT_SHARE) return
    for (const oldest of held.get(entry.accountId)?.ids ?? []) {
      if ((held.get(entry.accountId)?.bytes ?? 0) + bytes <= maxBytes * ACCOUNT_SHARE) break
      entries.delete(oldest)
    }
    const own = held.get(entry.accountId) ?? { ids: new Set(), bytes: 0 }
    held.set(entry.accountId, own)
    own.ids.add(id)
    own.bytes += bytes
    entries.set(id, entry)
  }
  /** Replaced when the account changes, so that what was read before is not used any more. */
  const states = new LRUCache<string, object>({ maxSize: ACCOUNTS_MAX, sizeCalculation: () => 1 })
  const reads = new Map<string, { state: object; preset: Promise<PresetVersion | null> }>()
  const room = createSharedRoom({ max: maxReads, few: FEW_READS })

  const stateOf = (accountId: string): object => {
    const known = states.get(accountId)
    if (known) return known
    const state = {}
    states.set(accountId, state)
    return state
  }

  const load = async (accountId: string, reference: PresetReference) => {
    if (!room.fits(accountId, 1)) throw unavailable()
    room.add(accountId, 1)
    try {
      return await presets.read(accountId, reference)
    } catch (error) {
      logger.warn({ err: error, accountId }, 'preset lookup failed')
      throw unavailable()
    } finally {
      room.add(accountId, -1)
    }
  }
  const read = (id: string, accountId: string, reference: PresetReference) => {
    const state = stateOf(accountId)
    const running = reads.get(id)
    if (running?.state === state) return running.preset
    const preset = load(accountId, reference)
      .then((found) => {
        keep(id, { accountId, preset: found, state, refreshAt: clock() + refreshMs })
        return found
      })
      .finally(() => {
        if (reads.get(id)?.state === state) reads.delete(id)
      })
    reads.set(id, { state, preset })
    return preset
  }

  return {
    /** Null if the account has no such preset or version. Throws ApiError `overloaded` if it cannot be read. */
    lookup(
      accountId: string,
      reference: PresetReference,
    ): PresetVersion | null | Promise<PresetVersion | null> {
      const { name, version } = reference
      const id = `${accountId}/${version === null ? name : presetLabel({ name, version })}`
      const entry = entries.get(id) ?? unknown.get(id)
      if (!entry || entry.state !== states.get(accountId)) return read(id, accountId, reference)
      if (entry.refreshAt <= clock()) {
        entry.refreshAt = clock() + refreshMs
        // Where it fails, or there is no read left for the account, the entry stays in use.
        read(id, accountId, reference).catch(() => undefined)
      }
      return entry.preset
    },

    /** Drops the presets that a change may concern. */
    forget(change: KeyChange): void {
      if ('everyAccount' in change) states.clear()
      else if ('accountId' in change) states.delete(change.accountId)
    },
  }
}

const unavailable = () =>
  new ApiError('overloaded', 'The preset cannot be read right now. Retry shortly.', { retryAfterSeconds: 1 })
