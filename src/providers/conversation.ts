import { createHash } from 'node:crypto'
import type { ChatMessage } from '../core/calls/chat-request.ts'
import type { CacheMark, ContentPart } from '../core/calls/content-part.ts'
import { MAX_NESTING, scanJson } from '../core/json/json-text.ts'
import { type Fields, parseObject, toolCallId } from './wire.ts'

/** A tool call in the history, and its result. */
export interface ToolUsePart extends CacheMark {
  type: 'tool-use'
  id: string
  name: string
  /** JSON, as the model wrote it. */
  arguments: string
  /** What the model signed of it; absent: nothing. */
  signature?: unknown
}
export interface ToolResultPart extends CacheMark {
  type: 'tool-result'
  id: string
  name: string
  text: string
}
/** Reasoning as its maker signed it. */
interface SignedPart extends CacheMark {
  type: 'signed'
  value: unknown
}
export type TurnPart = ContentPart | SignedPart | ToolUsePart | ToolResultPart

interface Turn {
  role: 'user' | 'assistant'
  parts: TurnPart[]
}

export interface Conversation {
  /** The system messages in order, whatever their position; empty if there are none. */
  system: string[]
  /** For each breakpoint of the prompt cache, the number of system messages before it. */
  systemBreakpoints: number[]
  /** Never empty. The roles alternate, and the user's is first. Tool results are first in their turn. */
  turns: Turn[]
}

/** Replaces an empty turn, because wires refuse empty turns. */
export const SAYS_NOTHING = '.'

/**
 * The messages in the form of wires that have two alternating roles: consecutive messages of one role are merged into
 * one turn, and system messages are separate. A tool result without its call becomes a text of the user.
 * @param maker gets what it signed of earlier turns
 */
export function toConversation(messages: readonly ChatMessage[], maker?: string): Conversation {
  const system: string[] = []
  const systemBreakpoints: number[] = []
  const turns: Turn[] = []
  /** The functions of the latest calls, by call id. */
  let called = new Map<string, string>()
  for (const message of messages) {
    const parts = partsOf(message, called, maker)
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

/** Splits parts into groups, none of them empty, each of which ends with a breakpoint or with the last part. */
function cutAtBreakpoints(parts: readonly TurnPart[]): TurnPart[][] {
  const pieces: TurnPart[][] = []
  for (const part of parts) {
    const open = pieces.at(-1)
    if (open && !open.at(-1)!.cacheBreakpoint) open.push(part)
    else pieces.push([part])
  }
  return pieces
}

export const textsOf = (parts: readonly TurnPart[]): string[] =>
  parts.flatMap((part) => (part.type === 'text' ? part.text : []))

function partsOf(message: ChatMessage, called: ReadonlyMap<string, string>, maker?: string): TurnPart[] {
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
  const signed = signedBy(maker, message)
  for (const call of calls) {
    const signature = signed.find((each) => each.call === call.id)?.value
    parts.push({
      ...{ type: 'tool-use', id: call.id, ...call.function },
      ...(signature !== undefined && { signature }),
    })
  }
  const first = signed.flatMap(({ call, value }) =>
    call === undefined ? { type: 'signed' as const, value } : [],
  )
  return [...first, ...parts]
}

/** What a maker signed of a turn. */
export const signedBy = (maker: string | undefined, { signed = [] }: ChatMessage) =>
  signed.filter((each) => each.maker === maker)

function toolResultHeading({ name, tool_call_id: id }: ChatMessage): string {
  const which = [name, id].filter((word) => word !== undefined && word !== '')
  return which.length > 0 ? `Result of the tool call (${which.join(', ')}):` : 'Result of the tool call:'
}

const textPart = (text: string): ContentPart[] => (text.trim() === '' ? [] : [{ type: 'text', text }])

/** Converts the id of a tool call to the form that a wire takes. */
type ToolIdForm = (id: string) => string

const PORTABLE_ID = /^[A-Za-z0-9_-]{1,40}$/
/** The form that most providers take. Clients may send ids that another gateway made. */
export const portableId: ToolIdForm = (id) => (PORTABLE_ID.test(id) ? id : toolCallId(id))

const SHORT_ID_CHARS = 9
const SHORT_ID = /^[A-Za-z0-9]{9}$/
/** For providers that take only ids of nine letters and digits. */
export const shortId: ToolIdForm = (id) =>
  SHORT_ID.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, SHORT_ID_CHARS)

/**
 * The messages with call ids in a wire's form. The ids are unique in the conversation, because providers may repeat
 * them in each turn. The same history always has the same ids.
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

/** Whether `withToolIds` would change nothing. */
export function haveToolIds(messages: readonly ChatMessage[], form: ToolIdForm): boolean {
  const ids = messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id))
  return new Set(ids).size === ids.length && ids.every((id) => form(id) === id)
}

export const hasToolCalls = (messages: readonly ChatMessage[]): boolean =>
  messages.some((message) => message.tool_calls !== undefined)

const ARGUMENTS_LIMITS = { depth: MAX_NESTING, values: 100_000 }

/** The arguments of a call as an object. A text that is no JSON object becomes the one field of an object. */
export function argumentsObject(json: string): Fields {
  if (json.trim() === '') return {}
  const isReadable = scanJson(Buffer.from(json), ARGUMENTS_LIMITS) === 'ok'
  return (isReadable ? parseObject(json) : null) ?? { arguments: json }
}
