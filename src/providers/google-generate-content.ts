import type { SamplingParameters } from '../core/calls/chat-request.ts'
import type { FinishReason, ToolCallDelta } from '../core/calls/completion.ts'
import { type ContentPart, isAddress } from '../core/calls/content-part.ts'
import type { AttemptFailure, FailureKind } from '../core/failover/attempt-failure.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../core/json/json-text.ts'
import { openApiSchema, SchemaBudget } from '../core/json/openapi-schema.ts'
import { endingOf } from '../core/media/media-type.ts'
import {
  claimedStatus,
  type ErrorWords,
  errorOf,
  errorWords,
  failureOfWords,
  kindOfStatus,
  kindOfWords,
  unwrapped,
} from './error-words.ts'
import { promptParts } from './prompt-parts.ts'
import {
  type AttemptRequest,
  type CompletionReader,
  count,
  type Emit,
  type Fields,
  functionTools,
  isObject,
  jsonInstruction,
  jsonSchemaOf,
  MAX_TOOL_CALLS,
  requestHeaders,
  type StreamSignal,
  samplingFor,
  toConversation,
  toolCallId,
  type WholeReading,
  type WireMapping,
} from './wire.ts'

/** The wire of Google's generateContent API. */
export const googleGenerateContent: WireMapping = {
  request: (request, apiKey) => ({
    url: requestUrl(request),
    headers: requestHeaders(request.offer.provider, apiKey, 'x-goog-api-key'),
    body: requestBody(request),
  }),
  openReader: () => new GenerateContentReader(),
  failureOfStatus,
  failureOfErrorObject,
}

/**
 * The body of a request on the generate-content wire. Thoughts count within `maxOutputTokens`. Beside tools JSON
 * is asked for in words: most models refuse a response type together with functions. Schemas that grow too large
 * are refused before a call is admitted (`tooLargeSchema`).
 */
export function requestBody(request: AttemptRequest): string {
  const { offer, messages, parameters, completionLimit } = request
  const { quirks = {} } = offer.provider
  const { system, turns } = toConversation(messages)
  const { temperature, topP } = samplingFor(request)
  const omitted = new Set<string>(quirks.omit)
  const tools = omitted.has('tools') ? undefined : toTools(parameters)
  const format = omitted.has('response_format') ? undefined : parameters.response_format
  const instruction = tools ? jsonInstruction(format) : null
  if (instruction !== null) system.push(instruction)
  return JSON.stringify({
    ...quirks.fixedFields,
    systemInstruction: system.length > 0 ? { parts: [{ text: system.join('\n\n') }] } : undefined,
    contents: turns.map(({ role, parts }) => ({
      role: role === 'assistant' ? 'model' : 'user',
      parts: parts.map(toPart),
    })),
    tools,
    generationConfig: {
      candidateCount: 1,
      maxOutputTokens: completionLimit,
      temperature: omitted.has('temperature') ? undefined : temperature,
      topP: omitted.has('top_p') ? undefined : topP,
      ...(tools ? {} : responseFormat(format)),
    },
  })
}

/** The model is part of the address on this wire, and so is that the answer is streamed. */
export const requestUrl = ({ offer }: AttemptRequest): string =>
  `${offer.provider.baseUrl}/models/${encodeURIComponent(offer.upstreamModel)}:streamGenerateContent?alt=sse`

function toPart(part: ContentPart): unknown {
  if (part.type === 'text') return { text: part.text }
  const { source } = part
  return isAddress(source)
    ? { fileData: { fileUri: source.url, mimeType: mediaTypeOf(part.type, source.url) } }
    : { inlineData: { mimeType: source.mediaType, data: source.base64 } }
}

/** By the ending of an address, since nobody has fetched it; the first is what most are. */
const MEDIA_TYPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  image: { jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp', heic: 'image/heic', heif: 'image/heif' },
  video: { mp4: 'video/mp4', webm: 'video/webm', mov: 'video/quicktime', mpeg: 'video/mpeg' },
  file: { pdf: 'application/pdf' },
}

/** Of the kind that the part was held for, whatever its address says: another kind may cost more. */
function mediaTypeOf(type: ContentPart['type'], url: string): string {
  const known = MEDIA_TYPES[type] ?? {}
  return known[endingOf(new URL(url))] ?? Object.values(known)[0]!
}

function toTools({ tools }: SamplingParameters): unknown[] | undefined {
  const functions = functionTools(tools)
  if (functions.length === 0) return undefined
  const budget = new SchemaBudget()
  const functionDeclarations = functions.map(({ name, description, parameters }) => {
    const schema = openApiSchema(parameters, budget)
    // An object without properties is refused; a function without arguments has no parameters.
    return { name, description, parameters: schema?.properties === undefined ? undefined : schema }
  })
  return [{ functionDeclarations }]
}

function responseFormat(format: SamplingParameters['response_format']): object {
  if (format?.type !== 'json_object' && format?.type !== 'json_schema') return {}
  const responseSchema = openApiSchema(jsonSchemaOf(format), new SchemaBudget()) ?? undefined
  return { responseMimeType: 'application/json', responseSchema }
}

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
  const { promptTokensDetails: details, cachedContentTokenCount: cachedTokens } = value
  const usage = {
    promptTokens: value.promptTokenCount + count(value.toolUsePromptTokenCount),
    completionTokens: count(value.candidatesTokenCount) + count(value.thoughtsTokenCount),
    ...promptParts({
      audioTokens: tokensOf(details, 'AUDIO'),
      imageTokens: tokensOf(details, 'IMAGE'),
      cachedTokens,
    }),
  }
  emit(['usage', usage, count(value.thoughtsTokenCount)])
}

/** The tokens of a modality, by a list of `{modality, tokenCount}`. */
function tokensOf(details: unknown, modality: string): unknown {
  if (!Array.isArray(details)) return undefined
  return details.find((detail) => isObject(detail) && detail.modality === modality)?.tokenCount
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller counts it as malformed.
    return null
  }
}

/** Refusals of our key, our account or our place that come as a 400. */
const STANDING_CODES = /failed_precondition|api_key_invalid|api_key_expired/
const STANDING_TEXT = /api key (not valid|expired|not found)/i

/** The request's fields by the names that the wire's error texts give them. */
const FIELDS: readonly [RegExp, string][] = [
  [/temperature/i, 'temperature'],
  [/top_?p\b/i, 'top_p'],
  [/max_?output_?tokens/i, 'max_tokens'],
  [/response_?(schema|mime_?type|json_?schema)/i, 'response_format'],
  [/function_?declarations|\btools?\b/i, 'tools'],
  [/\bcontents\b|inline_?data|file_?data|system_?instruction/i, 'messages'],
]

/** Maps a refusal on the generate-content wire. How long to wait is in its body, not in a header. */
export function failureOfStatus(
  httpStatus: number,
  body: string,
  retryAfterMs: number | null,
): AttemptFailure {
  const error = errorOf(body)
  const words = wordsOf(error)
  return failureOfWords(kindOf(httpStatus, words), words, httpStatus, retryAfterMs ?? retryDelayMs(error))
}

/** Maps an error that came in a stream, which carries its status as `code`. */
export function failureOfErrorObject(reported: unknown, httpStatus: number): AttemptFailure {
  const error = unwrapped(reported)
  const words = wordsOf(error)
  const status = isObject(error) ? claimedStatus(error.code) : null
  const kind = status !== null ? kindOf(status, words) : (kindOfWords(words) ?? 'server-error')
  return failureOfWords(kind, words, httpStatus, retryDelayMs(error))
}

function kindOf(httpStatus: number, words: ErrorWords): FailureKind {
  const isStanding = STANDING_CODES.test(words.codes) || STANDING_TEXT.test(words.message)
  return httpStatus === 400 && isStanding ? 'refused' : kindOfStatus(httpStatus, words)
}

function wordsOf(error: unknown): ErrorWords {
  const words = errorWords(error)
  const reasons = detailsOf(error).flatMap(({ reason }) =>
    typeof reason === 'string' ? reason.toLowerCase() : [],
  )
  return {
    codes: [words.codes, ...reasons].join(' '),
    message: words.message,
    param: FIELDS.find(([pattern]) => pattern.test(words.message))?.[1] ?? null,
  }
}

/** `{"@type": "…/google.rpc.RetryInfo", "retryDelay": "34.07s"}` in ms, or null. */
function retryDelayMs(error: unknown): number | null {
  for (const { retryDelay } of detailsOf(error)) {
    const seconds =
      typeof retryDelay === 'string' ? /^(\d{1,6}(?:\.\d+)?)s$/.exec(retryDelay)?.[1] : undefined
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000)
  }
  return null
}

const detailsOf = (error: unknown): Record<string, unknown>[] =>
  isObject(error) && Array.isArray(error.details) ? error.details.filter(isObject) : []
