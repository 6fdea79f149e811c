import type { ChatMessage } from '../core/calls/chat-request.ts'
import type { ContentPart } from '../core/calls/content-part.ts'

export interface Turn {
  role: 'user' | 'assistant'
  parts: ContentPart[]
}

export interface Conversation {
  /** The system messages, wherever they stood, in order; empty where there are none. */
  system: string[]
  /** Never empty; user and assistant take turns, and the user begins. */
  turns: Turn[]
}

/** What stands for a turn that said nothing; wires refuse empty ones. */
export const SAYS_NOTHING = '.'

/**
 * The messages as wires want them that know two roles which take turns: messages of one side in a row become
 * one turn, and system messages are apart. A tool's result is told by the user in words, since the call that
 * it answers is not kept.
 */
export function toConversation(messages: readonly ChatMessage[]): Conversation {
  const system: string[] = []
  const turns: Turn[] = []
  for (const message of messages) {
    const parts = partsOf(message)
    if (message.role === 'system') {
      const text = parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
      if (text !== '') system.push(text)
      continue
    }
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else if (parts.length > 0) turns.push({ role, parts: [...parts] })
  }
  if (turns[0]?.role !== 'user')
    turns.unshift({ role: 'user', parts: [{ type: 'text', text: SAYS_NOTHING }] })
  return { system, turns }
}

function partsOf(message: ChatMessage): ContentPart[] {
  const { content, role } = message
  const parts =
    typeof content === 'string'
      ? textPart(content)
      : content.flatMap((part) => (part.type === 'text' ? textPart(part.text) : [part]))
  if (role === 'tool') return [{ type: 'text', text: toolResultHeading(message) }, ...parts]
  if (role === 'user' && message.name !== undefined && parts.length > 0) {
    return [{ type: 'text', text: `${message.name}:` }, ...parts]
  }
  return parts
}

function toolResultHeading({ name, tool_call_id: id }: ChatMessage): string {
  const which = [name, id].filter((word) => word !== undefined && word !== '')
  return which.length > 0 ? `Result of the tool call (${which.join(', ')}):` : 'Result of the tool call:'
}

const textPart = (text: string): ContentPart[] => (text.trim() === '' ? [] : [{ type: 'text', text }])
