import { delMany, entries, set } from 'idb-keyval'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type Conversation, resumed } from '../../lib/playground/conversation.ts'
import { beyondBounds } from '../../lib/playground/history-bounds.ts'
import { openHistoryStore } from '../../lib/playground/kept-history.ts'

/** While a completion streams in, it is kept this often. */
const SAVE_EVERY_MS = 1_000

export type History = ReturnType<typeof useHistory>

/** Keeps a conversation in this browser as it continues, and lists those that are kept. `problem`: why nothing can be kept. */
export function useHistory(accountId: string, conversation: Conversation) {
  const store = useMemo(() => openConversations(accountId), [accountId])
  // The newest first; null: not read yet.
  const [kept, setKept] = useState<Conversation[] | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const noteProblem = useCallback((error: unknown) => {
    setProblem(`This browser does not keep the history: ${(error as Error).message}`)
  }, [])

  const unsaved = useRef<Conversation | null>(null)
  const save = useCallback(() => {
    const latest = unsaved.current
    unsaved.current = null
    if (latest) store.save(resumed(latest)).catch(noteProblem)
  }, [store, noteProblem])

  useEffect(() => {
    if (conversation.turns.length === 0) return
    // A conversation that was replaced is saved immediately.
    if (unsaved.current?.id !== conversation.id) save()
    const isWaiting = unsaved.current !== null
    unsaved.current = conversation
    if (!isWaiting) window.setTimeout(save, SAVE_EVERY_MS)
  }, [conversation, save])
  // Saves when the page is left.
  useEffect(() => {
    window.addEventListener('pagehide', save)
    return () => {
      window.removeEventListener('pagehide', save)
      save()
    }
  }, [save])

  return {
    kept,
    problem,
    refresh: useCallback(() => void store.list().then(setKept, noteProblem), [store, noteProblem]),
    remove: async (ids: readonly string[]) => {
      if (unsaved.current && ids.includes(unsaved.current.id)) unsaved.current = null
      await store.remove(ids).catch(noteProblem)
      setKept((before) => before?.filter(({ id }) => !ids.includes(id)) ?? null)
    },
  }
}

/** Conversations in this browser's IndexedDB, apart for each account. They are sent nowhere. */
function openConversations(accountId: string) {
  const store = openHistoryStore()
  const keyOf = (id: string) => `${accountId}/${id}`
  const remove = (ids: readonly string[]) => delMany(ids.map(keyOf), store)
  /** The newest first. */
  const list = async () => {
    const all = await entries<string, Conversation>(store)
    return all
      .filter(([key]) => key.startsWith(`${accountId}/`))
      .map(([, conversation]) => resumed(conversation))
      .sort((a, b) => b.updatedAt - a.updatedAt)
  }
  return {
    list,
    remove,
    /** Keeps a conversation, and drops the oldest beyond what is kept. */
    save: async (conversation: Conversation) => {
      await set(keyOf(conversation.id), conversation, store)
      const dropped = beyondBounds(await list())
      if (dropped.length > 0) await remove(dropped)
    },
  }
}
