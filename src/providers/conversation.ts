import { createHash } from 'node:crypto'
import type { ChatMessage } from '../core/calls/chat-request.ts'
import type { CacheMark, ContentPart } from '../core/calls/content-part.ts'
import { MAX_NESTING, scanJson } from '../core/json/json-text.ts'
import { type Fields, parseObject, toolCallId } from './wire.ts'

/** A call of a tool in the history, and its result. */
export interface ToolUsePart extends CacheMark {
  type: 'tool-use'
  id: string
  name: string
  /** JSON, as a model wrote it. */
  arguments: string
}
export interface ToolResultPart extends CacheMark {
  type: 'tool-result'
  id: string
  name: string
  text: string
}
export type TurnPart = ContentPart | ToolUsePart | ToolResultPart

interface Turn {
  role: 'user' | 'assistant'
  parts: TurnPart[]
}

export interface Conversation {
  /** The system messages, wherever they stood, in order; empty where there are none. */
  system: string[]
  /** After how many of them breakpoints of the prompt cache lie. */
  systemBreakpoints: number[]
  /** Never empty; user and assistant take turns, and the user begins. Results stand first in their turn. */
  turns: Turn[]
}

/** What stands for a turn that said nothing; wires refuse empty ones. */
export const SAYS_NOTHING = '.'

/**
 * The messages as wires want them that know two roles which take turns: messages of one side in a row become
 * one turn, and system messages are apart. A tool's result whose call is not kept is told by the user in words.
 */
export function toConversation(messages: readonly ChatMessage[]): Conversation {
  const system: string[] = []
  const systemBreakpoints: number[] = []
  const turns: Turn[] = []
  /** The functions of the last calls by the ids of those. */
  let called = new Map<string, string>()
  for (const message of messages) {
    const parts = partsOf(message, called)
    if (message.role === 'system' || message.role === 'developer') {
      for (const piece of cutAtBreakpoints(parts)) {
        const text = textsOf(piece).join('\n')
        if (text === '') continue
        system.push(text)
        if (piece.at(-1)!.cacheBreakpoint) systemBreakpoints.push(system.length)
      }
      continue
    }
    if (message.tool_calls) called = new Map(message.tool_calls.map((call) => [call.id, call.function.name]))
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else if (parts.length > 0) turns.push({ role, parts })
  }
  if (turns[0]?.role !== 'user')
    turns.unshift({ role: 'user', parts: [{ type: 'text', text: SAYS_NOTHING }] })
  return { system, systemBreakpoints, turns }
}

/** Parts in pieces, none of them empty, each of which ends with a breakpoint or with the last part. */
function cutAtBreakpoints(parts: readonly TurnPart[]): TurnPart[][] {
  const pieces: TurnPart[][] = []
  for (const part of parts) {
    const open = pieces.at(-1)
    if (open && !open.at(-1)!.cacheBreakpoint) open.push(part)
    else pieces.push([part])
  }
  return pieces
}

/** The texts among parts. */
export const textsOf = (parts: readonly TurnPart[]): string[] =>
  parts.flatMap((part) => (part.type === 'text' ? part.text : []))

function partsOf(message: ChatMessage, called: ReadonlyMap<string, string>): TurnPart[] {
  const { content, role, tool_calls: calls = [], tool_call_id: id = '' } = message
  const parts: TurnPart[] =
    typeof content === 'string'
      ? textPart(content)
      : content.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  const name = called.get(id)
  if (role === 'tool') {
    if (name === undefined) return [{ type: 'text', text: toolResultHeading(message) }, ...parts]
    const isBreakpoint = parts.some((part) => part.cacheBreakpoint)
    const text = textsOf(parts).join('\n')
    return [{ type: 'tool-result', id, name, text, ...(isBreakpoint && { cacheBreakpoint: true }) }]
  }
  if (role === 'user' && message.name !== undefined && parts.length > 0) {
    return [{ type: 'text', text: `${message.name}:` }, ...parts]
  }
  for (const call of calls) parts.push({ type: 'tool-use', id: call.id, ...call.function })
  return parts
}

function toolResultHeading({ name, tool_call_id: id }: ChatMessage): string {
  const which = [name, id].filter((word) => word !== undefined && word !== '')
  return which.length > 0 ? `Result of the tool call (${which.join(', ')}):` : 'Result of the tool call:'
}

const textPart = (text: string): ContentPart[] => (text.trim() === '' ? [] : [{ type: 'text', text }])

/** What a history's calls of tools are told by on a wire. */
type ToolIdForm = (id: string) => string

const PORTABLE_ID = /^[A-Za-z0-9_-]{1,40}$/
/** What every provider but a few takes: clients may bring ids of other gateways. */
export const portableId: ToolIdForm = (id) => (PORTABLE_ID.test(id) ? id : toolCallId(id))

const SHORT_ID_CHARS = 9
const SHORT_ID = /^[A-Za-z0-9]{9}$/
/** For providers that take nine letters and digits only. */
export const shortId: ToolIdForm = (id) =>
  SHORT_ID.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, SHORT_ID_CHARS)

/**
 * The messages with ids of calls in a wire's form, unique in the conversation: those of other providers may repeat in
 * each turn. The same history gets the same ids.
 */
export function withToolIds(messages: readonly ChatMessage[], form: ToolIdForm): readonly ChatMessage[] {
  const taken = new Set<string>()
  let current = new Map<string, string>()
  return messages.map((message, index) => {
    const { tool_calls: calls, tool_call_id: answered } = message
    if (calls) {
      current = new Map(calls.map(({ id }) => [id, unique(form(id), `${index} ${id}`)]))
      return { ...message, tool_calls: calls.map((call) => ({ ...call, id: current.get(call.id)! })) }
    }
    const id = answered === undefined ? undefined : current.get(answered)
    return id === undefined ? message : { ...message, tool_call_id: id }
  })
  function unique(id: string, seed: string): string {
    const free = taken.has(id) ? unique(form(`${seed} again`), `${seed} again`) : id
    taken.add(free)
    return free
  }
}

export const hasToolCalls = (messages: readonly ChatMessage[]): boolean =>
  messages.some((message) => message.tool_calls !== undefined)

const ARGUMENTS_LIMITS = { depth: MAX_NESTING, values: 100_000 }

/** The arguments of a call as an object; what a model wrote that is none is kept as a text in one. */
export function argumentsObject(json: string): Fields {
  if (json.trim() === '') return {}
  const isReadable = scanJson(Buffer.from(json), ARGUMENTS_LIMITS) === 'ok'
  return (isReadable ? parseObject(json) : null) ?? { arguments: json }
}
