import {
  type CompletionEvent,
  FINISH_REASONS,
  type FinishReason,
  type ToolCallDelta,
} from '../../../src/core/completion.ts'
import type { Usage } from '../../../src/core/pricing.ts'

/** What one event of a provider's stream amounts to, besides the completion events it emitted. */
export type StreamSignal =
  | 'content'
  /** The model thinks: not content, but no silence either. */
  | 'thinking'
  /** Nothing of use: a role, an empty delta, usage, a finish reason. */
  | 'other'
  | 'done'
  | 'malformed'
  | { error: unknown }

type Emit = (event: CompletionEvent) => void
type Fields = Record<string, unknown>

const MAX_TOOL_CALLS = 256

/** Words of other dialects for the finish reasons of this wire. */
const FINISH_ALIASES: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_length: 'length',
  tool_use: 'tool_calls',
  safety: 'content_filter',
}

/**
 * Reads one event of a stream: emits what is in it, known fields of choice 0 only, and says what it was.
 * An error object anywhere in it is the provider's failure, whatever the HTTP status said.
 */
export function readStreamEvent(data: string, emit: Emit): StreamSignal {
  if (data === '[DONE]') return 'done'
  const chunk = parseObject(data)
  if (chunk === null) return data.trim() === '[DONE]' ? 'done' : 'malformed'
  if (chunk.error != null) return { error: chunk.error }
  if (!Array.isArray(chunk.choices) && !isObject(chunk.usage)) return 'malformed'
  const choice = firstChoice(chunk.choices)
  let signal: StreamSignal = 'other'
  if (choice !== null) {
    if (choice.error != null) return { error: choice.error }
    if (choice.finish_reason === 'error') return { error: { code: 'finish_reason_error' } }
    if (isObject(choice.delta)) signal = readMessage(choice.delta, emit)
  }
  if (choice !== null && typeof choice.finish_reason === 'string') {
    emit({ kind: 'finish', reason: finishReason(choice.finish_reason) })
  }
  emitUsage(chunk.usage, emit)
  return signal
}

/** Reads a whole completion, which some providers send although a stream was asked for. */
export function readWholeReply(body: string, emit: Emit): 'ok' | 'malformed' | { error: unknown } {
  const reply = parseObject(body)
  if (reply === null) return 'malformed'
  if (reply.error != null) return { error: reply.error }
  const choice = firstChoice(reply.choices)
  if (choice === null || !isObject(choice.message)) {
    // Some servers put the error's fields at the top: {"object":"error","message":…,"code":…}.
    return reply.object === 'error' || typeof reply.message === 'string' || reply.detail != null
      ? { error: reply }
      : 'malformed'
  }
  if (choice.finish_reason === 'error') return { error: choice.error ?? { code: 'finish_reason_error' } }
  readMessage(choice.message, emit)
  emitUsage(reply.usage, emit)
  emit({ kind: 'finish', reason: finishReason(choice.finish_reason) })
  return 'ok'
}

function firstChoice(choices: unknown): Fields | null {
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    if (isObject(choice) && (choice.index === 0 || choice.index === undefined)) return choice
  }
  return null
}

/** A delta, or the message of a whole reply. */
function readMessage(message: Fields, emit: Emit): StreamSignal {
  let signal: StreamSignal = 'other'
  const text = textOf(message.content)
  if (text !== '') {
    emit({ kind: 'text', text })
    signal = 'content'
  }
  if (typeof message.refusal === 'string' && message.refusal !== '') {
    emit({ kind: 'refusal', text: message.refusal })
    signal = 'content'
  }
  if (Array.isArray(message.tool_calls)) {
    const deltas = message.tool_calls.slice(0, MAX_TOOL_CALLS).flatMap(toolCallDelta)
    if (deltas.length > 0) {
      emit({ kind: 'tool-calls', deltas })
      signal = 'content'
    }
  }
  if (signal === 'other' && isThinking(message)) signal = 'thinking'
  return signal
}

const isThinking = (message: Fields): boolean =>
  (typeof message.reasoning_content === 'string' && message.reasoning_content !== '') ||
  (typeof message.reasoning === 'string' && message.reasoning !== '')

/** Content as text; some providers send an array of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part) => (isObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : ''))
    .join('')
}

function toolCallDelta(value: unknown, position: number): ToolCallDelta[] {
  if (!isObject(value)) return []
  const { index, id, function: call } = value
  const isIndex = Number.isInteger(index) && (index as number) >= 0 && (index as number) < MAX_TOOL_CALLS
  const delta: ToolCallDelta = { index: isIndex ? (index as number) : position }
  if (typeof id === 'string') {
    delta.id = id
    delta.type = 'function'
  }
  if (isObject(call)) {
    delta.function = {
      ...(typeof call.name === 'string' && { name: call.name }),
      ...(typeof call.arguments === 'string' && { arguments: call.arguments }),
    }
  }
  return [delta]
}

function finishReason(value: unknown): FinishReason {
  const known = FINISH_REASONS.find((reason) => reason === value)
  if (known) return known
  const alias = typeof value === 'string' ? value.toLowerCase() : ''
  return Object.hasOwn(FINISH_ALIASES, alias) ? FINISH_ALIASES[alias]! : 'stop'
}

function emitUsage(value: unknown, emit: Emit): void {
  if (!isObject(value)) return
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = value
  if (typeof promptTokens !== 'number' || typeof completionTokens !== 'number') return
  const usage: Usage = { promptTokens, completionTokens }
  emit({ kind: 'usage', usage })
}

function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    // The caller counts it as malformed.
    return null
  }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
