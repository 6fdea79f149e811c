import type { ServerResponse } from 'node:http'
import type { FastifyPluginAsync } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { SessionStore } from '../../accounts/session-store.ts'
import type { ListedCall } from '../../billing/call-records/call-record.ts'
import type { CallRecords } from '../../billing/call-records/call-records.ts'
import type { HoldStore, SpendableBalance } from '../../billing/holds/hold-store.ts'
import { Generation } from '../../core/api/calls.ts'
import { eventsOf } from '../../core/api/reference/stream-events.ts'
import { LiveBalance, LiveBye } from '../../core/api/sessions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { pollEvery } from '../../platform/process/poll-every.ts'
import { callView } from '../account-api/call-view.ts'
import { startEventStream, whenResponseCloses } from '../calls/event-stream.ts'
import { actingOn } from '../plugins/session.ts'
import { balanceView } from './account-view.ts'

const CONNECTIONS_MAX = 2_000
const CONNECTIONS_PER_ACCOUNT_MAX = 6
const HEARTBEAT_MS = 15_000
/** Maximum duration, so that a browser reconnects, perhaps to another instance. */
const CONNECTION_MS = 15 * 60_000
/** A browser with more unread data is disconnected. */
const UNREAD_MAX_BYTES = 256 * 1024

/** GET /live: an account's balance changes and settled calls, as server-sent events. */
export const liveRoute: FastifyPluginAsync = async (app) => {
  const { accounts, logger } = app.accounts
  const { holds } = app.billing
  const feed = createLiveFeed({ ...app.accounts, ...app.billing })
  const open = new Set<ServerResponse>()
  // Runs before the server waits for responses to end, because these never would.
  app.addHook('preClose', async () => {
    feed.stop()
    for (const response of open) response.end()
  })

  const options = {
    onRequest: [app.requirePermission('view')],
    // No HEAD: Node would send nothing of its response before its end.
    exposeHeadRoute: false,
    schema: eventsOf(LiveBalance, Generation, LiveBye),
  }
  app.get('/live', options, async (request, reply) => {
    const { account, stored } = actingOn(request)
    if (feed.size >= CONNECTIONS_MAX)
      throw new ApiError('overloaded', 'Too many live views are open on this gateway. Retry shortly.', {
        retryAfterSeconds: 30,
      })
    if (feed.listenersOf(account.id) >= CONNECTIONS_PER_ACCOUNT_MAX)
      throw new ApiError(
        'concurrency_limit_exceeded',
        'Too many live views of this account are open. Close one of them.',
        {
          retryAfterSeconds: 30,
        },
      )

    const response = startEventStream(reply)
    const send = (event: string, data: unknown) => {
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      if (response.writableLength > UNREAD_MAX_BYTES) response.destroy()
    }
    const sendBalance = async () => {
      const now = await accounts.find(account.id)
      if (!now || now.state === 'suspended') return
      const { balance_usd, available_usd, held_usd } = await balanceView(now, holds)
      send('balance', { balance_usd, available_usd, held_usd, state: now.state } satisfies LiveBalance)
    }

    open.add(response)
    const stop = feed.listen({
      accountId: account.id,
      sessionId: stored.id,
      moved: () => {
        sendBalance().catch((error: unknown) => logger.warn({ err: error }, 'live balance read failed'))
      },
      settled: (call) => send('call', callView(call, 'owner')),
      ended: (reason) => {
        send('bye', { reason } satisfies LiveBye)
        response.end()
      },
    })
    const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS)
    const end = setTimeout(() => response.end(), CONNECTION_MS)
    whenResponseCloses(response, () => {
      stop()
      clearInterval(heartbeat)
      clearTimeout(end)
      open.delete(response)
    })
  })
}

/** A subscriber to an account's events while its session runs. Its methods must not throw. */
interface LiveListener {
  accountId: string
  sessionId: string
  /** The balance cache changed: money was held, released, charged or added. */
  moved(figures: SpendableBalance): void
  settled(call: ListedCall): void
  /** The session has ended, or acts on another account. */
  ended(reason: LiveBye['reason']): void
}

interface LiveFeedOptions {
  holds: Pick<HoldStore, 'balance'>
  recentCalls: Pick<CallRecords, 'settledSince'>
  sessions: Pick<SessionStore, 'running'>
  logger: Logger
  clock: () => number
  everyMs?: number
}

const EVERY_MS = 700
/** A settlement takes its time before it commits, so that a later one may be visible first: from the look before. */
const LOOK_BACK_MS = 5_000
const CALLS_REMEMBERED = 20_000

/**
 * Watches all accounts with subscribers at once: reads their balance caches in Redis and, for those that changed, their
 * settled calls. Costs nothing without subscribers.
 */
function createLiveFeed(options: LiveFeedOptions) {
  const { holds, recentCalls, sessions, logger, clock, everyMs = EVERY_MS } = options
  const listeners = new Set<LiveListener>()
  const seen = new Map<string, string>()
  const sent = new LRUCache<string, true>({ max: CALLS_REMEMBERED })
  let lookedAtMs = clock()

  const look = async (): Promise<void> => {
    const sinceMs = lookedAtMs - LOOK_BACK_MS
    const nowMs = clock()
    if (listeners.size > 0) await tellMoved(sinceMs)
    lookedAtMs = nowMs
  }

  const tellMoved = async (sinceMs: number): Promise<void> => {
    await endSessions()
    const moved = await movedAccounts()
    if (moved.length === 0) return
    const calls = await recentCalls.settledSince(moved, sinceMs).catch((error: unknown) => {
      for (const accountId of moved) seen.delete(accountId)
      throw error
    })
    for (const call of calls) {
      if (sent.has(call.id)) continue
      sent.set(call.id, true)
      for (const listener of listeners) if (listener.accountId === call.accountId) listener.settled(call)
    }
  }

  const endSessions = async (): Promise<void> => {
    const running = await sessions.running([...listeners].map(({ sessionId }) => sessionId))
    for (const listener of [...listeners]) {
      const accountId = running.get(listener.sessionId)
      if (accountId !== listener.accountId) listener.ended(accountId ? 'account_changed' : 'signed_out')
    }
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

  const stop = pollEvery(everyMs, look, (error) => logger.warn({ err: error }, 'live balances read failed'))
  return {
    /** Subscribes; the returned function unsubscribes. */
    listen(listener: LiveListener): () => void {
      listeners.add(listener)
      // Its first reading sends the current state.
      seen.delete(listener.accountId)
      return () => void listeners.delete(listener)
    },
    listenersOf: (accountId: string): number =>
      [...listeners].filter((listener) => listener.accountId === accountId).length,
    /** Number of subscribers. */
    get size() {
      return listeners.size
    },
    stop,
  }
}
