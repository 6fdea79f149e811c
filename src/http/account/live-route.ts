import type { ServerResponse } from 'node:http'
import type { FastifyPluginAsync } from 'fastify'
import type { AccountStore } from '../../accounts/account-store.ts'
import { CallSummary } from '../../core/api/calls.ts'
import { LiveBalance, LiveBye } from '../../core/api/sessions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { callSummary } from '../calls.ts'
import { eventsOf, startEventStream, whenResponseCloses } from '../event-stream.ts'
import { signedIn } from '../plugins/session.ts'
import { balanceView } from './account-view.ts'
import { createLiveFeed, type LiveFeedOptions } from './live-feed.ts'

export interface LiveServices extends LiveFeedOptions {
  accounts: Pick<AccountStore, 'find'>
}

const CONNECTIONS_MAX = 2_000
const CONNECTIONS_PER_ACCOUNT_MAX = 6
const HEARTBEAT_MS = 15_000
/** Ends so that a browser connects anew, perhaps to another instance. */
const CONNECTION_MS = 15 * 60_000
/** A browser that leaves more than this unread is cut off. */
const UNREAD_MAX_BYTES = 256 * 1024

/** GET /live: an account's balance and settled calls as they happen, as server-sent events. */
export const liveRoute: FastifyPluginAsync<LiveServices> = async (app, services) => {
  const { accounts, holds, logger } = services
  const feed = createLiveFeed(services)
  const open = new Set<ServerResponse>()
  // Before the server waits for answers to end: these never would.
  app.addHook('preClose', async () => {
    feed.stop()
    for (const response of open) response.end()
  })

  const options = {
    onRequest: [app.requireSession],
    // No HEAD: Node would send nothing of its answer before its end.
    exposeHeadRoute: false,
    schema: eventsOf(LiveBalance, CallSummary, LiveBye),
  }
  app.get('/live', options, async (request, reply) => {
    const { account, stored } = signedIn(request)
    if (feed.size >= CONNECTIONS_MAX)
      throw new ApiError('overloaded', 'Too many live views at once.', { retryAfterSeconds: 30 })
    if (feed.listenersOf(account.id) >= CONNECTIONS_PER_ACCOUNT_MAX)
      throw new ApiError('concurrency_limit_exceeded', 'Too many live views of this account are open.', {
        retryAfterSeconds: 30,
      })

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
        sendBalance().catch((error: unknown) => logger.warn({ err: error }, 'a live balance is not read'))
      },
      settled: (call) => send('call', callSummary(call)),
      ended: () => {
        send('bye', { reason: 'signed_out' } satisfies LiveBye)
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
