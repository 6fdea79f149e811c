import type { Usage } from '../core/billing/pricing.ts'
import type { ChatMessage, SamplingParameters } from '../core/calls/chat-request.ts'
import type { FinishReason, OnProgress } from '../core/calls/completion.ts'
import type { Offer } from '../core/catalog/catalog.ts'
import type { AttemptFailure } from '../core/failover/attempt-failure.ts'
import type { ExactJson } from '../core/json/exact-json.ts'

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

/** What every wire offers. The one interface between the failover chain and the providers. */
export interface ProviderClient {
  /**
   * Asks an offer for an answer, which is always streamed. Resolves once, when the answer is over; whatever
   * the provider does is a result. Rejects only when `onProgress` throws.
   */
  attempt(request: AttemptRequest, onProgress: OnProgress): Promise<AttemptEnd>
}
