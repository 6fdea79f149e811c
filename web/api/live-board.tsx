import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react'
import type { LiveView } from '../../src/core/api/operations.ts'
import { BASE_PATH } from '../lib/base-path.ts'
import { nextLiveStep } from '../lib/live-stats.ts'
import { operatorSessionQuery } from './operator-queries.ts'

interface LiveBoard {
  /** The last stats received; null before the first. */
  view: LiveView | null
  /** No stats arrived for several seconds; reconnecting. */
  isStale: boolean
}

const LiveBoardContext = createContext<LiveBoard>({ view: null, isStale: false })

/** The live stats of this second. */
export const useLiveBoard = (): LiveBoard => useContext(LiveBoardContext)

/** Subscribes to the gateway's live stats while the page is open and on screen. */
export function LiveBoardProvider({ children }: { children: ReactNode }) {
  const [board, setBoard] = useState<LiveBoard>({ view: null, isStale: false })
  const client = useQueryClient()
  const isVisible = useIsVisible()
  useEffect(() => {
    // A page in the background needs no live stats.
    if (!isVisible) return
    return listen({
      onView: (view) => setBoard({ view, isStale: false }),
      onStale: () => setBoard((last) => (last.isStale ? last : { ...last, isStale: true })),
      // The stream may have failed because the session ended.
      onReopen: () => void client.invalidateQueries({ queryKey: operatorSessionQuery.queryKey }),
    })
  }, [client, isVisible])
  return <LiveBoardContext value={board}>{children}</LiveBoardContext>
}

const onVisibility = (changed: () => void): (() => void) => {
  document.addEventListener('visibilitychange', changed)
  return () => document.removeEventListener('visibilitychange', changed)
}

const useIsVisible = (): boolean =>
  useSyncExternalStore(onVisibility, () => document.visibilityState === 'visible')

interface Listener {
  onView: (view: LiveView) => void
  onStale: () => void
  onReopen: () => void
}

const WATCH_EVERY_MS = 1_000

/**
 * A permanent stream: the browser itself reconnects after a lost connection, but not after a refusal, and it does not
 * detect a stream that hangs. Returns the function that closes it.
 */
function listen({ onView, onStale, onReopen }: Listener): () => void {
  let receivedAt = performance.now()
  let openedAt = receivedAt
  let source = open()
  function open(): EventSource {
    const opened = new EventSource(`${BASE_PATH}/admin/api/live`)
    opened.addEventListener('message', ({ data }) => {
      receivedAt = performance.now()
      onView(JSON.parse(data) as LiveView)
    })
    return opened
  }
  const watch = window.setInterval(() => {
    const now = performance.now()
    const step = nextLiveStep({
      silentMs: now - receivedAt,
      openMs: now - openedAt,
      isClosed: source.readyState === EventSource.CLOSED,
    })
    if (step.isStale) onStale()
    if (!step.reopen) return
    source.close()
    openedAt = now
    source = open()
    onReopen()
  }, WATCH_EVERY_MS)
  return () => {
    window.clearInterval(watch)
    source.close()
  }
}
