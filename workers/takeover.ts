import type { CallBody, CallEnvelope } from '../src/core/call-job.ts'
import type { FrameError, ShownSoFar } from '../src/core/frames.ts'
import { clampUsage } from '../src/core/pricing.ts'
import { countPromptTokens, countTextTokens } from './providers/count-tokens.ts'
import type { RunningCall } from './running-calls.ts'
import type { CallEnd } from './settlement-record.ts'

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
const NOBODY_WAITS: ShownSoFar = { text: '', candidate: null, finished: false }

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
    const timer = setTimeout(() => settle(NOBODY_WAITS), ANSWER_WITHIN_MS)
    const asking = setInterval(() => call.outbox.askShown(), ASK_AGAIN_MS)
    call.onShown = settle
    call.controller.signal.addEventListener('abort', () => settle(NOBODY_WAITS), { once: true })
    call.outbox.askShown()
  })
}

/** How to settle a call of which `shown` is all that was ever delivered: by a count of our own. */
export async function endOfShown(
  shown: ShownSoFar,
  envelope: CallEnvelope,
  body: CallBody,
  error: FrameError,
): Promise<CallEnd> {
  const served = (shown.candidate !== null && envelope.candidates[shown.candidate]) || null
  const nothing = { promptTokens: 0, completionTokens: 0 }
  const counted = {
    promptTokens: await countPromptTokens(body),
    completionTokens: await countTextTokens(shown.text),
  }
  const bounds = { promptTokens: envelope.promptTokensBound, completionTokens: served?.completionLimit ?? 0 }
  return {
    status: served ? 'interrupted' : 'cancelled',
    errorCode: served ? error.code : null,
    finishReason: served ? 'error' : null,
    served,
    usage: served ? clampUsage(counted, bounds).usage : nothing,
    usageSource: served ? 'counted' : 'none',
    usageClamped: false,
    attempts: [],
    firstTokenAt: null,
  }
}
