import type { ChatMessage } from '../../src/core/chat-request.ts'

/** A piece of a turn, before a wire gives it its form. */
export type TurnPart =
  | { kind: 'text'; text: string }
  /** Media inside the request. */
  | { kind: 'data'; mediaType: string; base64: string }
  /** Media at an address that the provider fetches. */
  | { kind: 'address'; url: string }

export interface Turn {
  role: 'user' | 'assistant'
  parts: TurnPart[]
}

export interface Conversation {
  /** The system messages, wherever they stood, in order; empty where there are none. */
  system: string[]
  /** Never empty; user and assistant take turns, and the user begins. */
  turns: Turn[]
}

type Part = Record<string, unknown>

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,/i
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
      const text = parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('\n')
      if (text !== '') system.push(text)
      continue
    }
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else if (parts.length > 0) turns.push({ role, parts: [...parts] })
  }
  if (turns[0]?.role !== 'user')
    turns.unshift({ role: 'user', parts: [{ kind: 'text', text: SAYS_NOTHING }] })
  return { system, turns }
}

function partsOf(message: ChatMessage): TurnPart[] {
  const { content, role } = message
  const parts: TurnPart[] =
    typeof content === 'string' ? textPart(content) : content.flatMap((part) => toPart(part))
  if (role === 'tool') return [{ kind: 'text', text: toolResultHeading(message) }, ...parts]
  if (role === 'user' && message.name !== undefined && parts.length > 0) {
    return [{ kind: 'text', text: `${message.name}:` }, ...parts]
  }
  return parts
}

function toolResultHeading({ name, tool_call_id: id }: ChatMessage): string {
  const which = [name, id].filter((word) => word !== undefined && word !== '')
  return which.length > 0 ? `Result of the tool call (${which.join(', ')}):` : 'Result of the tool call:'
}

const textPart = (text: string): TurnPart[] => (text.trim() === '' ? [] : [{ kind: 'text', text }])

/** Parts of kinds that are not known here are left out: routing sends none to models that cannot take them. */
function toPart(part: Part): TurnPart[] {
  switch (part.type) {
    case 'image_url':
    case 'video_url':
      return addressPart(urlOf(part[part.type]))
    case 'input_audio':
      return audioPart(part.input_audio)
    case 'file':
      return addressPart(fileDataOf(part.file))
    default:
      return typeof part.text === 'string' ? textPart(part.text) : []
  }
}

function addressPart(url: string | null): TurnPart[] {
  if (url === null || url === '') return []
  const match = DATA_URL.exec(url)
  if (match) {
    return [{ kind: 'data', mediaType: match[1]!.toLowerCase(), base64: url.slice(match[0].length) }]
  }
  return [{ kind: 'address', url }]
}

function audioPart(value: unknown): TurnPart[] {
  const { data, format } = (value ?? {}) as Part
  return typeof data === 'string' && typeof format === 'string'
    ? [{ kind: 'data', mediaType: `audio/${format}`, base64: data }]
    : []
}

function urlOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  const { url } = (value ?? {}) as Part
  return typeof url === 'string' ? url : null
}

function fileDataOf(value: unknown): string | null {
  const { file_data: data } = (value ?? {}) as Part
  return typeof data === 'string' ? data : null
}
