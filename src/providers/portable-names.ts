import type { SamplingParameters } from '../core/calls/chat-request.ts'
import type { CompletionEvent, FinishReason } from '../core/calls/completion.ts'
import { portableName } from '../core/calls/function-names.ts'
import { type ChatAttempt, type CompletionReader, type Emit, type Fields, isObject } from './wire.ts'

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
