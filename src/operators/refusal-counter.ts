import type { ErrorCode } from '../core/kernel/errors.ts'
import { HOUR_MS } from '../core/kernel/time.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { pollEvery } from '../platform/process/poll-every.ts'
import type { RefusalCount, RefusalStore } from './refusal-store.ts'

const EVERY_MS = 5_000
/** Keys and errors that are counted apart; further ones count without their key, of which there are few. */
const APART_MAX = 5_000

export type RefusalCounter = ReturnType<typeof createRefusalCounter>

/**
 * Counts the requests that this process refuses before it admits a call: in memory, and written in one statement every
 * few seconds, so that a refusal costs neither Redis nor PostgreSQL anything. A failed statement is repeated with what
 * was counted since; its counts count twice if the database stored them and its response was lost.
 */
export function createRefusalCounter(deps: {
  store: Pick<RefusalStore, 'add'>
  clock: () => number
  logger: Pick<Logger, 'warn'>
  apartMax?: number
}) {
  const { store, clock, logger, apartMax = APART_MAX } = deps
  let counts = new Map<string, RefusalCount>()

  const add = (count: RefusalCount): void => {
    const { sender, code, hourMs } = count
    const name = `${hourMs} ${code} ${sender?.keyId ?? ''}`
    const known = counts.get(name)
    if (known) {
      known.requests += count.requests
      known.lastAtMs = Math.max(known.lastAtMs, count.lastAtMs)
    } else if (sender !== null && counts.size >= apartMax) add({ ...count, sender: null })
    else counts.set(name, { ...count })
  }

  const flush = async (): Promise<void> => {
    if (counts.size === 0) return
    const flushed = counts
    counts = new Map()
    try {
      await store.add([...flushed.values()])
    } catch (error) {
      for (const count of flushed.values()) add(count)
      throw error
    }
  }

  const onFailure = (error: unknown) =>
    logger.warn({ err: error }, 'counts of refused requests not stored, retrying')
  const stopPolling = pollEvery(EVERY_MS, flush, onFailure)
  return {
    /** Counts a refused request of a key; null: of none that is known. */
    note(sender: { accountId: string | null; keyId: string } | null, code: ErrorCode): void {
      const now = clock()
      // Admin keys have no account, and call no models.
      const known = sender?.accountId ? { accountId: sender.accountId, keyId: sender.keyId } : null
      const hourMs = Math.floor(now / HOUR_MS) * HOUR_MS
      add({ sender: known, code, hourMs, requests: 1, lastAtMs: now })
    },
    flush,
    async stop(): Promise<void> {
      await stopPolling()
      await flush().catch(onFailure)
    },
  }
}
