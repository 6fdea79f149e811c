import { createHash } from 'node:crypto'
import type { AttemptOutcome } from '../core/calls/attempt-outcome.ts'
import type { ChatContent, ChatMessage, SamplingParameters } from '../core/calls/chat-request.ts'
import type { CompletionEvent, FinishReason, OnProgress } from '../core/calls/completion.ts'
import type { ImageChoice } from '../core/calls/kinds/call-kind.ts'
import type { CallContent } from '../core/calls/kinds/call-kinds.ts'
import type { Offer, Provider, ProviderQuirks, SamplingParameter } from '../core/catalog/catalog.ts'
import type { ProviderCredentials } from '../core/catalog/provider-credentials.ts'
import type { AttemptFailure } from '../core/failover/attempt-failure.ts'
import { type Fields, isObject } from '../core/json/json-object.ts'
import type { CallId } from '../core/kernel/ids.ts'
import type { TransportRequest } from './http/exchange.ts'
import type { FormBody } from './http/form-body.ts'
import type { FilePlace, ResponseFile } from './response-files.ts'

export { type Fields, isObject }

/** One attempt at one offer. */
export interface AttemptRequest<Content = CallContent> {
  content: Content
  accountId: string
  /** The call whose files it reads and makes. Absent: it has none. */
  callId?: CallId | undefined
  offer: Offer
  /** The client's BYOK key at the provider, or one of several keys of ours; our only one if absent. Never logged. */
  apiKey?: string
  /** Called once if the provider says that the key has hardly any requests or tokens left, for so many milliseconds. */
  onNearLimit?: ((restMs: number) => void) | undefined
  /** Whether reasoning and log probabilities are passed on. */
  extended?: true
  /** Of a call for images: what each of them is. */
  image?: ImageChoice | undefined
  /** Whether breakpoints of the prompt cache are sent, because writing to it has a price. */
  cachesPrompt?: true
  /** Tokens; sent to the provider, so that the hold is an upper bound. */
  completionLimit: number
  /** The time limits in ms, from now. */
  limits: {
    firstTokenMs: number
    idleMs: number
    totalMs: number
  }
  signal: AbortSignal
  /** Runs the conversion of the request, which is synchronous, and may throw instead. Absent: it is just run. */
  convert?: (<T>(convert: () => T) => T) | undefined
}

/** The same with the prompt of a chat, as the wires of chats take it. */
export interface ChatAttempt
  extends Omit<AttemptRequest, 'content'>,
    Pick<ChatContent, 'parameters' | 'exactJson' | 'sentJson' | 'hosted'> {
  messages: readonly ChatMessage[]
  /** The response names which of these stop sequences ended the completion, if the provider reports it. */
  namedStops?: readonly string[] | undefined
}

/** The interface of every wire, and the only one between the failover chain and the providers. */
export interface ProviderClient {
  /**
   * Requests a completion from an offer; it is always streamed. Resolves once, when the completion is over; every
   * failure of the provider is a result. Rejects only if `onProgress` or `convert` throws.
   */
  attempt(request: AttemptRequest, onProgress: OnProgress): Promise<AttemptOutcome>
}

/** What one event of a provider's stream is, besides the completion events that it emits. */
export type StreamSignal =
  | 'content'
  /** The model thinks: neither content nor silence. */
  | 'thinking'
  /** A role, an empty delta, usage or a finish reason. */
  | 'other'
  /** The provider ends the stream. */
  | 'done'
  | 'malformed'
  | { error: unknown }

export type WholeReading = 'ok' | 'malformed' | { error: unknown }

export type Emit = (event: CompletionEvent) => void

/** Reads one completion. It has state, so that each completion needs its own. */
export interface CompletionReader {
  /** Every chunk may have a finish reason: the last one is valid, and does not end the stream by itself. */
  readonly endsWithStream?: boolean
  /** The maximum number of names and values in a whole response; by default that of a completion. */
  readonly wholeValuesMax?: number
  /** Where the response has files, which are stored as they arrive; absent if it has none. */
  readonly files?: FilePlace
  /** Reads an event of a stream. An error object anywhere in it is a failure of the provider, whatever the status is. */
  event(data: string, emit: Emit): StreamSignal
  /**
   * Reads a whole completion, which some providers send although the request asks for a stream. `files` are those
   * that were removed from it.
   */
  whole(body: string, emit: Emit, files?: readonly ResponseFile[]): WholeReading
  /**
   * Ends a completion that is not broken: emits what it still lacks, and returns its finish reason as clients expect it.
   * Absent: nothing is lacking.
   */
  end?(reason: FinishReason, emit: Emit): FinishReason
}

/** Splits a stream into the data of its events. */
export interface EventDecoder {
  /** Reads the next bytes. False if an event is damaged or too large; the decoder cannot be used after that. */
  push(chunk: Buffer): boolean
  /** Ends the stream. */
  end(): void
}

export type OpenDecoder = (onEvent: (data: string) => void, maxEventBytes: number) => EventDecoder

export interface WireRequest extends Pick<TransportRequest, 'url' | 'headers' | 'responseBytesMax'> {
  body: string | Buffer | FormBody
  /** Reads a stream that is no text. Absent: every stream is server-sent events. */
  openDecoder?: OpenDecoder
}

/** Adds what the secret becomes; null: the identity of the machine is used. Rejects with a CredentialsFailure. */
export type Sign = (
  request: WireRequest,
  secret: string | null,
  credentials: ProviderCredentials,
) => Promise<WireRequest>

/** Where a completion is asked: the provider's path, else the wire's, after its base URL. `{model}` is the model's name. */
export const completionUrl = ({ provider, upstreamModel }: Offer, path: string): string =>
  provider.baseUrl +
  (provider.quirks?.path ?? path).replaceAll('{model}', () => encodeURIComponent(upstreamModel))

/** The pure mappings, without I/O, between the gateway's types and a provider's wire. */
export interface WireMapping<Attempt = ChatAttempt> {
  /** `apiKey` is null if the provider needs none. Header names and values alternate. */
  request(request: Attempt, apiKey: string | null): WireRequest
  openReader(request: Attempt): CompletionReader
  /** Maps a refusal: an HTTP status other than 2xx and its body. `retryAfterMs` is from its header. */
  failureOfStatus(httpStatus: number, body: string, retryAfterMs: number | null): AttemptFailure
  /** Maps an error in a response with the status 200. */
  failureOfErrorObject(error: unknown, httpStatus: number): AttemptFailure
}

/**
 * Header names and values in turn, for every wire.
 * @param authHeader the wire's header for the key, which a provider's quirk overrides
 * @param apiKey null if the provider needs none
 */
export function requestHeaders(
  { quirks }: Provider,
  apiKey: string | null,
  authHeader: NonNullable<ProviderQuirks['authHeader']>,
  { contentType = 'application/json', accept = 'text/event-stream, application/json' } = {},
): string[] {
  const headers = [
    'content-type',
    contentType,
    'accept',
    accept,
    // A compressor would delay a compressed stream; tokens must arrive as they are made.
    'accept-encoding',
    'identity',
  ]
  for (const [name, value] of Object.entries(quirks?.headers ?? {})) headers.push(name, value)
  if (apiKey === null) return headers
  const name = quirks?.authHeader ?? authHeader
  headers.push(name, name === 'authorization' ? `Bearer ${apiKey}` : apiKey)
  return headers
}

/** Claude models that take `temperature` and `top_p` together: 3 and 3.5. */
const TAKES_BOTH = /claude-3(-(?!7)|\.5)/

/** What a model takes at every provider. Claude models take a temperature up to 1, and most one sampling parameter. */
export const quirksOfModel = (model: string): ProviderQuirks =>
  model.includes('claude-') ? { temperatureMax: 1, oneSamplingParameter: !TAKES_BOTH.test(model) } : {}

/**
 * The sampling parameters that the model and the provider take: without those that the model refuses, within the
 * range, and only one of two parameters that exclude each other.
 * @param usual the quirks of the model or the wire, which the provider's quirks override
 */
export function samplingFor(
  { offer, parameters }: Pick<ChatAttempt, 'offer' | 'parameters'>,
  usual: ProviderQuirks = quirksOfModel(offer.upstreamModel),
): { temperature: number | undefined; topP: number | undefined } {
  const { temperatureMax = Number.POSITIVE_INFINITY, oneSamplingParameter } = {
    ...usual,
    ...offer.provider.quirks,
  }
  const given = (name: SamplingParameter) =>
    offer.refusedSampling?.includes(name) ? undefined : parameters[name]
  const temperature = given('temperature')
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, temperatureMax),
    topP: oneSamplingParameter && temperature !== undefined ? undefined : given('top_p'),
  }
}

interface FunctionTool {
  name: string
  description: string | undefined
  /** JSON Schema of the arguments; null if the function has none. */
  parameters: Record<string, unknown> | null
  isStrict: boolean
}

/** The parameters of a request without those that its provider rejects. */
export function acceptedParameters({ offer, parameters }: ChatAttempt): SamplingParameters {
  const { omit = [] } = offer.provider.quirks ?? {}
  return Object.fromEntries(
    Object.entries(parameters).filter(([name]) => !omit.some((field) => field === name)),
  )
}

/** The functions among a request's tools. */
export function functionTools(tools: ReadonlyArray<Record<string, unknown>> | undefined): FunctionTool[] {
  return (tools ?? []).flatMap((tool) => {
    const definition = tool.function
    if (!isObject(definition) || typeof definition.name !== 'string') return []
    const { name, description, parameters, strict } = definition
    return [
      {
        name,
        description: typeof description === 'string' ? description : undefined,
        parameters: isObject(parameters) ? parameters : null,
        isStrict: strict === true,
      },
    ]
  })
}

/**
 * An instruction to write JSON, for providers that have no field for it, or none for a schema.
 * @param responseFormat the request's `response_format`; null is returned if it asks for plain text
 */
export function jsonInstruction(responseFormat: Record<string, unknown> | undefined): string | null {
  if (responseFormat?.type !== 'json_object' && responseFormat?.type !== 'json_schema') return null
  const schema = jsonSchemaOf(responseFormat)
  const asked = 'Answer with one JSON value and nothing else: no explanation, no code fence.'
  return schema === undefined ? asked : `${asked} It must fit this JSON Schema: ${JSON.stringify(schema)}`
}

/** The schema in a `response_format`, or undefined. */
export function jsonSchemaOf(responseFormat: Record<string, unknown>): unknown {
  const { json_schema: named } = responseFormat
  return typeof named === 'object' && named !== null && 'schema' in named ? named.schema : undefined
}

/** The object in a JSON text; null for any other text. */
export function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    // The caller counts null as malformed.
    return null
  }
}

/** A count that a provider should have sent; 0 if it did not. */
export const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** The most tool calls that are read per completion. */
export const MAX_TOOL_CALLS = 256
const ID_CHARACTERS = 24
const NEUTRAL_ID = /^call_[A-Za-z0-9]{1,40}$/
const NEUTRAL_NATIVE_ID = /^(srv)?toolu_[A-Za-z0-9]{1,40}$/

/**
 * The id of a tool call for clients. An id in an unusual form may identify the provider, so that it is replaced;
 * equal ids stay equal.
 */
export const toolCallId = (upstreamId: string): string =>
  NEUTRAL_ID.test(upstreamId) ? upstreamId : `call_${digestOf(upstreamId)}`

/**
 * The id of a tool call in a native completion, as toolCallId. Some targets put their name after `toolu_`. The ids of tools
 * that the provider runs keep their prefix, without which they are refused in a history.
 */
export const toolUseId = (upstreamId: string): string => {
  if (NEUTRAL_NATIVE_ID.test(upstreamId)) return upstreamId
  return `${upstreamId.startsWith('srvtoolu_') ? 'srv' : ''}toolu_${digestOf(upstreamId)}`
}

const digestOf = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, ID_CHARACTERS)
