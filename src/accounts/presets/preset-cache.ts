import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { ApiError } from '../../core/kernel/errors.ts'
import { type PresetReference, type PresetVersion, presetLabel } from '../../core/presets/preset.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { PresetStore } from './preset-store.ts'

/**
 * Presets for the API tier, as keys are kept (key-cache.ts): one PostgreSQL query on the first use, then memory. A
 * change of the account drops its presets; as a fallback, one is read again in background after `refreshMs`, and stays
 * in use while PostgreSQL is unavailable.
 */
export type PresetCache = ReturnType<typeof createPresetCache>

export interface PresetCacheOptions {
  presets: Pick<PresetStore, 'read'>
  logger: Logger
  clock: () => number
  refreshMs: number
  maxBytes?: number
  /** Maximum concurrent PostgreSQL queries. */
  maxReads?: number
}

interface Entry {
  /** Null: there is none. */
  preset: PresetVersion | null
  /** The state of the account when it was read. */
  state: object
  refreshAt: number
}

const ACCOUNTS_MAX = 100_000
const ENTRY_BYTES = 500

export function createPresetCache(options: PresetCacheOptions) {
  const { presets, logger, clock, refreshMs, maxBytes = 64 * 1024 * 1024, maxReads = 100 } = options
  const entries = new LRUCache<string, Entry>({
    maxSize: maxBytes,
    sizeCalculation: ({ preset }) => ENTRY_BYTES + (preset ? JSON.stringify(preset).length : 0),
  })
  /** Replaced when the account changes, so that what was read before is not used any more. */
  const states = new LRUCache<string, object>({ max: ACCOUNTS_MAX })
  const reads = new Map<string, { state: object; preset: Promise<PresetVersion | null> }>()

  const stateOf = (accountId: string): object => {
    const known = states.get(accountId)
    if (known) return known
    const state = {}
    states.set(accountId, state)
    return state
  }

  const read = (id: string, accountId: string, reference: PresetReference) => {
    const state = stateOf(accountId)
    const running = reads.get(id)
    if (running?.state === state) return running.preset
    if (reads.size >= maxReads) throw unavailable()
    const preset = presets
      .read(accountId, reference)
      .then(
        (found) => {
          entries.set(id, { preset: found, state, refreshAt: clock() + refreshMs })
          return found
        },
        (error: unknown) => {
          logger.warn({ err: error, accountId }, 'preset lookup failed')
          throw unavailable()
        },
      )
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
      const entry = entries.get(id)
      if (!entry || entry.state !== states.get(accountId)) return read(id, accountId, reference)
      if (entry.refreshAt <= clock()) {
        entry.refreshAt = clock() + refreshMs
        // Its failure is logged, and the entry stays in use.
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
