import type { AttemptFailure } from '../../src/core/attempt-failure.ts'
import type { Offer } from '../../src/core/catalog.ts'
import type { ChatMessage, SamplingParameters } from '../../src/core/chat-request.ts'
import type { FinishReason, ToolCallDelta } from '../../src/core/completion.ts'
import type { Usage } from '../../src/core/pricing.ts'

/** Hears the content of an answer as it comes, stripped of everything that could name a provider. */
export interface ContentListener {
  text(text: string): void
  refusal(text: string): void
  toolCalls(deltas: ToolCallDelta[]): void
}

/** One try at one offer. */
export interface AttemptRequest {
  offer: Offer
  /** The client's own key at the provider; absent: ours, from the environment. Never logged. */
  apiKey?: string
  messages: readonly ChatMessage[]
  parameters: SamplingParameters
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
  /** `usage` is as the provider said it, not yet held to any bound; null when it said nothing. */
  | { kind: 'finished'; reason: FinishReason; usage: Usage | null }
  | { kind: 'failed'; failure: AttemptFailure }
  /** The signal was aborted. */
  | { kind: 'cancelled' }

export interface AttemptEnd {
  result: AttemptResult
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
   * the provider does is a result. Rejects only when the listener throws.
   */
  attempt(request: AttemptRequest, listener: ContentListener): Promise<AttemptEnd>
}
