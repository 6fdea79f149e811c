import type { CompletionEvent } from '../core/calls/completion.ts'
import type { AttemptFailure } from '../core/failover/attempt-failure.ts'
import type { AttemptRequest } from './provider.ts'

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

export interface OutgoingRequest {
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
