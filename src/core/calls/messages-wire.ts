import type { Fields } from '../json/json-object.ts'
import type { Usage } from './usage.ts'

/** The messages wire: the wire of providers that get native requests as they are. */
export const NATIVE_WIRE = 'anthropic-messages'

/** The fields of a request on the messages wire that are forwarded as the client wrote them. */
export type NativeRequest = Readonly<Fields>

/**
 * A completion on the messages wire between a provider and a client with that wire: native events,
 * reduced to what every target of the wire sends. Its id and model are the call's own, and are inserted where it is
 * written (src/http/calls/messages-format.ts).
 */

export type NativeBlock =
  | { type: 'text'; text: string; citations?: Fields[] }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  /** A call of a tool of the client, or of one that the provider runs. `json`: its input, which may be cut off. */
  | { type: 'tool_use' | 'server_tool_use'; id: string; name: string; json: string; caller?: Fields }
  /** A block that comes whole, as the provider wrote it: the result of one of its tools. */
  | { type: 'whole'; block: Fields }

export type NativeBlockDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'citations_delta'; citation: Fields }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'signature_delta'; signature: string }
  | { type: 'input_json_delta'; partial_json: string }

/** One event of a native completion, before its end. Blocks start empty and are numbered from 0 without gaps. */
export type NativeEvent =
  /** `usage`: the part that is known at the start, or null. */
  | { type: 'message_start'; usage: Usage | null }
  | { type: 'content_block_start'; index: number; content_block: NativeBlock }
  | { type: 'content_block_delta'; index: number; delta: NativeBlockDelta }
  | { type: 'content_block_stop'; index: number }

/** Why a native completion ended, in the wire's terms. */
export interface NativeStop {
  stop_reason: string
  stop_sequence: string | null
}

/** How a native completion reports that it reached its limit. */
export const NATIVE_AT_LIMIT: NativeStop = { stop_reason: 'max_tokens', stop_sequence: null }

/** The billed text that an event adds; thinking is measured separately. */
export function nativeText(event: NativeEvent): string {
  if (event.type !== 'content_block_delta') return ''
  if (event.delta.type === 'text_delta') return event.delta.text
  return event.delta.type === 'input_json_delta' ? event.delta.partial_json : ''
}

/** All output of a model except its thinking: its text, and its tool calls with their input. */
export const nativeTexts = (content: readonly NativeBlock[]): string[] =>
  content.flatMap((block) => {
    if (block.type === 'text') return block.text
    return isToolCall(block) ? `${block.name} ${block.json}` : []
  })

/** Whether a block calls a tool, of the client or of the provider. */
export const isToolCall = (block: NativeBlock): block is Extract<NativeBlock, { json: string }> =>
  block.type === 'tool_use' || block.type === 'server_tool_use'

/** Approximate characters of an event as JSON besides its content. */
export const NATIVE_EVENT_CHARS = 80

/** The approximate characters of an event as JSON. */
export function nativeSize(event: NativeEvent): number {
  if (event.type === 'content_block_start')
    return NATIVE_EVENT_CHARS + JSON.stringify(event.content_block).length
  if (event.type !== 'content_block_delta') return NATIVE_EVENT_CHARS
  const { delta } = event
  switch (delta.type) {
    case 'text_delta':
      return NATIVE_EVENT_CHARS + delta.text.length
    case 'input_json_delta':
      return NATIVE_EVENT_CHARS + delta.partial_json.length
    case 'thinking_delta':
      return NATIVE_EVENT_CHARS + delta.thinking.length
    case 'signature_delta':
      return NATIVE_EVENT_CHARS + delta.signature.length
    case 'citations_delta':
      return NATIVE_EVENT_CHARS + JSON.stringify(delta.citation).length
    default:
      return delta satisfies never
  }
}

/** Assembles native events. */
export class NativeMessageBuilder {
  /** The blocks so far. */
  readonly content: NativeBlock[] = []

  add(event: NativeEvent): void {
    if (event.type === 'content_block_start') this.content[event.index] = { ...event.content_block }
    else if (event.type === 'content_block_delta') this.#addDelta(event.index, event.delta)
  }

  #addDelta(index: number, delta: NativeBlockDelta): void {
    const block = this.content[index]
    switch (delta.type) {
      case 'text_delta':
        if (block?.type === 'text') block.text += delta.text
        break
      case 'citations_delta':
        if (block?.type !== 'text') break
        block.citations ??= []
        block.citations.push(delta.citation)
        break
      case 'thinking_delta':
        if (block?.type === 'thinking') block.thinking += delta.thinking
        break
      case 'signature_delta':
        if (block?.type === 'thinking') block.signature += delta.signature
        break
      case 'input_json_delta':
        if (block && isToolCall(block)) block.json += delta.partial_json
        break
      default:
        delta satisfies never
    }
  }
}
