/**
 * The frames a dispatch worker publishes to the API instance that waits for a call. Many frames, of many
 * calls, travel in one message: a JSON array of tuples. Frames of one claim of one call are numbered from 0;
 * `fence` is the number of that claim, so frames of a worker that lost its claim are recognized.
 */

import type { CompletionMessage, FinishReason, ToolCallDelta } from './completion.ts'
import type { ErrorCode } from './errors.ts'
import type { CallId } from './ids.ts'
import type { Usage } from './pricing.ts'

export type Frame = readonly [callId: CallId, fence: number, sequence: number, body: FrameBody]

export type FrameBody =
  /** The first content is on its way; `candidate` indexes the envelope's candidates. */
  | readonly ['open', candidate: number]
  | readonly ['text', text: string]
  | readonly ['refusal', text: string]
  | readonly ['tool-calls', deltas: ToolCallDelta[]]
  /** A stream's truthful end. */
  | readonly ['finish', reason: FinishReason, usage: Usage | null]
  /** The whole answer of a non-streaming call. */
  | readonly [
      'reply',
      candidate: number,
      message: CompletionMessage,
      reason: FinishReason,
      usage: Usage | null,
    ]
  /** The call failed, or a stream broke after content. Ends the call. */
  | readonly ['error', FrameError]
  /** A worker claimed this call again after another stalled, and asks what the client was shown. Not numbered (-1). */
  | readonly ['takeover']

export interface FrameError {
  code: ErrorCode
  message: string
  retryAfterSeconds?: number
  shouldRetry?: boolean
}

/** True for the frame after which no other comes. */
export const endsCall = (body: FrameBody): boolean =>
  body[0] === 'finish' || body[0] === 'reply' || body[0] === 'error'

/** What API instances tell workers, on one control channel that every worker hears. */
export type ControlMessage =
  /** The client is gone: abort the upstream and settle what was produced. */
  | { kind: 'cancel'; callId: CallId }
  /** Frames from `sequence` on did not arrive. */
  | { kind: 'resend'; callId: CallId; fence: number; sequence: number }
  /** A repeat of a call waits for its answer too: send all its frames, from the first, to `channel` as `label`. */
  | { kind: 'attach'; callId: CallId; channel: string; label: CallId }
  /** The answer to `takeover`. `shown` is null when the client still waits and was shown nothing. */
  | { kind: 'shown'; callId: CallId; fence: number; shown: ShownSoFar | null }

/** What a client had been shown of an answer when its worker was lost, or its connection ended. */
export interface ShownSoFar {
  text: string
  /** Index of the candidate that served; null when nothing was shown. */
  candidate: number | null
  /** The answer was shown to its end, so its settlement was enqueued before. */
  finished: boolean
}
