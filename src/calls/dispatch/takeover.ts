import type { CallBody, CallEnvelope } from '../../core/calls/call-job.ts'
import type { CallStatus } from '../../core/calls/call-status.ts'
import type { ShownSoFar } from '../../core/calls/frames.ts'
import { type CallEnd, NOTHING_USED } from '../../core/calls/settlement.ts'
import type { ErrorCode } from '../../core/kernel/errors.ts'
import { countedUsage } from '../attempts/call-usage.ts'
import type { AbortReason, RunningCall } from './running-calls.ts'

/** What a second claim of a call is to do. */
export type Takeover =
  /** Nobody was shown anything: run it. */
  | { kind: 'run' }
  /** The answer was shown to its end, and its settlement enqueued before that. */
  | { kind: 'finished' }
  /** Its client left, or saw part of an answer that cannot be continued. */
  | { kind: 'end'; shown: ShownSoFar }

const ANSWER_WITHIN_MS = 3_000
/** Question or answer may be lost on the way. */
const ASK_AGAIN_MS = 500
/** Its API instance is gone, and with it the knowledge of what was shown. */
const NOBODY_WAITS: ShownSoFar = {
  text: '',
  candidate: null,
  finished: false,
  ending: { by: 'gateway', code: 'internal_error', shownChars: 0 },
}
const CLIENT_LEFT: ShownSoFar = { text: '', candidate: null, finished: false, ending: { by: 'client' } }

/**
 * Asks the API instance what the client was shown before the worker of the first claim was lost. No answer
 * means that nobody waits any more; a call that is kept for repeats then runs all the same.
 */
export async function askTakeover(call: RunningCall): Promise<Takeover> {
  const shown = await askShown(call)
  if (shown === null) return { kind: 'run' }
  if (shown === NOBODY_WAITS && call.runsOn) return { kind: 'run' }
  return shown.finished ? { kind: 'finished' } : { kind: 'end', shown }
}

function askShown(call: RunningCall): Promise<ShownSoFar | null> {
  return new Promise((resolve) => {
    const settle = (shown: ShownSoFar | null) => {
      clearTimeout(timer)
      clearInterval(asking)
      call.onShown = null
      resolve(shown)
    }
    const { signal } = call.controller
    const noAnswer = () => settle(signal.aborted && !call.failure ? CLIENT_LEFT : NOBODY_WAITS)
    const timer = setTimeout(noAnswer, ANSWER_WITHIN_MS)
    const asking = setInterval(() => call.outbox.askShown(), ASK_AGAIN_MS)
    call.onShown = settle
    // A cancel does not say what was shown: that is still to come. Otherwise this worker has to let the call go.
    const stop = () => {
      const reason = signal.reason as AbortReason
      if (reason === 'shutdown' || reason === 'claim-lost') settle(NOBODY_WAITS)
    }
    signal.addEventListener('abort', stop, { once: true })
    call.outbox.askShown()
  })
}

/** How to settle a call that its client left: what is known to have been shown is what was produced. */
export const endOfLeft = (shown: ShownSoFar, call: CallJobText): Promise<CallEnd> =>
  endOfShown(shown, call, { status: 'cancelled', nothingShown: 'cancelled', errorCode: null })

/** How to settle a call that the gateway failed: for what was shown, and for nothing if that is nothing. */
export const endOfFailed = (shown: ShownSoFar, code: ErrorCode, call: CallJobText): Promise<CallEnd> =>
  endOfShown(shown, call, { status: 'interrupted', nothingShown: 'failed', errorCode: code })

/** A call with its text. */
interface CallJobText {
  envelope: CallEnvelope
  body: CallBody
}

async function endOfShown(
  shown: ShownSoFar,
  { envelope, body }: CallJobText,
  as: { status: CallStatus; nothingShown: CallStatus; errorCode: ErrorCode | null },
): Promise<CallEnd> {
  const { candidate, text } = shown
  const served = (text !== '' && candidate !== null && envelope.candidates[candidate]) || null
  return {
    status: served ? as.status : as.nothingShown,
    errorCode: as.errorCode,
    finishReason: served && as.errorCode !== null ? 'error' : null,
    served,
    ...(served ? await countedUsage(text, { envelope, body, served }) : NOTHING_USED),
    attempts: [],
    firstTokenAt: null,
  }
}
