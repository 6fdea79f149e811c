import type { CallBody, CallEnvelope } from '../../core/calls/call-job.ts'
import type { FrameBody, FrameError } from '../../core/calls/frames.ts'
import { type CallEnd, NOTHING_USED } from '../../core/calls/settlement.ts'
import { textOf } from '../attempts/call-usage.ts'
import type { ChainOutcome } from '../attempts/chain-outcome.ts'
import type { GatewayFailure } from './running-calls.ts'
import { endOfFailed, endOfLeft, type Takeover } from './takeover.ts'

/** How a call ended: what to settle, and the last frame its client gets. */
export interface CallEnding {
  end: CallEnd
  last: FrameBody
  /** What was produced, where its client may still hear less of it; null where nothing more can change. */
  produced: ProducedAnswer | null
}

/** The outcome of a chain that produced something. */
type ProducedAnswer = Exclude<ChainOutcome, { status: 'failed' }>

/** A call with its text. */
export interface CallWithBody {
  envelope: CallEnvelope
  body: CallBody
}

const INTERRUPTED: FrameError = {
  code: 'all_providers_failed',
  message:
    'The answer broke off and could not be continued. What was delivered is all there is; retry the request.',
}

/** The end of a call that its chain brought to an end. */
export function endingOf(outcome: ChainOutcome, envelope: CallEnvelope): CallEnding {
  switch (outcome.status) {
    case 'completed':
      return {
        end: { ...outcome, errorCode: null },
        last: lastFrame(outcome, envelope),
        produced: outcome,
      }
    case 'failed':
      return failedEnding(outcome.error, outcome.attempts)
    case 'interrupted':
      return {
        end: { ...outcome, errorCode: outcome.error.code, finishReason: 'error' },
        last: ['error', outcome.error],
        produced: outcome,
      }
    case 'cancelled':
      return {
        end: { ...outcome, errorCode: null, finishReason: null },
        last: ['error', INTERRUPTED],
        produced: outcome,
      }
    default:
      return outcome satisfies never
  }
}

function lastFrame(
  outcome: Extract<ChainOutcome, { status: 'completed' }>,
  envelope: CallEnvelope,
): FrameBody {
  // Usage is delivered where the upstream supplied it; a count of our own is only charged by.
  const usage = outcome.usageSource === 'upstream' ? outcome.usage : null
  return envelope.stream
    ? ['finish', outcome.finishReason, usage]
    : ['reply', envelope.candidates.indexOf(outcome.served), outcome.message, outcome.finishReason, usage]
}

/** The end of a call that delivered nothing: it costs nothing. */
export function failedEnding(error: FrameError, attempts: CallEnd['attempts'] = []): CallEnding {
  return {
    end: {
      status: 'failed',
      errorCode: error.code,
      finishReason: null,
      served: null,
      ...NOTHING_USED,
      attempts,
      firstTokenAt: null,
    },
    last: ['error', error],
    produced: null,
  }
}

/** The end of a call that the gateway failed: whatever was produced, its client pays for what it was sent. */
export async function endingFailedByUs(
  { served, message, attempts, firstTokenAt }: ProducedAnswer,
  { code, deliveredChars }: GatewayFailure,
  call: CallWithBody,
): Promise<CallEnding> {
  const text = textOf(message).slice(0, deliveredChars)
  const candidate = served && call.envelope.candidates.indexOf(served)
  const end = await endOfFailed({ text, candidate, finished: false }, code, call)
  return {
    end: { ...end, attempts, firstTokenAt },
    last: ['error', { ...INTERRUPTED, code }],
    produced: null,
  }
}

/** A worker that stops in mid-stream fails the call. */
export const stoppedMidStream = (deliveredChars: number): GatewayFailure => ({
  code: INTERRUPTED.code,
  deliveredChars,
})

/** The end of a call whose worker was lost after its client had seen part of the answer, or after its client left. */
export async function endingOfLost(
  { delivered }: Extract<Takeover, { kind: 'end' }>,
  call: CallWithBody,
): Promise<CallEnding> {
  const { ending = { by: 'gateway', code: INTERRUPTED.code } } = delivered
  const end =
    ending.by === 'client'
      ? await endOfLeft(delivered, call)
      : await endOfFailed(delivered, ending.code, call)
  return { end, last: ['error', INTERRUPTED], produced: null }
}
