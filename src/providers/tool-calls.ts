import { randomBytes } from 'node:crypto'
import type { ChatMessage } from '../core/calls/chat-request.ts'
import type { ToolCallDelta } from '../core/calls/completion.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../core/json/json-text.ts'
import { type Fields, isObject, MAX_TOOL_CALLS, parseObject, toolCallId } from './wire.ts'

/** One call of a completion, as far as its pieces have come. */
interface OpenCall {
  /** Its number in the completion; MAX_TOOL_CALLS: it is not passed on. */
  index: number
  /** The provider's id; null while it has sent none. */
  upstreamId: string | null
  /** Empty until it comes; the call is passed on from then on. */
  name: string
  /** The arguments so far, of a call without an id, or before the name. */
  arguments: string
  end: ObjectEnd
  hasArguments: boolean
}

const ID_BYTES = 12

/** Makes ids of calls that are unique in the conversation. */
export class ToolCallIds {
  readonly #messages: readonly ChatMessage[]
  #taken: Set<string> | null = null

  constructor(messages: readonly ChatMessage[] = []) {
    this.#messages = messages
  }

  /** The client's id of a call: the provider's if it is neutral and new, otherwise another. */
  next(upstreamId: string | null): string {
    this.#taken ??= new Set(this.#messages.flatMap((message) => message.tool_calls ?? []).map(({ id }) => id))
    let id = upstreamId === null ? freshId() : toolCallId(upstreamId)
    if (this.#taken.has(id)) id = freshId()
    this.#taken.add(id)
    return id
  }
}

const freshId = (): string => `call_${randomBytes(ID_BYTES).toString('hex')}`

/**
 * Makes calls of the deltas of any provider of the chat-completions wire. A piece belongs to the call with its id, else
 * its index, else to the last one. A call begins with an id that is new, also under an index that is in use; without ids,
 * with another name, or after the complete arguments of the call before. For clients each call has one id, one name and
 * its number, in its first piece; its arguments are text.
 */
export class ToolCallReader {
  readonly #ids: ToolCallIds
  readonly #calls: OpenCall[] = []
  readonly #byId = new Map<string, OpenCall>()
  /** The last call of each of the provider's indexes. */
  readonly #byIndex = new Map<number, OpenCall>()
  #last: OpenCall | null = null

  constructor(ids: ToolCallIds) {
    this.#ids = ids
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0
  }

  /**
   * Reads the `tool_calls` of a delta, or of a whole message, each of whose entries is a call. Some servers send one
   * object instead of a list. Null if arguments are nested too deeply.
   */
  read(value: unknown, isWhole: boolean): ToolCallDelta[] | null {
    const deltas: ToolCallDelta[] = []
    for (const piece of Array.isArray(value) ? value : [value]) {
      if (!isObject(piece)) continue
      const called = isObject(piece.function) ? piece.function : {}
      const json = argumentsText(called.arguments)
      if (json === null) return null
      const delta = this.#piece(piece, textIn(called.name), json, isWhole)
      if (delta !== null) deltas.push(delta)
    }
    return deltas
  }

  /** The arguments `{}` of each call that has none, once the completion is whole. */
  end(): ToolCallDelta[] {
    return this.#calls
      .filter((call) => call.name !== '' && !call.hasArguments)
      .map(({ index }) => ({ index, function: { arguments: '{}' } }))
  }

  #piece({ id, index }: Fields, name: string, json: string, isWhole: boolean): ToolCallDelta | null {
    const upstreamId = (typeof id === 'number' ? String(id) : textIn(id)) || null
    const upstreamIndex = readIndex(index)
    const call =
      (isWhole ? null : this.#openCall(upstreamId, upstreamIndex, name, json)) ??
      this.#begin(upstreamId, upstreamIndex)
    this.#last = call
    if (call.index === MAX_TOOL_CALLS) return null
    if (json !== '') call.hasArguments = true
    const isKnown = call.name !== ''
    if (!isKnown || call.upstreamId === null) {
      call.arguments += json
      call.end.readOn(json)
    }
    if (isKnown) return json === '' ? null : { index: call.index, function: { arguments: json } }
    if (name === '') return null
    call.name = name
    return {
      index: call.index,
      id: this.#ids.next(call.upstreamId),
      type: 'function',
      function: { name, arguments: call.arguments },
    }
  }

  /** The call that a piece continues; null if it begins one. */
  #openCall(id: string | null, index: number | null, name: string, json: string): OpenCall | null {
    const ofId = id === null ? undefined : this.#byId.get(id)
    if (ofId) {
      // Parallel calls may have the same id, and then differ in their index.
      return name !== '' && index !== null && !this.#byIndex.has(index) ? null : ofId
    }
    const open = index === null ? this.#last : this.#byIndex.get(index)
    if (!open) return null
    if (id !== null) {
      if (name !== '' && open.name !== '') return null
      // The id of a call that began without one, or another id in each piece.
      open.upstreamId ??= id
      this.#byId.set(id, open)
      return open
    }
    if (name === '' || open.name === '') return open
    const isNext = name !== open.name || (beginsObject(json) && isComplete(open))
    return isNext ? null : open
  }

  #begin(upstreamId: string | null, index: number | null): OpenCall {
    const isBeyond = this.#calls.length >= MAX_TOOL_CALLS
    const call: OpenCall = {
      index: isBeyond ? MAX_TOOL_CALLS : this.#calls.length,
      upstreamId,
      name: '',
      arguments: '',
      end: new ObjectEnd(),
      hasArguments: false,
    }
    if (isBeyond) return call
    this.#calls.push(call)
    if (upstreamId !== null) this.#byId.set(upstreamId, call)
    if (index !== null) this.#byIndex.set(index, call)
    return call
  }
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

/** An index as a number; null if there is none. */
function readIndex(value: unknown): number | null {
  const index = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof index === 'number' && Number.isInteger(index) ? index : null
}

/** Arguments as text, whatever their type; empty if there are none, null if they are nested too deeply. */
function argumentsText(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  return isNestedDeeperThan(value, MAX_NESTING) ? null : JSON.stringify(value)
}

const beginsObject = (json: string): boolean => json.trimStart().startsWith('{')

/** Whether the arguments of a call without an id are complete; parsed once, where another object follows one that ends. */
function isComplete({ arguments: json, end }: OpenCall): boolean {
  if (end.state === 'reached' && parseObject(json) === null) end.state = 'none'
  return end.state === 'reached'
}

/** Finds where an object that comes in pieces ends, each character read once. */
class ObjectEnd {
  /** `none`: what has come is no object, whatever follows. */
  state: 'open' | 'reached' | 'none' = 'open'
  #depth = 0
  #isInString = false
  #isEscaped = false

  readOn(json: string): void {
    for (const character of json) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (character === '\\') this.#isEscaped = true
      else if (character === '"') this.#isInString = !this.#isInString
      else if (this.#isInString) continue
      else if (character === '{' || character === '[') this.#depth++
      else if (character === '}' || character === ']') this.#close()
    }
  }

  #close(): void {
    this.#depth--
    if (this.#depth === 0 && this.state === 'open') this.state = 'reached'
  }
}
