import type { DeliveredPrefix } from '../../core/calls/frames.ts'
import type { AbortReason, RunningCall } from './running-calls.ts'

const ANSWER_WITHIN_MS = 3_000
/** Request or response may be lost. */
const ASK_AGAIN_MS = 500
/** Its API instance is gone, and with it the knowledge of what was delivered. */
const UNKNOWN: DeliveredPrefix = {
  text: '',
  candidate: null,
  finished: false,
  ending: { by: 'gateway', code: 'internal_error', deliveredChars: 0 },
  isUnanswered: true,
}
const CLIENT_LEFT: DeliveredPrefix = { ...UNKNOWN, ending: { by: 'client' } }

/**
 * Asks the API instance what the client has received before the worker of an earlier claim was lost. Null: the call is to
 * run, since nothing was delivered. Without an answer its API instance is gone, and the call has ended, except one that is
 * kept for repeats, which then runs.
 */
export async function askTakeover(call: RunningCall): Promise<DeliveredPrefix | null> {
  const delivered = await askDelivered(call, 'takeover')
  return delivered === UNKNOWN && call.runsOn ? null : delivered
}

/**
 * Asks the API instance whether its client received the end of this run. False without an answer: the instance is gone, or
 * still waits for the call.
 */
export async function askEnded(call: RunningCall): Promise<boolean> {
  const delivered = await askDelivered(call, 'was-ended')
  return delivered?.finished === true && delivered.endedBy === call.outbox.run
}

function askDelivered(
  call: RunningCall,
  question: 'takeover' | 'was-ended',
): Promise<DeliveredPrefix | null> {
  return new Promise((resolve) => {
    const settle = (delivered: DeliveredPrefix | null) => {
      clearTimeout(timer)
      clearInterval(asking)
      call.onDelivered = null
      resolve(delivered)
    }
    const { signal } = call.controller
    const noAnswer = () => settle(signal.aborted && !call.failure ? CLIENT_LEFT : UNKNOWN)
    const timer = setTimeout(noAnswer, ANSWER_WITHIN_MS)
    const asking = setInterval(() => call.outbox.ask(question), ASK_AGAIN_MS)
    call.onDelivered = settle
    // A cancel does not contain what was delivered, so the response is still needed. Otherwise this worker has to drop
    // the call.
    const stop = () => {
      const reason = signal.reason as AbortReason
      if (reason === 'shutdown' || reason === 'lease-lost') settle(UNKNOWN)
    }
    signal.addEventListener('abort', stop, { once: true })
    call.outbox.ask(question)
  })
}
