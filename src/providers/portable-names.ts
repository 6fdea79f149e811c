import { createHash } from 'node:crypto'
import type { SamplingParameters } from '../core/calls/chat-request.ts'
import type { CompletionEvent, FinishReason } from '../core/calls/completion.ts'
import { type ChatAttempt, type CompletionReader, type Emit, type Fields, isObject } from './wire.ts'

/** The names of functions that every wire takes. The messages wire has longer ones, and other characters. */
const PORTABLE = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const KEPT_CHARACTERS = 50
const DIGEST_CHARACTERS = 12

/** The name of a function in a form that every wire takes; the same for the same name. */
export function portableName(name: string): string {
  if (PORTABLE.test(name)) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_CHARACTERS)
  return `_${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, KEPT_CHARACTERS)}_${digest}`
}

/** The prompt and the parameters of an attempt with portable names of functions. */
export function withPortableNames<Attempt extends Pick<ChatAttempt, 'messages' | 'parameters'>>(
  attempt: Attempt,
): Attempt {
  const { messages, parameters } = attempt
  const { tools, tool_choice: choice } = parameters
  return {
    ...attempt,
    messages: messages.map((message) =>
      message.tool_calls
        ? {
            ...message,
            tool_calls: message.tool_calls.map((call) => ({ ...call, function: named(call.function) })),
          }
        : message,
    ),
    parameters: {
      ...parameters,
      ...(tools && { tools: tools.map(portableTool) }),
      ...(typeof choice === 'object' && { tool_choice: { ...choice, function: named(choice.function) } }),
    },
  }
}

const named = <Named extends { name: string }>(value: Named): Named => ({
  ...value,
  name: portableName(value.name),
})

const portableTool = (tool: Fields): Fields =>
  isObject(tool.function) && typeof tool.function.name === 'string'
    ? { ...tool, function: { ...tool.function, name: portableName(tool.function.name) } }
    : tool

/** Reads a completion whose calls then have the names of the request again. */
export function restoringNames(
  reader: CompletionReader,
  { tools = [] }: SamplingParameters,
): CompletionReader {
  const originals = new Map<string, string>()
  for (const { function: called } of tools) {
    if (!isObject(called) || typeof called.name !== 'string') continue
    const portable = portableName(called.name)
    if (portable !== called.name) originals.set(portable, called.name)
  }
  return originals.size === 0 ? reader : new RestoringReader(reader, originals)
}

class RestoringReader implements CompletionReader {
  readonly endsWithStream: boolean
  readonly #reader: CompletionReader
  readonly #originals: ReadonlyMap<string, string>

  constructor(reader: CompletionReader, originals: ReadonlyMap<string, string>) {
    this.#reader = reader
    this.#originals = originals
    this.endsWithStream = reader.endsWithStream === true
  }

  event(data: string, emit: Emit) {
    return this.#reader.event(data, (event) => emit(this.#restored(event)))
  }

  whole(body: string, emit: Emit) {
    return this.#reader.whole(body, (event) => emit(this.#restored(event)))
  }

  end(reason: FinishReason, emit: Emit) {
    return this.#reader.end?.(reason, emit) ?? reason
  }

  #restored(event: CompletionEvent): CompletionEvent {
    if (event[0] !== 'tool-calls') return event
    const calls = event[1].map((call) => {
      const original = call.function?.name === undefined ? undefined : this.#originals.get(call.function.name)
      return original === undefined ? call : { ...call, function: { ...call.function, name: original } }
    })
    return ['tool-calls', calls]
  }
}
