import { LRUCache } from 'lru-cache'
import type { SessionStore } from '../../accounts/session-store.ts'
import type { CallRecords, ListedCall } from '../../billing/call-records/call-records.ts'
import type { HoldStore, SpendableBalance } from '../../billing/holds/hold-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { pollEvery } from '../../platform/process/poll-every.ts'

/** Who hears of an account while its session runs. Nothing here may throw. */
export interface LiveListener {
  accountId: string
  sessionId: string
  /** The balance cache moved: money was held, given back, charged or came in. */
  moved(figures: SpendableBalance): void
  settled(call: ListedCall): void
  ended(): void
}

export interface LiveFeedOptions {
  holds: Pick<HoldStore, 'balance'>
  recentCalls: Pick<CallRecords, 'settledSince'>
  sessions: Pick<SessionStore, 'running'>
  logger: Logger
  clock: () => number
  everyMs?: number
}

const EVERY_MS = 700
/** A settlement's time is read before it commits, so that a later one may be seen first. */
const LOOK_BACK_MS = 5_000
const CALLS_REMEMBERED = 20_000

/**
 * Watches the accounts that somebody looks at, all of them at once: what the balance cache in Redis says of each, and
 * only where that moved, which calls were settled. Costs nothing while nobody looks.
 */
export function createLiveFeed(options: LiveFeedOptions) {
  const { holds, recentCalls, sessions, logger, clock, everyMs = EVERY_MS } = options
  const listeners = new Set<LiveListener>()
  const seen = new Map<string, string>()
  const told = new LRUCache<string, true>({ max: CALLS_REMEMBERED })

  const look = async (): Promise<void> => {
    if (listeners.size === 0) return
    await endSessions()
    const moved = await movedAccounts()
    if (moved.length === 0) return
    const calls = await recentCalls.settledSince(moved, clock() - LOOK_BACK_MS)
    for (const call of calls) {
      if (told.has(call.id)) continue
      told.set(call.id, true)
      for (const listener of listeners) if (listener.accountId === call.accountId) listener.settled(call)
    }
  }

  const endSessions = async (): Promise<void> => {
    const running = await sessions.running([...listeners].map(({ sessionId }) => sessionId))
    for (const listener of [...listeners]) if (!running.has(listener.sessionId)) listener.ended()
  }

  const movedAccounts = async (): Promise<string[]> => {
    const ids = [...new Set([...listeners].map(({ accountId }) => accountId))]
    for (const known of seen.keys()) if (!ids.includes(known)) seen.delete(known)
    const figures = await Promise.all(ids.map((id) => holds.balance(id)))
    return ids.filter((id, index) => {
      const now = figures[index]!
      const text = `${now.availPico}/${now.heldPico}/${now.version}`
      if (seen.get(id) === text) return false
      seen.set(id, text)
      for (const listener of listeners) if (listener.accountId === id) listener.moved(now)
      return true
    })
  }

  const stop = pollEvery(everyMs, look, (error) => logger.warn({ err: error }, 'live figures are not read'))
  return {
    /** Starts telling; the returned function stops it. */
    listen(listener: LiveListener): () => void {
      listeners.add(listener)
      // Its first look tells it where things stand.
      seen.delete(listener.accountId)
      return () => void listeners.delete(listener)
    },
    listenersOf: (accountId: string): number =>
      [...listeners].filter((listener) => listener.accountId === accountId).length,
    /** How many listen in all. */
    get size() {
      return listeners.size
    },
    stop,
  }
}
