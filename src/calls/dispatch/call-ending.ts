import type { CallBody, CallEnvelope, CallStatus } from '../../core/calls/call-job.ts'
import type { DeliveredPrefix, FrameBody, FrameError } from '../../core/calls/frames.ts'
import { type CallEnd, NOTHING_USED } from '../../core/calls/settlement.ts'
import type { ErrorCode } from '../../core/kernel/errors.ts'
import type { ChainOutcome } from '../attempts/attempt-history.ts'
import { countedUsage, textOf } from '../attempts/call-usage.ts'
import type { AbortReason, GatewayFailure, RunningCall } from './running-calls.ts'

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
interface CallWithBody {
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
    : [
        'completion',
        envelope.candidates.indexOf(outcome.served),
        outcome.message,
        outcome.finishReason,
        usage,
      ]
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

/** What a second claim of a call is to do. */
export type Takeover =
  /** Nothing was delivered: run it. */
  | { kind: 'run' }
  /** The answer was delivered to its end, and its settlement enqueued before that. */
  | { kind: 'finished' }
  /** Its client left, or saw part of an answer that cannot be continued. */
  | { kind: 'end'; delivered: DeliveredPrefix }

const ANSWER_WITHIN_MS = 3_000
/** Question or answer may be lost on the way. */
const ASK_AGAIN_MS = 500
/** Its API instance is gone, and with it the knowledge of what was delivered. */
const NOBODY_WAITS: DeliveredPrefix = {
  text: '',
  candidate: null,
  finished: false,
  ending: { by: 'gateway', code: 'internal_error', deliveredChars: 0 },
}
const CLIENT_LEFT: DeliveredPrefix = { text: '', candidate: null, finished: false, ending: { by: 'client' } }

/**
 * Asks the API instance what the client has received before the worker of the first claim was lost. No answer
 * means that nobody waits any more; a call that is kept for repeats then runs all the same.
 */
export async function askTakeover(call: RunningCall): Promise<Takeover> {
  const delivered = await askDelivered(call)
  if (delivered === null) return { kind: 'run' }
  if (delivered === NOBODY_WAITS && call.runsOn) return { kind: 'run' }
  return delivered.finished ? { kind: 'finished' } : { kind: 'end', delivered }
}

function askDelivered(call: RunningCall): Promise<DeliveredPrefix | null> {
  return new Promise((resolve) => {
    const settle = (delivered: DeliveredPrefix | null) => {
      clearTimeout(timer)
      clearInterval(asking)
      call.onDelivered = null
      resolve(delivered)
    }
    const { signal } = call.controller
    const noAnswer = () => settle(signal.aborted && !call.failure ? CLIENT_LEFT : NOBODY_WAITS)
    const timer = setTimeout(noAnswer, ANSWER_WITHIN_MS)
    const asking = setInterval(() => call.outbox.askDelivered(), ASK_AGAIN_MS)
    call.onDelivered = settle
    // A cancel does not say what was delivered: that is still to come. Otherwise this worker has to let the call go.
    const stop = () => {
      const reason = signal.reason as AbortReason
      if (reason === 'shutdown' || reason === 'lease-lost') settle(NOBODY_WAITS)
    }
    signal.addEventListener('abort', stop, { once: true })
    call.outbox.askDelivered()
  })
}

/** How to settle a call that its client left: what is known to have been delivered is what was produced. */
const endOfLeft = (delivered: DeliveredPrefix, call: CallJobText): Promise<CallEnd> =>
  endOfDelivered(delivered, call, { status: 'cancelled', nothingDelivered: 'cancelled', errorCode: null })

/** How to settle a call that the gateway failed: for what was delivered, and for nothing if that is nothing. */
const endOfFailed = (delivered: DeliveredPrefix, code: ErrorCode, call: CallJobText): Promise<CallEnd> =>
  endOfDelivered(delivered, call, { status: 'interrupted', nothingDelivered: 'failed', errorCode: code })

/** A call with its text. */
interface CallJobText {
  envelope: CallEnvelope
  body: CallBody
}

async function endOfDelivered(
  delivered: DeliveredPrefix,
  { envelope, body }: CallJobText,
  as: { status: CallStatus; nothingDelivered: CallStatus; errorCode: ErrorCode | null },
): Promise<CallEnd> {
  const { candidate, text } = delivered
  const served = (text !== '' && candidate !== null && envelope.candidates[candidate]) || null
  return {
    status: served ? as.status : as.nothingDelivered,
    errorCode: as.errorCode,
    finishReason: served && as.errorCode !== null ? 'error' : null,
    served,
    ...(served ? await countedUsage(text, { envelope, body, served }) : NOTHING_USED),
    attempts: [],
    firstTokenAt: null,
  }
}
