import { createHash } from 'node:crypto'
import type { SamplingParameters } from '../core/calls/chat-request.ts'
import {
  type CompletionEvent,
  FINISH_REASONS,
  type FinishReason,
  type TokenLogprob,
  type ToolCallDelta,
} from '../core/calls/completion.ts'
import type { PassedField, PassedFields } from '../core/calls/passed-fields.ts'
import type { Usage } from '../core/calls/usage.ts'
import type { ProviderQuirks } from '../core/catalog/catalog.ts'
import type { AttemptFailure } from '../core/failover/attempt-failure.ts'
import { stringifyExactly } from '../core/json/json-text.ts'
import { takesField } from '../core/routing/supported-parameters.ts'
import { messagesFor } from './chat-messages.ts'
import {
  claimedStatus,
  errorOf,
  errorWords,
  failureOfWords,
  kindOfStatus,
  kindOfWords,
  unwrapped,
} from './error-words.ts'
import { PatternReader } from './pattern-reader.ts'
import { chatPromptParts } from './prompt-parts.ts'
import { nearestEffort } from './reasoning-effort.ts'
import { lacksStructuredOutput } from './structured-output.ts'
import {
  type ChatAttempt,
  type CompletionReader,
  type Emit,
  type Fields,
  isObject,
  jsonInstruction,
  MAX_TOOL_CALLS,
  parseObject,
  requestHeaders,
  type StreamSignal,
  samplingFor,
  toolCallId,
  type WholeReading,
  type WireMapping,
} from './wire.ts'

/** Each event of this wire can be read without the events before it. */
export const openReader = ({
  extended,
  namedStops,
}: Pick<ChatAttempt, 'extended' | 'namedStops'> = {}): CompletionReader =>
  extended
    ? new PatternReader(
        (data, emit) => readEvent(data, emit, true, namedStops),
        (body, emit) => readCompletion(body, emit, true, namedStops),
      )
    : new PatternReader(readStreamEvent, readWholeCompletion)

/** The wire of most providers. */
export const chatCompletions: WireMapping = {
  request: (request, apiKey) => ({
    url: request.offer.provider.baseUrl + (request.offer.provider.quirks?.path ?? '/chat/completions'),
    headers: requestHeaders(request.offer.provider, apiKey, 'authorization'),
    body: requestBody(request),
  }),
  openReader,
  failureOfStatus,
  failureOfErrorObject,
}

/**
 * The body of a request on the chat-completions wire. The completion is always streamed, also for callers that do not
 * stream: silence is then noticed early, and a provider stops when the connection closes. Only these fields are sent.
 */
export function requestBody(request: ChatAttempt): string {
  const { offer, messages, parameters, exactJson, completionLimit, cachesPrompt } = request
  const { limitParameter, quirks = {} } = offer.provider
  const { temperature, topP } = samplingFor(request)
  const isFormatless = request.extended === true && lacksStructuredOutput(offer.upstreamModel)
  const needsInstruction = isFormatless || losesSchema(parameters, quirks)
  const format = needsInstruction ? { type: 'json_object' } : parameters.response_format
  const body: Record<string, unknown> = {
    ...quirks.fixedFields,
    model: offer.upstreamModel,
    messages: messagesFor(
      messages,
      needsInstruction ? jsonInstruction(parameters.response_format) : null,
      quirks,
      cachesPrompt,
    ),
    stream: true,
    stream_options: { include_usage: true },
    [limitParameter]: completionLimit,
    temperature,
    top_p: topP,
    tools: parameters.tools,
    response_format: isFormatless ? undefined : format,
    ...extendedFields(request),
  }
  for (const field of quirks.omit ?? []) delete body[field]
  return stringifyExactly(body, needsInstruction ? { ...exactJson, response_format: undefined } : exactJson)
}

/** The fields of extended requests only; they have the same names on this wire. */
function extendedFields(request: ChatAttempt): Fields {
  const { passed, reasoning_effort: effort, ...parameters } = request.parameters
  const { temperature: _t, top_p: _p, tools: _tools, response_format: _format, ...fields } = parameters
  return {
    ...fields,
    ...(effort && { reasoning_effort: nearestEffort(effort, request.offer.provider.quirks?.efforts) }),
    ...(passed && fieldsPassed(passed, request)),
  }
}

const KEY_CHARS_MAX = 64
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

/** Clients share our key at a provider: their own names of users and prefixes are kept apart by account. */
function fieldsPassed(
  passed: PassedFields,
  { offer, accountId, apiKey }: Pick<ChatAttempt, 'offer' | 'accountId' | 'apiKey'>,
): Fields {
  const given = Object.entries(passed) as Array<[PassedField, string]>
  return Object.fromEntries(
    given
      .filter(([name]) => takesField(offer.provider, name))
      .map(([name, value]) => {
        if (name === 'service_tier' || apiKey !== undefined) return [name, value]
        const digest = digestOf(`${accountId} ${value}`)
        if (name !== 'prompt_cache_key') return [name, digest]
        const key = `${digestOf(accountId).slice(0, 12)}-${value}`
        return [name, key.length <= KEY_CHARS_MAX ? key : digest]
      }),
  )
}

const losesSchema = ({ response_format: format }: SamplingParameters, { jsonObjectOnly }: ProviderQuirks) =>
  jsonObjectOnly === true && format?.type === 'json_schema'

/** Finish reasons of other dialects of this wire. */
const FINISH_ALIASES: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_length: 'length',
  tool_use: 'tool_calls',
  safety: 'content_filter',
}

/**
 * Reads one event of a stream: emits the known fields of choice 0 and returns the kind of the event. An error object
 * anywhere in the event is a failure of the provider, whatever the HTTP status is.
 */
export const readStreamEvent: CompletionReader['event'] = (data, emit) => readEvent(data, emit, false)

/** As readStreamEvent; in extended requests reasoning and log probabilities are content. */
function readEvent(
  data: string,
  emit: Emit,
  isExtended: boolean,
  namedStops?: readonly string[],
): StreamSignal {
  if (data === '[DONE]') return 'done'
  const chunk = parseObject(data)
  if (chunk === null) return data.trim() === '[DONE]' ? 'done' : 'malformed'
  if (chunk.error != null) return { error: chunk.error }
  if (!Array.isArray(chunk.choices) && usageOf(chunk, null) === null) return 'malformed'
  const choice = firstChoice(chunk.choices)
  let signal: StreamSignal = 'other'
  if (choice !== null) {
    if (choice.error != null) return { error: choice.error }
    if (choice.finish_reason === 'error') return { error: { code: 'finish_reason_error' } }
    if (isObject(choice.delta)) signal = readMessage(choice.delta, emit, isExtended)
    if (isExtended) emitLogprobs(choice.logprobs, emit)
    if (typeof choice.finish_reason === 'string') emit(finishEvent(choice, namedStops))
  }
  emitUsage(usageOf(chunk, choice), emit)
  return signal
}

/** With the stop sequence that ended the completion, which vLLM says in `stop_reason` and SGLang in `matched_stop`. */
function finishEvent(choice: Fields, namedStops: readonly string[] = []): CompletionEvent {
  const { finish_reason: reason, stop_reason: stop, matched_stop: matched } = choice
  const named = namedStops.find((text) => text === stop || text === matched)
  return named === undefined || reason !== 'stop'
    ? ['finish', finishReason(reason)]
    : ['finish', 'stop', { stop_reason: 'stop_sequence', stop_sequence: named }]
}

/** Reads a whole completion, which some providers send although the request asks for a stream. */
export const readWholeCompletion: CompletionReader['whole'] = (body, emit) =>
  readCompletion(body, emit, false)

function readCompletion(
  body: string,
  emit: Emit,
  isExtended: boolean,
  namedStops?: readonly string[],
): WholeReading {
  const reply = parseObject(body)
  if (reply === null) return 'malformed'
  if (reply.error != null) return { error: reply.error }
  const choice = firstChoice(reply.choices)
  if (choice === null || !isObject(choice.message)) {
    // Some servers have the error's fields at the top level: {"object":"error","message":…,"code":…}.
    return reply.object === 'error' || typeof reply.message === 'string' || reply.detail != null
      ? { error: reply }
      : 'malformed'
  }
  if (choice.finish_reason === 'error') return { error: choice.error ?? { code: 'finish_reason_error' } }
  readMessage(choice.message, emit, isExtended)
  if (isExtended) emitLogprobs(choice.logprobs, emit)
  emit(finishEvent(choice, namedStops))
  emitUsage(usageOf(reply, choice), emit)
  return 'ok'
}

function firstChoice(choices: unknown): Fields | null {
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    if (isObject(choice) && (choice.index === 0 || choice.index === undefined)) return choice
  }
  return null
}

/** A delta, or the message of a whole completion. */
function readMessage(message: Fields, emit: Emit, isExtended: boolean): StreamSignal {
  const thought = thoughtIn(message)
  let signal: StreamSignal = thought === null ? 'other' : 'thinking'
  if (thought !== null && isExtended && thought !== '') emit(['reasoning', thought])
  const text = textOf(message.content)
  if (text !== '') {
    emit(['text', text])
    signal = 'content'
  }
  if (typeof message.refusal === 'string' && message.refusal !== '') {
    emit(['refusal', message.refusal])
    signal = 'content'
  }
  if (Array.isArray(message.tool_calls)) {
    const deltas = message.tool_calls.slice(0, MAX_TOOL_CALLS).flatMap(toolCallDelta)
    if (deltas.length > 0) {
      emit(['tool-calls', deltas])
      signal = 'content'
    }
  }
  if (thought !== null && !isExtended) emit(['thinking', Buffer.byteLength(thought)])
  return signal
}

/**
 * Reasoning from any of the fields that providers use for it; null if there is none. Some providers send the same
 * reasoning in two fields, so that the longest is used.
 */
function thoughtIn({ reasoning_content, reasoning, reasoning_details, content }: Fields): string | null {
  const found = [
    ...[reasoning_content, reasoning]
      .filter((text) => typeof text === 'string')
      .filter((text) => text !== ''),
    ...(Array.isArray(reasoning_details) && reasoning_details.length > 0
      ? [reasoning_details.map((part) => (isObject(part) ? textIn(part.text ?? part.summary) : '')).join('')]
      : []),
    ...(Array.isArray(content) && content.some(isThought)
      ? [content.map((part) => (isThought(part) ? thoughtText(part) : '')).join('')]
      : []),
  ]
  return found.length === 0 ? null : found.reduce((one, other) => (other.length > one.length ? other : one))
}

/** The most alternatives that are read per token. */
const TOP_LOGPROBS_MAX = 20

function emitLogprobs(logprobs: unknown, emit: Emit): void {
  if (!isObject(logprobs) || !Array.isArray(logprobs.content)) return
  const tokens = logprobs.content.flatMap((entry) => {
    const [token] = tokenLogprob(entry)
    if (token === undefined) return []
    const top = Array.isArray(entry.top_logprobs) ? entry.top_logprobs.slice(0, TOP_LOGPROBS_MAX) : []
    return [{ ...token, top_logprobs: top.flatMap(tokenLogprob) }]
  })
  if (tokens.length > 0) emit(['logprobs', tokens])
}

function tokenLogprob(value: unknown): Omit<TokenLogprob, 'top_logprobs'>[] {
  if (!isObject(value) || typeof value.token !== 'string' || typeof value.logprob !== 'number') return []
  const { token, logprob, bytes } = value
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte))
  return [{ token, logprob, bytes: isBytes ? bytes : null }]
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

const isThought = (part: unknown): part is Fields => isObject(part) && part.type === 'thinking'

/** Thinking is a text or a list of texts. */
function thoughtText({ thinking }: Fields): string {
  if (!Array.isArray(thinking)) return textIn(thinking)
  return thinking.map((part) => (isObject(part) ? textIn(part.text) : '')).join('')
}

/** Content as text. Some providers send an array of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) && part.type === 'text' ? textIn(part.text) : '')).join('')
}

function toolCallDelta(value: unknown, position: number): ToolCallDelta[] {
  if (!isObject(value)) return []
  const { index, id, function: call } = value
  const isIndex = Number.isInteger(index) && (index as number) >= 0 && (index as number) < MAX_TOOL_CALLS
  const delta: ToolCallDelta = { index: isIndex ? (index as number) : position }
  if (typeof id === 'string') {
    delta.id = toolCallId(id)
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

/** The usage of a chunk or a completion: at the top level, in the choice, or in a field of one provider. */
function usageOf(chunk: Fields, choice: Fields | null): Fields | null {
  const own = isObject(chunk.x_groq) ? chunk.x_groq.usage : undefined
  return [chunk.usage, choice?.usage, own].find(isObject) ?? null
}

function emitUsage(value: Fields | null, emit: Emit): void {
  if (value === null) return
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = value
  if (typeof promptTokens !== 'number' || typeof completionTokens !== 'number') return
  const usage: Usage = {
    promptTokens,
    completionTokens: completionTokens + reasoningBeside(value, promptTokens + completionTokens),
    ...chatPromptParts(value),
  }
  emit(['usage', usage, reasoningIn(value)])
}

function reasoningIn({ completion_tokens_details: details }: Fields): number {
  const reasoning = isObject(details) ? details.reasoning_tokens : 0
  return typeof reasoning === 'number' ? reasoning : 0
}

/** The reasoning tokens that `completion_tokens` excludes, which `total_tokens` shows. */
function reasoningBeside(usage: Fields, counted: number): number {
  const reasoning = reasoningIn(usage)
  return reasoning > 0 && usage.total_tokens === counted + reasoning ? reasoning : 0
}

export function failureOfStatus(
  httpStatus: number,
  body: string,
  retryAfterMs: number | null,
): AttemptFailure {
  const words = errorWords(errorOf(body))
  return failureOfWords(kindOfStatus(httpStatus, words), words, httpStatus, retryAfterMs)
}

/** The `code` or `status` of the object may be an HTTP status. */
export function failureOfErrorObject(reported: unknown, httpStatus: number): AttemptFailure {
  const error = unwrapped(reported)
  const words = errorWords(error)
  const fields = isObject(error) ? error : {}
  const claimed = claimedStatus(fields.code, fields.status, fields.status_code)
  // The texts identify a context or policy refusal; any other error in a 200 is a failure of the provider.
  const kind = claimed !== null ? kindOfStatus(claimed, words) : (kindOfWords(words) ?? 'server-error')
  return failureOfWords(kind, words, httpStatus)
}
