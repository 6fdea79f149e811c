import { clear, createStore, get, set, type UseStore } from 'idb-keyval'

/** The key under which the owner is stored. Keys of conversations begin with an account id. */
const OWNER = 'owner'

/** The conversations of the playground in this browser. */
export const openHistoryStore = (): UseStore => createStore('shuntyard-playground', 'conversations')

let shownPersonId: string | null = null

/**
 * Notes who is signed in; null: no session. Conversations outlive a session that expires, for the same person. They are
 * deleted when another person signs in.
 */
export function noteHistoryOwner(personId: string | null): void {
  if (personId === shownPersonId) return
  shownPersonId = personId
  if (personId !== null) void ifStored(() => keepFor(personId))
}

async function keepFor(personId: string): Promise<void> {
  const store = openHistoryStore()
  const owner = await get<string>(OWNER, store)
  if (owner === personId) return
  if (owner !== undefined) await clear(store)
  await set(OWNER, personId, store)
}

/** Deletes all conversations, as signing out does: the next person at this browser may be another one. */
export const forgetHistory = (): Promise<void> => ifStored(() => clear(openHistoryStore()))

async function ifStored(change: () => Promise<void>): Promise<void> {
  try {
    await change()
  } catch {
    // A browser that refuses storage has kept nothing.
  }
}
