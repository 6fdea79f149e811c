import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { Generation } from '../../src/core/api/calls.ts'
import type { LiveBalance } from '../../src/core/api/sessions.ts'
import { BASE_PATH } from '../lib/base-path.ts'
import { billingQuery, callQuery, visitorQuery } from './queries.ts'
import { isRead } from './read.ts'
import { putSession, resetAccount } from './session.ts'

/** The minimum time between refreshes of lists and charts, however many calls settle. */
const REFRESH_EVERY_MS = 2_000

/**
 * Keeps the pages of an account current: the balance when it changes, calls and usage when calls settle. When the session
 * switches to another account, also in another window, all reads of the former account are reset.
 */
export function useLiveAccount(accountId: string | undefined): void {
  const client = useQueryClient()
  const shownId = useRef(accountId)
  useEffect(() => {
    if (accountId === undefined || shownId.current === accountId) return
    const isFirst = shownId.current === undefined
    shownId.current = accountId
    if (!isFirst) void resetAccount(client)
  }, [client, accountId])
  useEffect(() => {
    const refresh = createRefresh(client)
    const checkSession = () => client.invalidateQueries({ queryKey: visitorQuery.queryKey })
    let source: EventSource
    let isLeft = false
    const connect = () => {
      source = new EventSource(`${BASE_PATH}/console/api/live`)
      source.addEventListener('balance', ({ data }) => {
        const balance = JSON.parse(data) as LiveBalance
        // The balance changed: also by a call whose event was missed while the connection was down.
        if (balance.balance_usd !== balanceShown(client)) refresh.soon()
        showBalance(client, balance)
      })
      source.addEventListener('call', ({ data }) => {
        const { id } = JSON.parse(data) as Generation
        refresh.soon()
        void client.invalidateQueries({ queryKey: callQuery(id).queryKey })
      })
      source.addEventListener('bye', () => {
        source.close()
        void continueSession()
      })
      // The browser reconnects after a lost connection, but not after a refusal: the session may have ended before.
      source.addEventListener('error', () => source.readyState === EventSource.CLOSED && void checkSession())
    }
    const continueSession = async () => {
      await changesSent(client)
      await checkSession()
      if (!isLeft && client.getQueryData(visitorQuery.queryKey)?.session) connect()
    }
    connect()
    return () => {
      isLeft = true
      source.close()
      refresh.stop()
    }
  }, [client])
}

/** Waits for the changes that this page is sending: one of the password ends its session, and its response begins the next. */
function changesSent(client: QueryClient): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (client.isMutating() > 0) return
      stop()
      resolve()
    }
    const stop = client.getMutationCache().subscribe(look)
    look()
  })
}

const balanceShown = (client: QueryClient): string | undefined =>
  client.getQueryData(visitorQuery.queryKey)?.session?.balance.balance_usd

function showBalance(client: QueryClient, { state, ...balance }: LiveBalance): void {
  const session = client.getQueryData(visitorQuery.queryKey)?.session
  if (session)
    putSession(client, {
      ...session,
      account: { ...session.account, state },
      balance: { ...session.balance, ...balance },
    })
  client.setQueryData(billingQuery.queryKey, (billing) => billing && { ...billing, ...balance })
}

/** Refreshes lists and charts: immediately for the first call after a pause, then at most every two seconds. */
function createRefresh(client: QueryClient) {
  let timer: number | undefined
  let ranAt = Number.NEGATIVE_INFINITY
  const run = () => {
    timer = undefined
    ranAt = performance.now()
    for (const list of ['calls', 'usage', 'keys', 'ledger']) {
      const isOfList = isRead(`/console/api/${list}`)
      // New calls are on the first page.
      const predicate = (query: Query) => isOfList(query) && !String(query.queryKey[0]).includes('cursor=')
      void client.invalidateQueries({ predicate })
    }
  }
  return {
    soon: () => {
      const waitMs = Math.max(0, ranAt + REFRESH_EVERY_MS - performance.now())
      timer ??= window.setTimeout(run, waitMs)
    },
    stop: () => window.clearTimeout(timer),
  }
}
