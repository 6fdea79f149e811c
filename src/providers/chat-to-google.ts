import type { FinishReason, TokenLogprob, ToolCallDelta } from '../core/calls/completion.ts'
import { makerOf, type ProviderQuirks } from '../core/catalog/catalog.ts'
import type { AttemptFailure, FailureKind } from '../core/failover/attempt-failure.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../core/json/json-text.ts'
import {
  extendedConfig,
  responseFormat,
  toContents,
  toToolConfig,
  toTools,
} from './chat-to-google-content.ts'
import { toConversation } from './conversation.ts'
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
import { brokenFinish, readFinishReason } from './finish-reasons.ts'
import { promptParts } from './prompt-parts.ts'
import { geminiThinking } from './reasoning-effort.ts'
import { ToolCallIds } from './tool-calls.ts'
import {
  acceptedParameters,
  type ChatAttempt,
  type CompletionReader,
  count,
  type Emit,
  type Fields,
  isObject,
  jsonInstruction,
  MAX_TOOL_CALLS,
  requestHeaders,
  type StreamSignal,
  samplingFor,
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
  openReader: (request) => new GenerateContentReader(request),
  failureOfStatus,
  failureOfErrorObject,
}

/**
 * The body of a request on the generate-content wire. Thoughts count towards `maxOutputTokens`. JSON together with
 * tools is requested by an instruction, because most models refuse a response type together with functions. Schemas
 * that become too large are refused before the call is admitted (`tooLargeSchema`).
 */
export function requestBody(request: ChatAttempt): string {
  const { offer, messages, completionLimit } = request
  const parameters = acceptedParameters(request)
  const { quirks = {} } = offer.provider
  const { system, turns } = toConversation(messages, makerOf(offer))
  const { temperature, topP } = samplingFor(request)
  const omitted = new Set<string>(quirks.omit)
  const tools = toTools(parameters)
  const format = parameters.response_format
  const instruction = tools ? jsonInstruction(format) : null
  if (instruction !== null) system.push(instruction)
  return JSON.stringify({
    ...quirks.fixedFields,
    systemInstruction: system.length > 0 ? { parts: [{ text: system.join('\n\n') }] } : undefined,
    contents: toContents(turns, offer.upstreamModel),
    tools,
    toolConfig: tools && toToolConfig(parameters),
    service_tier: parameters.passed?.service_tier,
    generationConfig: {
      candidateCount: 1,
      maxOutputTokens: completionLimit,
      temperature: omitted.has('temperature') ? undefined : temperature,
      topP: omitted.has('top_p') ? undefined : topP,
      ...(tools ? {} : responseFormat(format)),
      ...extendedConfig(parameters),
      thinkingConfig: geminiThinking(parameters.reasoning_effort, offer.upstreamModel),
    },
  })
}

/** The URL has the model and says that the completion is streamed. */
export const requestUrl = ({ offer }: ChatAttempt): string =>
  `${offer.provider.baseUrl}/models/${encodeURIComponent(offer.upstreamModel)}:streamGenerateContent?alt=sse`

type ReadTerms = Partial<Pick<ChatAttempt, 'extended' | 'messages' | 'offer' | 'parameters'>>

/**
 * Reads one completion on the generate-content wire. Function calls come whole, often without an id, and are numbered
 * here. A malformed call is a failure of the model.
 */
export class GenerateContentReader implements CompletionReader {
  /** Some models, and servers that translate to this wire, send `STOP` in every chunk. */
  readonly endsWithStream = true
  #toolCalls = 0
  /** Whether thoughts and log probabilities are content. */
  readonly #isExtended: boolean
  readonly #finishReasons: ProviderQuirks['finishReasons']
  readonly #ids: ToolCallIds
  readonly #maker: string | undefined
  readonly #namesTier: boolean

  constructor({ extended, messages, offer, parameters }: ReadTerms = {}) {
    this.#namesTier = parameters?.passed?.service_tier !== undefined
    this.#maker = offer && makerOf(offer)
    this.#isExtended = extended === true
    this.#finishReasons = offer?.provider.quirks?.finishReasons
    this.#ids = new ToolCallIds(messages)
  }

  event(data: string, emit: Emit): StreamSignal {
    const chunk = parseJson(data)
    return isObject(chunk) ? this.#chunk(chunk, emit) : 'malformed'
  }

  /** A completion that is not streamed is one chunk or a list of chunks. */
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
    const candidate = Array.isArray(candidates) ? candidates.find(isFirst) : undefined
    let signal: StreamSignal = 'other'
    if (isObject(candidate)) {
      if (isObject(candidate.content)) signal = this.#parts(candidate.content.parts, emit)
      if (this.#isExtended) {
        const tokens = googleLogprobs(candidate.logprobsResult)
        if (tokens.length > 0) emit(['logprobs', tokens])
      }
      const reason = readFinishReason(candidate.finishReason, this.#finishReasons)
      if (reason === 'error') return brokenFinish(candidate.finishReason)
      if (reason !== null) emit(['finish', reason])
    }
    emitUsage(usageMetadata, emit)
    if (this.#namesTier && isObject(usageMetadata) && typeof usageMetadata.serviceTier === 'string') {
      const tier = usageMetadata.serviceTier.toLowerCase()
      emit(['tier', tier === 'standard' ? 'default' : tier])
    }
    return signal
  }

  #parts(parts: unknown, emit: Emit): StreamSignal {
    let signal: StreamSignal = 'other'
    for (const part of Array.isArray(parts) ? parts : []) {
      if (!isObject(part)) continue
      if (part.thought === true) {
        if (typeof part.text === 'string' && this.#isExtended) emit(['reasoning', part.text])
        else if (typeof part.text === 'string') emit(['thinking', Buffer.byteLength(part.text)])
        if (signal === 'other') signal = 'thinking'
      } else if (typeof part.text === 'string' && part.text !== '') {
        emit(['text', part.text])
        signal = 'content'
      } else if (isObject(part.functionCall)) {
        if (isNestedDeeperThan(part.functionCall.args, MAX_NESTING)) return 'malformed'
        const delta = this.#toolCall(part.functionCall)
        if (delta === null) continue
        if (typeof part.thoughtSignature === 'string' && this.#isExtended && this.#maker !== undefined)
          emit(['signed', { maker: this.#maker, call: delta.id!, value: part.thoughtSignature }])
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
      id: this.#ids.next(typeof id === 'string' && id !== '' ? id : null),
      type: 'function',
      function: { name, arguments: json },
    }
  }

  /** The wire has no finish reason for tool calls. */
  end(reason: FinishReason): FinishReason {
    return reason === 'stop' && this.#toolCalls > 0 ? 'tool_calls' : reason
  }
}

const isFirst = (candidate: unknown): boolean => isObject(candidate) && (candidate.index ?? 0) === 0

/** Thoughts are billed as output, and the output tokens exclude them. */
function emitUsage(value: unknown, emit: Emit): void {
  if (!isObject(value) || typeof value.promptTokenCount !== 'number') return
  const { promptTokensDetails: details, cacheTokensDetails: cached } = value
  // Media keep their own price, cached or not.
  const cachedMedia = count(tokensOf(cached, 'AUDIO')) + count(tokensOf(cached, 'IMAGE'))
  const usage = {
    promptTokens: value.promptTokenCount + count(value.toolUsePromptTokenCount),
    completionTokens: count(value.candidatesTokenCount) + count(value.thoughtsTokenCount),
    ...promptParts({
      audioTokens: tokensOf(details, 'AUDIO'),
      imageTokens: tokensOf(details, 'IMAGE'),
      cachedTokens: count(value.cachedContentTokenCount) - cachedMedia,
    }),
  }
  emit(['usage', usage, count(value.thoughtsTokenCount)])
}

/** The tokens of a modality in a list of `{modality, tokenCount}`. */
function tokensOf(details: unknown, modality: string): unknown {
  if (!Array.isArray(details)) return undefined
  return details.find((detail) => isObject(detail) && detail.modality === modality)?.tokenCount
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller counts null as malformed.
    return null
  }
}

/** Refusals of our key, our account or our location that have the status 400. */
const STANDING_CODES = /failed_precondition|api_key_invalid|api_key_expired/
const STANDING_TEXT = /api key (not valid|expired|not found)/i

/** The request's fields by the names in the wire's error texts. */
const FIELDS: readonly [RegExp, string][] = [
  [/temperature/i, 'temperature'],
  [/top_?p\b/i, 'top_p'],
  [/max_?output_?tokens/i, 'max_tokens'],
  [/response_?(schema|mime_?type|json_?schema)/i, 'response_format'],
  [/function_?declarations|\btools?\b/i, 'tools'],
  [/\bcontents\b|inline_?data|file_?data|system_?instruction/i, 'messages'],
]

/** Maps a refusal on the generate-content wire. Its retry delay is in the body, not in a header. */
export function failureOfStatus(
  httpStatus: number,
  body: string,
  retryAfterMs: number | null,
): AttemptFailure {
  const error = errorOf(body)
  const words = wordsOf(error)
  return failureOfWords(kindOf(httpStatus, words), words, httpStatus, retryAfterMs ?? retryDelayMs(error))
}

/** Maps an error in a stream, whose `code` is its status. */
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

type Token = Omit<TokenLogprob, 'top_logprobs'>

/** Reads `logprobsResult` of a candidate: the chosen tokens, and in the same order the most likely tokens at each position. */
function googleLogprobs(result: unknown): TokenLogprob[] {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return []
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return result.chosenCandidates.flatMap((chosen, index) => {
    const top = isObject(tops[index]) && Array.isArray(tops[index].candidates) ? tops[index].candidates : []
    return toToken(chosen).map((token) => ({ ...token, top_logprobs: top.flatMap(toToken) }))
  })
}

function toToken(value: unknown): Token[] {
  if (!isObject(value) || typeof value.token !== 'string' || typeof value.logProbability !== 'number')
    return []
  return [{ token: value.token, logprob: value.logProbability, bytes: [...Buffer.from(value.token)] }]
}
