import type { FinishReason } from '../core/calls/completion.ts'
import type { NativeContent } from '../core/calls/messages-request.ts'
import type { Usage } from '../core/calls/usage.ts'
import { makerOf, type Offer, type ProviderQuirks } from '../core/catalog/catalog.ts'
import type { CredentialsKind } from '../core/catalog/provider-credentials.ts'
import type { AttemptFailure, FailureKind } from '../core/failover/attempt-failure.ts'
import { isNestedDeeperThan, MAX_NESTING, type SentJson, stringifyExactly } from '../core/json/json-text.ts'
import { withBreakpoints } from './cache-breakpoints.ts'
import { toMessages, toSystem, toToolChoice, toTools } from './chat-to-messages-content.ts'
import { portableId, toConversation, withToolIds } from './conversation.ts'
import {
  type ErrorWords,
  errorOf,
  errorWords,
  failureOfWords,
  kindOfStatus,
  kindOfWords,
  unwrapped,
} from './error-words.ts'
import { brokenFinish, readFinishReason } from './finish-reasons.ts'
import { NativeReader, nativeFields } from './messages-relay.ts'
import { promptParts } from './prompt-parts.ts'
import { anthropicThinking } from './reasoning-effort.ts'
import { structuredOutput } from './structured-output.ts'
import { ToolCallIds } from './tool-calls.ts'
import {
  type AttemptRequest,
  acceptedParameters,
  type ChatAttempt,
  type CompletionReader,
  completionUrl,
  count,
  type Emit,
  type Fields,
  isObject,
  jsonInstruction,
  MAX_TOOL_CALLS,
  parseObject,
  requestHeaders,
  type StreamSignal,
  samplingFor,
  type WholeReading,
  type WireMapping,
  type WireRequest,
} from './wire.ts'

/** The wire of Anthropic's messages API. */
export const anthropicMessages: WireMapping = {
  request: (attempt, apiKey) => wireRequest(attempt, apiKey, chatFields(attempt)),
  openReader: (request) => new MessagesReader({ ...request, knownSpace: prefillSpace(request) }),
  failureOfStatus,
  failureOfErrorObject,
}

/** The same wire where the client speaks it too. */
export const nativeMessages: WireMapping<AttemptRequest<NativeContent>> = {
  request: (attempt, apiKey) => wireRequest(attempt, apiKey, nativeFields(attempt), attempt.content),
  openReader: ({ offer }) => new NativeReader(new MessagesReader({ offer })),
  failureOfStatus,
  failureOfErrorObject,
}

/** The newest version of the wire. Later features are enabled by the header `anthropic-beta`. */
const ANTHROPIC_VERSION = '2023-06-01'
const TEMPERATURE_MAX = 1

/** How the clouds take the wire: the model in the path, the version in the body. Bedrock has no header for features. */
const CLOUDS: Readonly<Partial<Record<CredentialsKind, { path: string; version: string }>>> = {
  google: { path: '/models/{model}:streamRawPredict', version: 'vertex-2023-10-16' },
  aws: { path: '/model/{model}/invoke-with-response-stream', version: 'bedrock-2023-05-31' },
}

const cloudOf = ({ provider }: Offer) => provider.credentials && CLOUDS[provider.credentials.kind]

/** A request on the messages wire, always streamed. */
function wireRequest(
  attempt: Omit<AttemptRequest, 'content'>,
  apiKey: string | null,
  fields: Fields,
  { betas = [], sentJson }: Pick<NativeContent, 'betas' | 'sentJson'> = {},
): WireRequest {
  const { provider } = attempt.offer
  const cloud = cloudOf(attempt.offer)
  const hasHeaders = provider.credentials?.kind !== 'aws'
  const features = betas.length > 0 && hasHeaders ? ['anthropic-beta', betas.join(',')] : []
  const beta = betas.length > 0 && !hasHeaders && { anthropic_beta: betas }
  return {
    url: completionUrl(attempt.offer, cloud?.path ?? '/messages'),
    headers: [
      ...requestHeaders(provider, apiKey, 'x-api-key'),
      ...(cloud ? [] : ['anthropic-version', ANTHROPIC_VERSION]),
      ...features,
    ],
    body: bodyOf(attempt, { ...fields, ...beta }, sentJson),
  }
}

/** The body of a chat on the messages wire. */
export const requestBody = (attempt: ChatAttempt) => bodyOf(attempt, chatFields(attempt))

function bodyOf(
  { offer, completionLimit }: Pick<AttemptRequest, 'offer' | 'completionLimit'>,
  fields: Fields,
  sentJson?: SentJson,
): string | Buffer {
  const { quirks = {}, credentials } = offer.provider
  const cloud = cloudOf(offer)
  const body: Record<string, unknown> = {
    ...quirks.fixedFields,
    ...(cloud ? { anthropic_version: cloud.version } : { model: offer.upstreamModel }),
    max_tokens: completionLimit,
    stream: credentials?.kind === 'aws' ? undefined : true,
    ...fields,
  }
  for (const field of quirks.omit ?? []) delete body[field]
  return stringifyExactly(body, undefined, sentJson)
}

/**
 * The fields of a chat completion. JSON is requested by an instruction, except for an extended request with a schema that
 * the model's structured output can express.
 */
function chatFields(request: ChatAttempt): Fields {
  const { offer, completionLimit, cachesPrompt = false } = request
  const parameters = acceptedParameters(request)
  const messages = cachesPrompt ? withBreakpoints(request.messages) : request.messages
  const conversation = toConversation(withToolIds(messages, portableId), makerOf(offer))
  const { system, turns } = conversation
  const format = request.extended ? structuredOutput(parameters.response_format, offer.upstreamModel) : null
  const instruction = format === null ? jsonInstruction(request.parameters.response_format) : null
  if (instruction !== null) system.push(instruction)
  const { temperature, topP } = samplingFor(request, { temperatureMax: TEMPERATURE_MAX })
  const toolChoice = toToolChoice(parameters)
  const thinking = anthropicThinking(parameters.reasoning_effort, {
    model: offer.upstreamModel,
    completionLimit,
    isForced: toolChoice?.type === 'any' || toolChoice?.type === 'tool',
    turns,
  })
  // The wire rejects a stop sequence that is only white space.
  const stops = parameters.stop?.filter((text) => text.trim() !== '') ?? []
  return {
    system: toSystem(conversation, cachesPrompt),
    messages: toMessages(turns, cachesPrompt),
    // The wire rejects them together with thinking.
    ...(thinking.thinking === undefined && { temperature, top_p: topP }),
    tools: toTools(parameters, turns),
    tool_choice: toolChoice,
    stop_sequences: stops.length > 0 ? stops : undefined,
    ...thinking,
    ...(format && { output_config: { ...thinking.output_config, format } }),
  }
}

/** The white space at the end of a prefill. The wire refuses it, so that the request omits it. */
export function prefillSpace({ messages }: ChatAttempt): string {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || typeof last.content !== 'string') return ''
  return last.content.slice(last.content.trimEnd().length)
}

/** The tokens of a prompt by their price; each event that states them replaces those before. */
interface PromptCounts {
  input: number
  cacheRead: number
  cacheWrite: number
  /** The part of `cacheWrite` that is kept for an hour. */
  hour: number
}

interface ReadTerms extends Partial<Pick<ChatAttempt, 'extended' | 'messages' | 'offer'>> {
  /** White space that the client has already and with which the continuation of a prefill may begin. */
  knownSpace?: string
}

/**
 * Reads one completion on the messages wire. Stores the prompt tokens, which come first, until the completion tokens
 * come, and renumbers the tool calls, which the wire numbers among all blocks.
 */
export class MessagesReader implements CompletionReader {
  #prompt: PromptCounts = { input: 0, cacheRead: 0, cacheWrite: 0, hour: 0 }
  /** The uses of the provider's tools so far: those that are seen, and of searches the number that it states. */
  #uses = { webSearches: 0, codeExecutions: 0 }
  /** The last usage with its reasoning tokens; null before the first. */
  #reported: { usage: Usage; reasoningTokens: number } | null = null
  /** The number of each tool call by the number of its block. */
  readonly #toolCalls = new Map<unknown, number>()
  /** The input in the start of each block; used if no delta of it follows. */
  readonly #firstInputs = new Map<unknown, unknown>()
  #knownSpace: string
  /** Whether thinking is part of the content. */
  readonly #isExtended: boolean
  readonly #finishReasons: ProviderQuirks['finishReasons']
  readonly #ids: ToolCallIds
  readonly #maker: string | undefined
  /** The open block of thinking, which comes back as it is if it is signed. */
  #thought = { type: 'thinking', thinking: '', signature: '' }

  constructor({ extended, messages, offer, knownSpace = '' }: ReadTerms = {}) {
    this.#maker = offer && makerOf(offer)
    this.#knownSpace = knownSpace
    this.#isExtended = extended === true
    this.#finishReasons = offer?.provider.quirks?.finishReasons
    this.#ids = new ToolCallIds(messages)
  }

  event(data: string, emit: Emit): StreamSignal {
    const event = parseObject(data)
    return event === null ? 'malformed' : this.read(event, emit)
  }

  read(event: Fields, emit: Emit): StreamSignal {
    switch (event.type) {
      case 'message_start':
        this.#emitUsage(isObject(event.message) ? event.message.usage : undefined, emit)
        return 'other'
      case 'content_block_start':
        return this.#block(event.index, event.content_block, emit)
      case 'content_block_delta':
        return this.#delta(event.index, event.delta, emit)
      case 'content_block_stop':
        return this.#blockEnd(event.index, emit)
      case 'message_delta':
        return this.#messageDelta(event, emit)
      case 'message_stop':
        return 'done'
      case 'error':
        return { error: event.error ?? event }
      default:
        // Pings and event types that are added to the wire later.
        return typeof event.type === 'string' ? 'other' : 'malformed'
    }
  }

  whole(body: string, emit: Emit): WholeReading {
    const reply = parseObject(body)
    if (reply === null) return 'malformed'
    if (reply.type === 'error' || isObject(reply.error)) return { error: reply.error ?? reply }
    if (!Array.isArray(reply.content) || typeof reply.stop_reason !== 'string') return 'malformed'
    for (const [index, block] of reply.content.entries()) {
      this.#block(index, block, emit)
      this.#blockEnd(index, emit)
    }
    const broken = this.#finish(reply.stop_reason, emit)
    this.#emitUsage(reply.usage, emit)
    return broken ?? 'ok'
  }

  end(reason: FinishReason): FinishReason {
    return reason === 'stop' && this.#toolCalls.size > 0 ? 'tool_calls' : reason
  }

  #block(index: unknown, block: unknown, emit: Emit): StreamSignal {
    if (!isObject(block)) return 'malformed'
    switch (block.type) {
      case 'text':
        return this.#text(block.text, emit)
      case 'thinking':
        this.#thought = { type: 'thinking', thinking: '', signature: '' }
        return this.#thinking(block, emit)
      case 'redacted_thinking':
        this.#sign({ type: 'redacted_thinking', data: block.data }, emit)
        return this.#hidden(block.data, emit)
      case 'tool_use':
        return this.#toolCall(index, block, emit)
      case 'server_tool_use':
        this.#noteUse(block.name, emit)
        return 'content'
      default:
        return 'other'
    }
  }

  #delta(index: unknown, delta: unknown, emit: Emit): StreamSignal {
    if (!isObject(delta)) return 'malformed'
    switch (delta.type) {
      case 'text_delta':
        return this.#text(delta.text, emit)
      case 'input_json_delta':
        return this.#argument(index, delta.partial_json, emit)
      case 'thinking_delta':
      case 'signature_delta':
        return this.#thinking(delta, emit)
      default:
        return 'other'
    }
  }

  #thinking({ thinking: text, signature }: Fields, emit: Emit): StreamSignal {
    if (!this.#isExtended) return this.#hidden(text, emit)
    if (typeof signature === 'string') this.#thought.signature += signature
    if (typeof text !== 'string' || text === '') return 'thinking'
    this.#thought.thinking += text
    emit(['reasoning', text])
    return 'thinking'
  }

  #sign(value: Fields, emit: Emit): void {
    if (this.#isExtended && this.#maker !== undefined) emit(['signed', { maker: this.#maker, value }])
  }

  #hidden(text: unknown, emit: Emit): StreamSignal {
    if (typeof text === 'string' && text !== '') emit(['thinking', Buffer.byteLength(text)])
    return 'thinking'
  }

  #text(value: unknown, emit: Emit): StreamSignal {
    let text = typeof value === 'string' ? value : ''
    while (this.#knownSpace !== '' && text !== '') {
      if (text[0] !== this.#knownSpace[0]) {
        this.#knownSpace = ''
      } else {
        text = text.slice(1)
        this.#knownSpace = this.#knownSpace.slice(1)
      }
    }
    if (text === '') return 'other'
    emit(['text', text])
    return 'content'
  }

  /** A call without arguments has no input deltas; its arguments are an empty object. */
  #blockEnd(block: unknown, emit: Emit): StreamSignal {
    if (this.#thought.signature !== '') {
      this.#sign(this.#thought, emit)
      this.#thought = { type: 'thinking', thinking: '', signature: '' }
    }
    if (!this.#firstInputs.has(block)) return 'other'
    return this.#argument(block, JSON.stringify(this.#firstInputs.get(block) ?? {}), emit)
  }

  #toolCall(block: unknown, { id, name, input }: Fields, emit: Emit): StreamSignal {
    if (typeof name !== 'string') return 'malformed'
    if (isNestedDeeperThan(input, MAX_NESTING)) return 'malformed'
    const index = this.#toolCalls.size
    if (index >= MAX_TOOL_CALLS) return 'other'
    this.#toolCalls.set(block, index)
    this.#firstInputs.set(block, input)
    const call = { name, arguments: '' }
    const callId = this.#ids.next(typeof id === 'string' && id !== '' ? id : null)
    emit(['tool-calls', [{ index, id: callId, type: 'function', function: call }]])
    return 'content'
  }

  #argument(block: unknown, json: unknown, emit: Emit): StreamSignal {
    const index = this.#toolCalls.get(block)
    if (index === undefined || typeof json !== 'string' || json === '') return 'other'
    this.#firstInputs.delete(block)
    emit(['tool-calls', [{ index, function: { arguments: json } }]])
    return 'content'
  }

  #messageDelta(event: Fields, emit: Emit): StreamSignal {
    const broken = this.#finish(isObject(event.delta) ? event.delta.stop_reason : undefined, emit)
    this.#emitUsage(event.usage, emit)
    return broken ?? 'other'
  }

  #finish(word: unknown, emit: Emit): { error: unknown } | undefined {
    const reason = readFinishReason(word, this.#finishReasons)
    if (reason === 'error') return brokenFinish(word)
    if (reason !== null) emit(['finish', reason])
  }

  #emitUsage(value: unknown, emit: Emit): void {
    if (!isObject(value)) return
    this.#prompt = promptCounts(value, this.#prompt)
    if (typeof value.output_tokens !== 'number') return
    const { input, cacheRead: cachedTokens, cacheWrite: cacheWriteTokens, hour } = this.#prompt
    const { output_tokens_details: details, server_tool_use: used } = value
    // A search that failed is seen, and not billed.
    if (isObject(used) && typeof used.web_search_requests === 'number')
      this.#uses.webSearches = used.web_search_requests
    const usage: Usage = {
      promptTokens: input + cachedTokens + cacheWriteTokens,
      ...promptParts({ cachedTokens, cacheWriteTokens, cacheWriteHourTokens: hour }),
      completionTokens: value.output_tokens,
    }
    const reasoningTokens = isObject(details) ? count(details.thinking_tokens) : 0
    this.#reported = { usage, reasoningTokens }
    emit(['usage', { ...usage, ...promptParts(this.#uses) }, reasoningTokens])
  }

  /** A use is billed even if the completion breaks off after it, so that it is reported at once. */
  #noteUse(name: unknown, emit: Emit): void {
    if (name === 'web_search') this.#uses.webSearches += 1
    else if (typeof name === 'string' && name.endsWith('code_execution')) this.#uses.codeExecutions = 1
    else return
    if (this.#reported === null) return
    const { usage, reasoningTokens } = this.#reported
    emit(['usage', { ...usage, ...promptParts(this.#uses) }, reasoningTokens])
  }
}

/**
 * The prompt's tokens by the latest event. The last event may correct the first, in either direction; one without
 * counts of the prompt, or with zeros, says nothing of it. Counts of the cache stay where the same input is stated
 * without them.
 */
function promptCounts(usage: Fields, before: PromptCounts): PromptCounts {
  const {
    input_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    cache_creation: creation,
  } = usage
  const isSame = input_tokens === undefined || input_tokens === before.input
  const stated = (value: unknown, earlier: number) =>
    typeof value === 'number' ? value : isSame ? earlier : 0
  const counts = {
    input: typeof input_tokens === 'number' ? input_tokens : before.input,
    cacheRead: stated(cache_read_input_tokens, before.cacheRead),
    cacheWrite: stated(cache_creation_input_tokens, before.cacheWrite),
    hour: stated(isObject(creation) ? creation.ephemeral_1h_input_tokens : undefined, before.hour),
  }
  return counts.input + counts.cacheRead + counts.cacheWrite === 0 ? before : counts
}

/** Refusals of our account that have the status 400. */
const STANDING_TEXT =
  /credit balance|spend(ing)? limit|usage limits?\b|billing|on-demand throughput|model identifier is invalid/i

const KIND_OF_TYPE: Readonly<Record<string, FailureKind>> = {
  authentication_error: 'refused',
  billing_error: 'refused',
  permission_error: 'refused',
  not_found_error: 'refused',
  rate_limit_error: 'rate-limited',
  request_too_large: 'context-length',
  invalid_request_error: 'bad-request',
  // Bedrock's exceptions.
  accessdeniedexception: 'refused',
  resourcenotfoundexception: 'refused',
  throttlingexception: 'rate-limited',
  validationexception: 'bad-request',
}

export function failureOfStatus(
  httpStatus: number,
  body: string,
  retryAfterMs: number | null,
): AttemptFailure {
  const words = wordsOf(errorOf(body))
  const kind = kindOfStatus(httpStatus, words)
  return failureOfWords(withStanding(kind, words), words, httpStatus, retryAfterMs)
}

/** Maps an error event of a stream by its type. */
export function failureOfErrorObject(error: unknown, httpStatus: number): AttemptFailure {
  const words = wordsOf(unwrapped(error))
  const ofType = Object.hasOwn(KIND_OF_TYPE, words.codes) ? KIND_OF_TYPE[words.codes]! : 'server-error'
  const kind = ofType === 'bad-request' ? (kindOfWords(words) ?? ofType) : ofType
  return failureOfWords(withStanding(kind, words), words, httpStatus)
}

const withStanding = (kind: FailureKind, { message }: ErrorWords): FailureKind =>
  kind === 'bad-request' && STANDING_TEXT.test(message) ? 'refused' : kind

/** The wire names the field only in its text: `max_tokens: 100000 > 64000, …`, `messages.0.content: …`. */
function wordsOf(error: unknown): ErrorWords {
  const words = errorWords(error)
  const field = /^`?([a-z_]+)[`.:[]/.exec(words.message)?.[1] ?? null
  return { ...words, param: words.param ?? (field === 'system' ? 'messages' : field) }
}
