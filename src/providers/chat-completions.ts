import { createHash } from 'node:crypto'
import type { SamplingParameters } from '../core/calls/chat-request.ts'
import type { FinishReason, TokenLogprob, ToolCallDelta } from '../core/calls/completion.ts'
import type { PassedField, PassedFields } from '../core/calls/passed-fields.ts'
import type { Usage } from '../core/calls/usage.ts'
import { makerOf, type ProviderQuirks } from '../core/catalog/catalog.ts'
import type { AttemptFailure } from '../core/failover/attempt-failure.ts'
import { isNestedDeeperThan, MAX_NESTING, stringifyExactly } from '../core/json/json-text.ts'
import { takesField } from '../core/routing/supported-parameters.ts'
import { withBreakpoints } from './cache-breakpoints.ts'
import { isTakenAsSent, messagesFor } from './chat-messages.ts'
import {
  claimedStatus,
  errorOf,
  errorWords,
  failureOfWords,
  kindOfStatus,
  kindOfWords,
  unwrapped,
} from './error-words.ts'
import { brokenFinish, readFinishReason } from './finish-reasons.ts'
import { PatternReader } from './pattern-reader.ts'
import { chatPromptParts } from './prompt-parts.ts'
import { nearestEffort } from './reasoning-effort.ts'
import { lacksStructuredOutput } from './structured-output.ts'
import { ToolCallIds, ToolCallReader } from './tool-calls.ts'
import {
  type ChatAttempt,
  type CompletionReader,
  completionUrl,
  type Emit,
  type Fields,
  isObject,
  jsonInstruction,
  parseObject,
  requestHeaders,
  type StreamSignal,
  samplingFor,
  type WholeReading,
  type WireMapping,
} from './wire.ts'

/** A reader of one completion of this wire. */
export const openReader = (request: ReadTerms = {}): CompletionReader =>
  new PatternReader(new ChatReader(request))

type ReadTerms = Partial<Pick<ChatAttempt, 'extended' | 'namedStops' | 'messages' | 'offer' | 'parameters'>>

/** The wire of most providers. */
export const chatCompletions: WireMapping = {
  request: (request, apiKey) => ({
    url: completionUrl(request.offer, '/chat/completions'),
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
export function requestBody(request: ChatAttempt): string | Buffer {
  const { offer, parameters, exactJson, sentJson, completionLimit, cachesPrompt } = request
  const { limitParameter, quirks = {} } = offer.provider
  const messages = cachesPrompt && quirks.cacheMarks ? withBreakpoints(request.messages) : request.messages
  const { temperature, topP } = samplingFor(request)
  const isFormatless = request.extended === true && lacksStructuredOutput(offer.upstreamModel)
  const needsInstruction = isFormatless || losesSchema(parameters, quirks)
  const format = needsInstruction ? { type: 'json_object' } : parameters.response_format
  const instruction = needsInstruction ? jsonInstruction(parameters.response_format) : null
  const isAsSent = instruction === null && sentJson?.has(messages) && isTakenAsSent(messages, quirks)
  const body: Record<string, unknown> = {
    ...quirks.fixedFields,
    model: offer.upstreamModel,
    messages: isAsSent ? messages : messagesFor(messages, instruction, quirks, cachesPrompt, makerOf(offer)),
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
  const exact = needsInstruction ? { ...exactJson, response_format: undefined } : exactJson
  return stringifyExactly(body, exact, sentJson)
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
export function fieldsPassed(
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

export const losesSchema = (
  { response_format: format }: SamplingParameters,
  { jsonObjectOnly }: ProviderQuirks,
) => jsonObjectOnly === true && format?.type === 'json_schema'

/** Reads one completion: the known fields of choice 0. Each event is read by itself, but for the pieces of tool calls. */
export class ChatReader implements CompletionReader {
  readonly #isExtended: boolean
  readonly #namedStops: readonly string[]
  readonly #finishReasons: ProviderQuirks['finishReasons']
  readonly #calls: ToolCallReader
  readonly #maker: string | undefined
  /** The details of its reasoning, joined. */
  readonly #details: Fields[] = []
  /** The service tier as last said; null: it is not read. */
  #tier: unknown

  constructor({ extended, namedStops = [], messages, offer, parameters }: ReadTerms = {}) {
    this.#isExtended = extended === true
    this.#namedStops = namedStops
    this.#finishReasons = offer?.provider.quirks?.finishReasons
    this.#maker = extended && offer && makerOf(offer)
    this.#calls = new ToolCallReader(new ToolCallIds(messages))
    this.#tier = parameters?.passed?.service_tier === undefined ? null : undefined
  }

  /** An error object anywhere in the event is a failure of the provider, whatever the HTTP status is. */
  event(data: string, emit: Emit): StreamSignal {
    if (data === '[DONE]') return 'done'
    const chunk = parseObject(data)
    if (chunk === null) return data.trim() === '[DONE]' ? 'done' : 'malformed'
    const usage = usageOf(chunk, null)
    const choice = firstChoice(chunk.choices)
    this.#noteTier(chunk, emit)
    const error = chunk.error ?? choice?.error
    if (error != null) {
      emitUsage(usage, emit)
      return { error }
    }
    if (!Array.isArray(chunk.choices) && usage === null) return 'malformed'
    let signal: StreamSignal = 'other'
    if (choice !== null) {
      if (isObject(choice.delta)) signal = this.#message(choice.delta, false, emit)
      if (typeof signal === 'object' || signal === 'malformed') return signal
      if (this.#isExtended) emitLogprobs(choice.logprobs, emit)
      const broken = this.#finish(choice, emit)
      if (broken) return broken
    }
    emitUsage(usage ?? usageOf(chunk, choice), emit)
    return signal
  }

  whole(body: string, emit: Emit): WholeReading {
    const reply = parseObject(body)
    if (reply === null) return 'malformed'
    if (reply.error != null) return { error: reply.error }
    const choice = firstChoice(reply.choices)
    if (choice?.error != null) return { error: choice.error }
    // What a filter removed may have no message.
    if (choice === null || !(isObject(choice.message) || readFinishReason(choice.finish_reason))) {
      // Some servers have the error's fields at the top level: {"object":"error","message":…,"code":…}.
      return reply.object === 'error' || typeof reply.message === 'string' || reply.detail != null
        ? { error: reply }
        : 'malformed'
    }
    if (isObject(choice.message) && this.#message(choice.message, true, emit) === 'malformed')
      return 'malformed'
    if (this.#isExtended) emitLogprobs(choice.logprobs, emit)
    const broken = this.#finish(choice, emit)
    if (broken) return broken
    this.#noteTier(reply, emit)
    emitUsage(usageOf(reply, choice), emit)
    return 'ok'
  }

  #noteTier({ service_tier: tier }: Fields, emit: Emit): void {
    if (this.#tier === null || tier === this.#tier || typeof tier !== 'string' || tier === '') return
    this.#tier = tier
    emit(['tier', tier])
  }

  /** Clients run tools on `tool_calls` only, and parse the arguments of each. */
  end(reason: FinishReason, emit: Emit): FinishReason {
    if (this.#calls.isEmpty || reason === 'length' || reason === 'content_filter') return reason
    const deltas = this.#calls.end()
    if (deltas.length > 0) emit(['tool-calls', deltas])
    // Unsigned details are the text of the reasoning.
    if (this.#maker !== undefined && this.#details.some(({ signature, data }) => signature || data))
      emit(['signed', { maker: this.#maker, value: this.#details }])
    return 'tool_calls'
  }

  /**
   * Emits the finish reason, with the stop sequence that ended the completion, which vLLM says in `stop_reason` and
   * SGLang in `matched_stop`. Returns the error of a completion that the provider gave up.
   */
  #finish(choice: Fields, emit: Emit): { error: unknown } | undefined {
    const { finish_reason: word, stop_reason: stop, matched_stop: matched } = choice
    const reason = readFinishReason(word, this.#finishReasons)
    if (reason === null) return
    if (reason === 'error') return brokenFinish(word)
    const named = this.#namedStops.find((text) => text === stop || text === matched)
    if (named === undefined || reason !== 'stop') emit(['finish', reason])
    else emit(['finish', 'stop', { stop_reason: 'stop_sequence', stop_sequence: named }])
  }

  /** A delta, or the message of a whole completion. */
  #message(message: Fields, isWhole: boolean, emit: Emit): StreamSignal {
    const thought = thoughtIn(message)
    let signal: StreamSignal = thought === null ? 'other' : 'thinking'
    if (thought !== null && this.#isExtended && thought !== '') emit(['reasoning', thought])
    const text = textOf(message.content)
    if (text !== '') {
      emit(['text', text])
      signal = 'content'
    }
    if (typeof message.refusal === 'string' && message.refusal !== '') {
      emit(['refusal', message.refusal])
      signal = 'content'
    }
    const calls = message.tool_calls ?? functionCallIn(message)
    if (calls != null) {
      const deltas = this.#calls.read(calls, isWhole)
      if (deltas === null) return 'malformed'
      if (deltas.length > 0) {
        emit(['tool-calls', deltas])
        signal = 'content'
      }
      this.#noteCalls(calls, deltas, emit)
    }
    if (thought !== null && !this.#isExtended) emit(['thinking', Buffer.byteLength(thought)])
    if (this.#isExtended) emitAnnotations(message.annotations, emit)
    if (this.#maker !== undefined && Array.isArray(message.reasoning_details))
      for (const detail of message.reasoning_details) this.#addDetail(detail)
    return signal
  }

  /** What Google signs of a call, in its first piece. */
  #noteCalls(calls: unknown, deltas: readonly ToolCallDelta[], emit: Emit): void {
    if (this.#maker === undefined || !Array.isArray(calls) || calls.length !== deltas.length) return
    for (const [index, { extra_content: value }] of (calls as Fields[]).entries()) {
      const { id } = deltas[index]!
      if (id !== undefined && isObject(value)) emit(['signed', { maker: this.#maker, call: id, value }])
    }
  }

  /** The pieces of a text are one detail. */
  #addDetail(detail: unknown): void {
    if (!isObject(detail) || isNestedDeeperThan(detail, MAX_NESTING)) return
    const last = this.#details.at(-1)
    const isNext =
      detail.type === 'reasoning.text' && detail.type === last?.type && detail.index === last.index
    if (!isNext) this.#details.push({ ...detail })
    else Object.assign(last, detail, { text: `${textIn(last.text)}${textIn(detail.text)}` })
  }
}

/** A call as servers of the time before `tool_calls` write it. Some write an empty one where there is none. */
function functionCallIn({ function_call: call }: Fields): Fields | null {
  return isObject(call) && (call.name || call.arguments) ? { function: call } : null
}

function firstChoice(choices: unknown): Fields | null {
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    if (isObject(choice) && (choice.index === 0 || choice.index === undefined)) return choice
  }
  return null
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

export function emitLogprobs(logprobs: unknown, emit: Emit): void {
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

function emitAnnotations(given: unknown, emit: Emit): void {
  if (!Array.isArray(given)) return
  const annotations = given.filter(
    (one): one is Fields =>
      isObject(one) && typeof one.type === 'string' && !isNestedDeeperThan(one, MAX_NESTING),
  )
  if (annotations.length > 0) emit(['annotations', annotations])
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
