import type { CompletionEvent, FinishReason } from '../core/calls/completion.ts'
import {
  foldSystemTurns,
  withoutNativeBillingHeader,
  withoutUnsignedThinking,
} from '../core/calls/messages-content.ts'
import type { NativeContent } from '../core/calls/messages-request.ts'
import {
  isToolCall,
  type NativeBlock,
  type NativeBlockDelta,
  type NativeEvent,
  type NativeStop,
} from '../core/calls/messages-wire.ts'
import { withBoundedUses } from '../core/calls/provider-tools.ts'
import type { Usage } from '../core/calls/usage.ts'
import { makerOf } from '../core/catalog/catalog.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../core/json/json-text.ts'
import {
  type AttemptRequest,
  type CompletionReader,
  type Emit,
  type Fields,
  isObject,
  parseObject,
  type StreamSignal,
  samplingFor,
  toolUseId,
  type WholeReading,
} from './wire.ts'

/** The messages wire for a client that uses it too: the gateway forwards the client's request and relays the response. */

/**
 * The fields of a native request in the form that an offer takes, without the model, the limit and the stream. A
 * thinking budget is part of the limit; the wire refuses a budget that is not below it, or less than 1,024.
 */
export function nativeFields({ offer, content, completionLimit }: AttemptRequest<NativeContent>): Fields {
  const { request, parameters } = content
  const { temperature, topP } = samplingFor({ offer, parameters })
  const isForClaude = makerOf(offer) === 'claude'
  const { thinking, tools, ...fields } = foldSystemTurns(
    withoutUnsignedThinking(isForClaude ? request : withoutNativeBillingHeader(request), isForClaude),
  )
  return {
    ...fields,
    ...(Array.isArray(tools) && { tools: withBoundedUses(tools, offer.provider) }),
    temperature,
    top_p: topP,
    thinking: boundedThinking(thinking, completionLimit),
  }
}

const THINKING_MIN = 1_024

function boundedThinking(thinking: unknown, completionLimit: number): unknown {
  if (!isObject(thinking) || typeof thinking.budget_tokens !== 'number') return thinking
  if (completionLimit <= THINKING_MIN) return undefined
  return { ...thinking, budget_tokens: Math.min(thinking.budget_tokens, completionLimit - 1) }
}

/** Reads the completions of other calls on this wire, by event or whole. */
interface ContentReader extends Pick<CompletionReader, 'whole' | 'end'> {
  read(event: Fields, emit: Emit): StreamSignal
}

/** The most blocks that are read per completion. */
const BLOCKS_MAX = 1_024

/**
 * Reads one native completion: usage, end and signals as for any other call, and its events without fields that name
 * the target. Events before the first content are withheld until it comes, so that a client sees nothing of an
 * attempt that fails before.
 */
export class NativeReader implements CompletionReader {
  /** Reads the same events for everything but the content. */
  readonly #inner: ContentReader
  /** The events before the first content; null once it has come. */
  #held: NativeEvent[] | null = []
  #usage: Usage | null = null
  #end: NativeStop = { stop_reason: 'end_turn', stop_sequence: null }
  /** The client's block numbers by those of the provider. */
  readonly #indexes = new Map<unknown, number>()
  /** The input in the start of each tool call; used if no delta of it follows. */
  readonly #firstInputs = new Map<number, unknown>()

  constructor(inner: ContentReader) {
    this.#inner = inner
  }

  event(data: string, emit: Emit): StreamSignal {
    const event = parseObject(data)
    if (event === null) return 'malformed'
    if (event.type === 'message_delta') this.#noteStop(event.delta)
    const signal = this.#inner.read(event, (beside) => this.#beside(beside, emit))
    if (signal !== 'malformed') this.#read(event, emit)
    return signal
  }

  whole(body: string, emit: Emit): WholeReading {
    const reply = parseObject(body)
    this.#noteStop(reply)
    const reading = this.#inner.whole(body, (beside) => this.#beside(beside, emit))
    if (reading !== 'ok') return reading
    this.#pass({ type: 'message_start', usage: this.#usage }, emit)
    const content = Array.isArray(reply?.content) ? reply.content : []
    for (const [index, block] of content.entries()) {
      this.#start(index, block, emit)
      this.#stop(index, emit)
    }
    return reading
  }

  end(reason: FinishReason, emit: Emit): FinishReason {
    return this.#inner.end?.(reason, emit) ?? reason
  }

  #beside(event: CompletionEvent, emit: Emit): void {
    switch (event[0]) {
      case 'usage':
        this.#usage = event[1]
        emit(event)
        break
      case 'finish':
        emit(['finish', event[1], this.#end])
        break
      case 'thinking':
        emit(event)
    }
  }

  #noteStop(ending: unknown): void {
    if (!isObject(ending) || typeof ending.stop_reason !== 'string') return
    const { stop_reason, stop_sequence } = ending
    this.#end = { stop_reason, stop_sequence: typeof stop_sequence === 'string' ? stop_sequence : null }
  }

  #read(event: Fields, emit: Emit): void {
    switch (event.type) {
      case 'message_start':
        this.#pass({ type: 'message_start', usage: this.#usage }, emit)
        break
      case 'content_block_start':
        this.#start(event.index, event.content_block, emit)
        break
      case 'content_block_delta':
        this.#delta(event.index, event.delta, emit)
        break
      case 'content_block_stop':
        this.#stop(event.index, emit)
    }
  }

  /** Starts an empty block. Content that the provider sent with the start becomes the first delta. */
  #start(upstreamIndex: unknown, block: unknown, emit: Emit): void {
    const empty = isObject(block) ? emptyBlock(block) : null
    const index = this.#indexes.size
    if (empty === null || !isObject(block) || this.#indexes.has(upstreamIndex) || index >= BLOCKS_MAX) return
    this.#indexes.set(upstreamIndex, index)
    this.#pass({ type: 'content_block_start', index, content_block: empty }, emit)
    if (isToolCall(empty)) {
      this.#firstInputs.set(index, block.input)
      return
    }
    const { text, thinking, signature, citations } = block
    for (const citation of Array.isArray(citations) ? citations : [])
      this.#passDelta(index, toDelta({ type: 'citations_delta', citation }), emit)
    if (block.type === 'text') this.#passDelta(index, toDelta({ type: 'text_delta', text }), emit)
    this.#passDelta(index, toDelta({ type: 'thinking_delta', thinking }), emit)
    this.#passDelta(index, toDelta({ type: 'signature_delta', signature }), emit)
  }

  #delta(upstreamIndex: unknown, value: unknown, emit: Emit): void {
    const index = this.#indexes.get(upstreamIndex)
    const delta = isObject(value) ? toDelta(value) : null
    if (index === undefined) return
    if (delta?.type === 'input_json_delta' && delta.partial_json !== '') this.#firstInputs.delete(index)
    this.#passDelta(index, delta, emit)
  }

  #stop(upstreamIndex: unknown, emit: Emit): void {
    const index = this.#indexes.get(upstreamIndex)
    if (index === undefined) return
    if (this.#firstInputs.has(index)) {
      const json = JSON.stringify(this.#firstInputs.get(index) ?? {})
      this.#passDelta(index, { type: 'input_json_delta', partial_json: json }, emit)
    }
    this.#pass({ type: 'content_block_stop', index }, emit)
  }

  #passDelta(index: number, delta: NativeBlockDelta | null, emit: Emit): void {
    if (delta) this.#pass({ type: 'content_block_delta', index, delta }, emit)
  }

  #pass(event: NativeEvent, emit: Emit): void {
    if (this.#held === null) {
      emit(['native', event])
      return
    }
    this.#held.push(event)
    if (!isContent(event)) return
    for (const held of this.#held) emit(['native', held])
    this.#held = null
  }
}

/** Whether an event shows a part of the completion. */
function isContent(event: NativeEvent): boolean {
  if (event.type === 'content_block_delta') return true
  if (event.type !== 'content_block_start') return false
  const { type } = event.content_block
  return type !== 'text' && type !== 'thinking'
}

function emptyBlock(block: Fields): NativeBlock | null {
  const { type, id, name, input, data, caller } = block
  switch (type) {
    case 'text':
      return { type, text: '' }
    case 'thinking':
      return { type, thinking: '', signature: '' }
    case 'redacted_thinking':
      return typeof data === 'string' ? { type, data } : null
    case 'tool_use':
    case 'server_tool_use':
      return typeof id === 'string' && typeof name === 'string' && !isNestedDeeperThan(input, MAX_NESTING)
        ? { type, id: toolUseId(id), name, json: '', ...readCaller(caller) }
        : null
    default:
      // The result of a tool that the provider ran.
      return typeof type === 'string' &&
        type.endsWith('_tool_result') &&
        !isNestedDeeperThan(block, MAX_NESTING)
        ? { type: 'whole', block: { ...block, tool_use_id: toolUseId(String(block.tool_use_id)) } }
        : null
  }
}

/** Who made a call: the model itself, or a program that it wrote, with the id of that call. */
function readCaller(value: unknown): { caller?: Fields } {
  if (!isObject(value) || typeof value.type !== 'string') return {}
  const { type, tool_id: id } = value
  return { caller: { type, ...(typeof id === 'string' && { tool_id: toolUseId(id) }) } }
}

/** A delta that is not empty; null for any other value. */
function toDelta(value: Fields): NativeBlockDelta | null {
  const { type, text, thinking, signature, partial_json, citation } = value
  switch (type) {
    case 'text_delta':
      return isText(text) ? { type, text } : null
    case 'thinking_delta':
      return isText(thinking) ? { type, thinking } : null
    case 'signature_delta':
      return isText(signature) ? { type, signature } : null
    case 'input_json_delta':
      return typeof partial_json === 'string' ? { type, partial_json } : null
    case 'citations_delta':
      return isObject(citation) && !isNestedDeeperThan(citation, MAX_NESTING) ? { type, citation } : null
    default:
      return null
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
