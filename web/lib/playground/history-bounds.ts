import type { Conversation } from './conversation.ts'

const KEPT_MAX = 50
/** Images are most of it. */
const CHARACTERS_MAX = 40_000_000

/** The ids of those conversations, the newest first, that are more than is kept. */
export function beyondBounds(conversations: readonly Conversation[]): string[] {
  let characters = 0
  return conversations
    .filter((conversation, index) => {
      characters += JSON.stringify(conversation).length
      return index >= KEPT_MAX || characters > CHARACTERS_MAX
    })
    .map(({ id }) => id)
}
