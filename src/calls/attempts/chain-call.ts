import type { AttemptRecord, CallBody, CallEnvelope, Candidate } from '../../core/calls/call-job.ts'
import type { CompletionMessage, FinishReason } from '../../core/calls/completion.ts'
import type { FrameBody, FrameError } from '../../core/calls/frames.ts'
import type { CallUsage } from './call-usage.ts'

/** A claimed call to be answered. */
export interface ChainCall {
  envelope: CallEnvelope
  body: CallBody
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal
  /** Called with a streamed completion as it comes: `open`, then its deltas. Not called for a call that does not stream. */
  send: (frame: FrameBody) => void
}

export interface Answered extends CallUsage {
  /** Of the envelope's candidates: whose name the answer has, and whose rates are charged. */
  served: Candidate
  /** Of another model, which finished what the one that served had begun; absent otherwise. */
  rescuedBy?: Candidate
  message: CompletionMessage
  /** Unix milliseconds. */
  firstTokenAt: number | null
  attempts: AttemptRecord[]
}

export type ChainOutcome =
  | (Answered & { status: 'completed'; finishReason: FinishReason })
  /** Nothing was delivered. */
  | { status: 'failed'; error: FrameError; attempts: AttemptRecord[] }
  /** A stream broke after content and could not be rescued. */
  | (Answered & { status: 'interrupted'; error: FrameError })
  /** The signal was aborted; `served` is null when nothing had been produced. */
  | (Omit<Answered, 'served'> & { status: 'cancelled'; served: Candidate | null })

export type AttemptChain = (call: ChainCall) => Promise<ChainOutcome>
