import type { Usage } from '../core/billing/pricing.ts'
import type { ChatMessage, SamplingParameters } from '../core/calls/chat-request.ts'
import type { CompletionEvent, FinishReason, OnProgress } from '../core/calls/completion.ts'
import { type Offer, WIRES, type Wire } from '../core/catalog/catalog.ts'
import { type AttemptFailure, attemptFailure } from '../core/failover/attempt-failure.ts'
import type { ExactJson } from '../core/json/json-text.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { chatCompletions } from './chat-completions.ts'
import { googleGenerateContent } from './google-generate-content.ts'
import type { Transport } from './http/transport.ts'
import { ResponseReader } from './response-reader.ts'

/** The client for each wire a provider can speak. */
export type ProviderClients = (wire: Wire) => ProviderClient

interface ProviderClientOptions {
  transport: Transport
  /** Where providers' keys are looked up by name. */
  environment: Readonly<Record<string, string | undefined>>
  connectTimeoutMs: number
  /** Unix milliseconds. */
  now: () => number
}

const MAPPINGS: Record<Wire, WireMapping> = {
  'chat-completions': chatCompletions,
  'anthropic-messages': anthropicMessages,
  'google-generate-content': googleGenerateContent,
}

export function createProviderClients(options: ProviderClientOptions): ProviderClients {
  const clients = new Map<Wire, ProviderClient>()
  for (const wire of WIRES) clients.set(wire, createClient(MAPPINGS[wire], options))
  return (wire) => clients.get(wire)!
}

/** Looks up the key, sends the request and reads the response. */
function createClient(wire: WireMapping, options: ProviderClientOptions): ProviderClient {
  const { transport, environment, connectTimeoutMs, now } = options
  return {
    attempt(request, onProgress) {
      const { apiKeyEnv } = request.offer.provider
      const ours = apiKeyEnv === null ? null : (environment[apiKeyEnv]?.trim() ?? '')
      const apiKey = request.apiKey ?? ours
      // Without our key a provider could only refuse; the offer is marked down as if it had.
      if (apiKey === '') return Promise.resolve(WITHOUT_KEY)
      const { signal, accountId } = request
      const limits = { ...request.limits, connectMs: connectTimeoutMs }
      return new Promise((resolve, reject) => {
        const answer = wire.openReader(request)
        transport.post(
          { ...wire.request(request, apiKey), limits, signal, accountId },
          (exchange) => new ResponseReader({ wire, answer, exchange, onProgress, now, resolve, reject }),
        )
      })
    },
  }
}

/** One try at one offer. */
export interface AttemptRequest {
  /** Whose call it is. */
  accountId: string
  offer: Offer
  /** The client's own key at the provider; absent: ours, from the environment. Never logged. */
  apiKey?: string
  messages: readonly ChatMessage[]
  parameters: SamplingParameters
  /** See ChatRequest; for wires that forward these fields as they are. */
  exactJson?: ExactJson | undefined
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

export type AttemptResult =
  /** `usage` is as the provider said it with the end of its answer or after, believed or not; null when it said nothing. */
  | { kind: 'finished'; reason: FinishReason; usage: Usage | null }
  | { kind: 'failed'; failure: AttemptFailure }
  /** The signal was aborted. */
  | { kind: 'cancelled' }

/** What a provider let on of its work on an answer, besides the content. */
export interface Production {
  /** The last usage that it reported before the answer's end; null when it did not. */
  usage: Usage | null
  /** Bytes of reasoning that it streamed. */
  thinkingBytes: number
  /** Tokens of reasoning that it reported. */
  reasoningTokens: number
}

export const NOTHING_PRODUCED: Production = Object.freeze({
  usage: null,
  thinkingBytes: 0,
  reasoningTokens: 0,
})

export interface AttemptEnd {
  result: AttemptResult
  produced: Production
  /** The provider's status, where there was one. */
  httpStatus: number | null
  /** Unix milliseconds of the first content. */
  firstTokenAt: number | null
  /** Events of the stream that could not be read and were skipped. */
  malformedEvents: number
}

const WITHOUT_KEY: AttemptEnd = {
  result: {
    kind: 'failed',
    failure: attemptFailure('refused', 'no key for this provider in the environment'),
  },
  httpStatus: null,
  firstTokenAt: null,
  malformedEvents: 0,
  produced: NOTHING_PRODUCED,
}

/** What every wire offers. The one interface between the failover chain and the providers. */
export interface ProviderClient {
  /**
   * Asks an offer for an answer, which is always streamed. Resolves once, when the answer is over; whatever
   * the provider does is a result. Rejects only when `onProgress` throws.
   */
  attempt(request: AttemptRequest, onProgress: OnProgress): Promise<AttemptEnd>
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
  /** One event of a stream. An error object anywhere in it is the provider's failure, whatever the status said. */
  event(data: string, emit: Emit): StreamSignal
  /** A whole reply, which some providers send although a stream was asked for. */
  whole(body: string, emit: Emit): WholeReading
}

interface OutgoingRequest {
  url: string
  /** Names and values in turn. */
  headers: string[]
  body: string
}

/** A wire: pure mappings, without I/O, between the gateway's own shapes and a provider's. */
export interface WireMapping {
  /** `apiKey` is null where the provider needs none. */
  request(request: AttemptRequest, apiKey: string | null): OutgoingRequest
  openReader(request: AttemptRequest): CompletionReader
  /** A refusal: an HTTP status other than 2xx with its body. `retryAfterMs` as its header asked. */
  failureOfStatus(httpStatus: number, body: string, retryAfterMs: number | null): AttemptFailure
  /** An error found in an answer whose status said 200. */
  failureOfErrorObject(error: unknown, httpStatus: number): AttemptFailure
}
