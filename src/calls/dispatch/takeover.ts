import type { DeliveredPrefix } from '../../core/calls/frames.ts'
import type { AbortReason, RunningCall } from './running-calls.ts'

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
