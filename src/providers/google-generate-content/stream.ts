import type { FinishReason, ToolCallDelta } from '../../core/calls/completion.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../../core/json/json-text.ts'
import type { CompletionReader, Emit, StreamSignal, WholeReading } from '../provider.ts'
import { type Fields, isObject, mediaTokens, toolCallId } from '../response-parts.ts'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  LANGUAGE: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
}
const UNFINISHED = 'FINISH_REASON_UNSPECIFIED'
const MAX_TOOL_CALLS = 256

/**
 * Reads one answer on the generate-content wire. Function calls come whole, often without an id, and are
 * numbered here. Any end that is not in the table, such as a malformed call, is a failure of the model.
 */
export class GenerateContentReader implements CompletionReader {
  /** Some models, and servers that translate to this wire, send `STOP` with every chunk. */
  readonly endsWithStream = true
  #toolCalls = 0
  /** Names the answer, so that calls of different answers have different ids. */
  #answerId = ''

  event(data: string, emit: Emit): StreamSignal {
    const chunk = parseJson(data)
    return isObject(chunk) ? this.#chunk(chunk, emit) : 'malformed'
  }

  /** A reply that is not streamed is one chunk, or a list of them. */
  whole(body: string, emit: Emit): WholeReading {
    const reply = parseJson(body)
    let finished = false
    const noteFinish: Emit = (event) => {
      finished ||= event[0] === 'finish'
      emit(event)
    }
    for (const chunk of Array.isArray(reply) ? reply : [reply]) {
      const signal = isObject(chunk) ? this.#chunk(chunk, noteFinish) : 'malformed'
      if (signal === 'malformed' || typeof signal === 'object') return signal
    }
    return finished ? 'ok' : 'malformed'
  }

  #chunk(chunk: Fields, emit: Emit): StreamSignal {
    if (chunk.error != null) return { error: chunk.error }
    const { promptFeedback, candidates, usageMetadata } = chunk
    if (isObject(promptFeedback) && typeof promptFeedback.blockReason === 'string') {
      return { error: { code: 'prompt_blocked', status: promptFeedback.blockReason } }
    }
    if (!Array.isArray(candidates) && !isObject(usageMetadata)) return 'malformed'
    if (typeof chunk.responseId === 'string') this.#answerId = chunk.responseId
    const candidate = Array.isArray(candidates) ? candidates.find(isFirst) : undefined
    let signal: StreamSignal = 'other'
    if (isObject(candidate)) {
      if (isObject(candidate.content)) signal = this.#parts(candidate.content.parts, emit)
      const reason = candidate.finishReason
      if (typeof reason === 'string' && reason !== UNFINISHED) {
        if (!Object.hasOwn(FINISH_REASONS, reason)) return { error: { status: reason } }
        emit(['finish', this.#finishReason(FINISH_REASONS[reason]!)])
      }
    }
    emitUsage(usageMetadata, emit)
    return signal
  }

  #parts(parts: unknown, emit: Emit): StreamSignal {
    let signal: StreamSignal = 'other'
    for (const part of Array.isArray(parts) ? parts : []) {
      if (!isObject(part)) continue
      if (part.thought === true) {
        if (typeof part.text === 'string') emit(['thinking', Buffer.byteLength(part.text)])
        if (signal === 'other') signal = 'thinking'
      } else if (typeof part.text === 'string' && part.text !== '') {
        emit(['text', part.text])
        signal = 'content'
      } else if (isObject(part.functionCall)) {
        if (isNestedDeeperThan(part.functionCall.args, MAX_NESTING)) return 'malformed'
        const delta = this.#toolCall(part.functionCall)
        if (delta === null) continue
        emit(['tool-calls', [delta]])
        signal = 'content'
      }
    }
    return signal
  }

  #toolCall({ id, name, args }: Fields): ToolCallDelta | null {
    if (typeof name !== 'string' || this.#toolCalls >= MAX_TOOL_CALLS) return null
    const index = this.#toolCalls++
    const json = JSON.stringify(args ?? {})
    return {
      index,
      id: toolCallId(typeof id === 'string' && id !== '' ? id : `${this.#answerId} ${index} ${name} ${json}`),
      type: 'function',
      function: { name, arguments: json },
    }
  }

  /** The wire has no reason of its own for tool calls. */
  #finishReason(reason: FinishReason): FinishReason {
    return reason === 'stop' && this.#toolCalls > 0 ? 'tool_calls' : reason
  }
}

const isFirst = (candidate: unknown): boolean => isObject(candidate) && (candidate.index ?? 0) === 0

/** Thoughts are billed as output and stand beside it. */
function emitUsage(value: unknown, emit: Emit): void {
  if (!isObject(value) || typeof value.promptTokenCount !== 'number') return
  const { promptTokensDetails: details } = value
  const usage = {
    promptTokens: value.promptTokenCount + count(value.toolUsePromptTokenCount),
    completionTokens: count(value.candidatesTokenCount) + count(value.thoughtsTokenCount),
    ...mediaTokens(tokensOf(details, 'AUDIO'), tokensOf(details, 'IMAGE')),
  }
  emit(['usage', usage, count(value.thoughtsTokenCount)])
}

/** The tokens of a modality, by a list of `{modality, tokenCount}`. */
function tokensOf(details: unknown, modality: string): unknown {
  if (!Array.isArray(details)) return undefined
  return details.find((detail) => isObject(detail) && detail.modality === modality)?.tokenCount
}

const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller counts it as malformed.
    return null
  }
}
