import { type ChatMessage, textLength } from '../core/calls/chat-request.ts'
import type { ContentPart } from '../core/calls/content-part.ts'
import { LEAST_CACHED_TOKENS } from '../core/routing/likely-cost.ts'

/** The usual number. */
const CHARS_PER_TOKEN = 4

/**
 * The messages with breakpoints of the prompt cache at the end of the system text and at the end of all, for clients that
 * set none. Only within a conversation, whose next call reads what this one writes: a write costs more than it saves
 * where no call follows. Unchanged where the client set its own, or the prompt is too short to be cached.
 */
export function withBreakpoints(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some(({ role }) => role === 'assistant') || messages.some(hasBreakpoint)) return messages
  const characters = messages.reduce((sum, message) => sum + textLength(message), 0)
  if (characters < LEAST_CACHED_TOKENS * CHARS_PER_TOKEN) return messages
  const ends = [
    messages.findLastIndex(({ role }) => role === 'system' || role === 'developer'),
    messages.length - 1,
  ]
  return messages.map((message, index) => (ends.includes(index) ? endingWithBreakpoint(message) : message))
}

const hasBreakpoint = ({ content }: ChatMessage): boolean =>
  typeof content !== 'string' && content.some(({ cacheBreakpoint }) => cacheBreakpoint)

function endingWithBreakpoint(message: ChatMessage): ChatMessage {
  const { content } = message
  const parts: readonly ContentPart[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const last = parts.at(-1)
  if (!last || (last.type === 'text' && last.text.trim() === '')) return message
  return { ...message, content: [...parts.slice(0, -1), { ...last, cacheBreakpoint: true }] }
}
