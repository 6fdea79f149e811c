import { delMany, entries, set } from 'idb-keyval'
import { type Conversation, resumed } from '../../lib/playground/conversation.ts'
import { beyondBounds } from '../../lib/playground/history-bounds.ts'
import { openHistoryStore } from '../../lib/playground/kept-history.ts'

/** Conversations in this browser's IndexedDB, apart for each account. They are sent nowhere. */
export interface ConversationStore {
  /** The newest first. */
  list(): Promise<Conversation[]>
  /** Keeps a conversation, and drops the oldest beyond what is kept. */
  save(conversation: Conversation): Promise<void>
  remove(ids: readonly string[]): Promise<void>
}

export function openConversations(accountId: string): ConversationStore {
  const store = openHistoryStore()
  const keyOf = (id: string) => `${accountId}/${id}`
  const remove = (ids: readonly string[]) => delMany(ids.map(keyOf), store)
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
    save: async (conversation) => {
      await set(keyOf(conversation.id), conversation, store)
      const dropped = beyondBounds(await list())
      if (dropped.length > 0) await remove(dropped)
    },
  }
}
