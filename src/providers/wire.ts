import { createHash } from 'node:crypto'
import type { AttemptOutcome } from '../core/calls/attempt-outcome.ts'
import type { ChatContent, ChatMessage, SamplingParameters } from '../core/calls/chat-request.ts'
import type { CompletionEvent, OnProgress } from '../core/calls/completion.ts'
import type { ImageChoice } from '../core/calls/kinds/call-kind.ts'
import type { CallContent } from '../core/calls/kinds/call-kinds.ts'
import type { Offer, Provider, ProviderQuirks, SamplingParameter } from '../core/catalog/catalog.ts'
import type { AttemptFailure } from '../core/failover/attempt-failure.ts'
import type { CallId } from '../core/kernel/ids.ts'
import type { TransportRequest } from './http/exchange.ts'
import type { FormBody } from './http/form-body.ts'
import type { FilePlace, ReplyFile } from './reply-files.ts'

/** One try at one offer. */
export interface AttemptOf<Content> extends AttemptTerms {
  content: Content
}
export type AttemptRequest = AttemptOf<CallContent>

/** The same with the prompt of a chat, as the wires of chats take it. */
export interface ChatAttempt extends AttemptTerms, Pick<ChatContent, 'parameters' | 'exactJson'> {
  messages: readonly ChatMessage[]
}

export interface AttemptTerms {
  /** Whose call it is. */
  accountId: string
  /** The call whose files it reads and makes. Absent: it has none. */
  callId?: CallId | undefined
  offer: Offer
  /** The client's BYOK key at the provider; absent: ours. Never logged. */
  apiKey?: string
  /** Reasoning and log probabilities are passed on. Absent: they are not. */
  extended?: true
  /** Of a call for images: what each of them is. */
  image?: ImageChoice | undefined
  /** Breakpoints of the prompt cache are passed on, since what is written to it has a price. Absent: they are not. */
  cachesPrompt?: true
  /** Tokens; sent upstream, so that the hold is a true bound. */
  completionLimit: number
  /** Milliseconds of patience, from now. */
  limits: {
    firstTokenMs: number
    idleMs: number
    totalMs: number
  }
  signal: AbortSignal
}

/** What every wire offers. The one interface between the failover chain and the providers. */
export interface ProviderClient {
  /**
   * Asks an offer for an answer, which is always streamed. Resolves once, when the answer is over; whatever
   * the provider does is a result. Rejects only when `onProgress` throws.
   */
  attempt(request: AttemptRequest, onProgress: OnProgress): Promise<AttemptOutcome>
}

/** What one event of a provider's stream amounts to, besides the completion events it emitted. */
export type StreamSignal =
  | 'content'
  /** The model thinks: not content, but no silence either. */
  | 'thinking'
  /** Nothing of use: a role, an empty delta, usage, a finish reason. */
  | 'other'
  /** The provider says that the stream is over. */
  | 'done'
  | 'malformed'
  | { error: unknown }

export type WholeReading = 'ok' | 'malformed' | { error: unknown }

export type Emit = (event: CompletionEvent) => void

/** Reads one answer. It may remember what it has read, so each answer has one of its own. */
export interface CompletionReader {
  /** A finish reason may stand in every chunk: the last one holds, and by itself it is no end. */
  readonly endsWithStream?: boolean
  /** How many names and values a whole reply may hold; absent: as many as a completion. */
  readonly wholeValuesMax?: number
  /** Where the files of a reply are, which go into the store as they come; absent: it has none. */
  readonly files?: FilePlace
  /** One event of a stream. An error object anywhere in it is the provider's failure, whatever the status said. */
  event(data: string, emit: Emit): StreamSignal
  /** A whole reply, which some providers send although a stream was asked for. `files`: those that were taken out of it. */
  whole(body: string, emit: Emit, files?: readonly ReplyFile[]): WholeReading
}

/** What is sent. */
export interface WireRequest extends Pick<TransportRequest, 'url' | 'headers' | 'replyBytesMax'> {
  body: string | FormBody
}

/** A wire: pure mappings, without I/O, between the gateway's own shapes and a provider's. */
export interface WireMapping<Attempt = ChatAttempt> {
  /** `apiKey` is null where the provider needs none. Headers are names and values in turn. */
  request(request: Attempt, apiKey: string | null): WireRequest
  openReader(request: Attempt): CompletionReader
  /** A refusal: an HTTP status other than 2xx with its body. `retryAfterMs` as its header asked. */
  failureOfStatus(httpStatus: number, body: string, retryAfterMs: number | null): AttemptFailure
  /** An error found in an answer whose status said 200. */
  failureOfErrorObject(error: unknown, httpStatus: number): AttemptFailure
}

/**
 * Header names and values in turn, as every wire sends them.
 * @param authHeader where the wire has the key, unless the provider wants it elsewhere
 * @param apiKey null where the provider needs none
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
    // A compressed stream is held back by the compressor; tokens should come as they are made.
    'accept-encoding',
    'identity',
  ]
  for (const [name, value] of Object.entries(quirks?.headers ?? {})) headers.push(name, value)
  if (apiKey === null) return headers
  const name = quirks?.authHeader ?? authHeader
  headers.push(name, name === 'authorization' ? `Bearer ${apiKey}` : apiKey)
  return headers
}

/**
 * The sampling parameters as model and provider take them: none that the model refuses, within the provider's
 * range, and one of them where it takes one.
 * @param wire how every provider of the wire differs, unless it says otherwise
 */
export function samplingFor(
  { offer, parameters }: Pick<ChatAttempt, 'offer' | 'parameters'>,
  wire: ProviderQuirks = {},
): { temperature: number | undefined; topP: number | undefined } {
  const { temperatureMax = Number.POSITIVE_INFINITY, oneSamplingParameter } = {
    ...wire,
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
  /** JSON Schema of the arguments; null where the function takes none. */
  parameters: Record<string, unknown> | null
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
    const { name, description, parameters } = definition
    return [
      {
        name,
        description: typeof description === 'string' ? description : undefined,
        parameters: isObject(parameters) ? parameters : null,
      },
    ]
  })
}

/**
 * Asks for JSON in words, for providers that have no field for it, or none for a schema.
 * @param responseFormat the request's `response_format`; null for one that asks for plain text
 */
export function jsonInstruction(responseFormat: Record<string, unknown> | undefined): string | null {
  if (responseFormat?.type !== 'json_object' && responseFormat?.type !== 'json_schema') return null
  const schema = jsonSchemaOf(responseFormat)
  const asked = 'Answer with one JSON value and nothing else: no explanation, no code fence.'
  return schema === undefined ? asked : `${asked} It must fit this JSON Schema: ${JSON.stringify(schema)}`
}

/** The schema that a `response_format` holds, or undefined. */
export function jsonSchemaOf(responseFormat: Record<string, unknown>): unknown {
  const { json_schema: named } = responseFormat
  return typeof named === 'object' && named !== null && 'schema' in named ? named.schema : undefined
}

export type Fields = Record<string, unknown>

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object that a text is as JSON, or null for anything else. */
export function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    // The caller counts it as malformed.
    return null
  }
}

/** Of a count that a provider should have sent. */
export const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** Tool calls that are read of one completion. */
export const MAX_TOOL_CALLS = 256
const ID_CHARACTERS = 24
const NEUTRAL_ID = /^call_[A-Za-z0-9]{1,40}$/
const NEUTRAL_NATIVE_ID = /^toolu_[A-Za-z0-9]{1,40}$/

/**
 * The id of a tool call as clients see it. A provider's own may name its maker by its form, so any but the
 * usual one of this wire is replaced, the same by the same.
 */
export const toolCallId = (upstreamId: string): string =>
  NEUTRAL_ID.test(upstreamId) ? upstreamId : `call_${digestOf(upstreamId)}`

/** The id of a tool call in a native answer, as toolCallId. Some targets put their name after `toolu_`. */
export const toolUseId = (upstreamId: string): string =>
  NEUTRAL_NATIVE_ID.test(upstreamId) ? upstreamId : `toolu_${digestOf(upstreamId)}`

const digestOf = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, ID_CHARACTERS)
