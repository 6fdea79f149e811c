import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import { type CallOutcome, failedCall, NOTHING_USED } from '../../core/calls/call-outcome.ts'
import type { CompletionMessage } from '../../core/calls/completion.ts'
import type { DeliveredPrefix, FrameError, GatewayFailure } from '../../core/calls/frames.ts'
import { countedUsage, textOf } from './attempts/call-usage.ts'
import type { RunningCall } from './running-calls.ts'

/** Outcomes of calls that did not end by their chain: their clients are charged for what they were delivered. */

/** An outcome with what was produced: should the client have been delivered less, less is charged. */
export type ProducedOutcome = Exclude<CallOutcome, { status: 'failed' }> & { message: CompletionMessage }

export const isProduced = (outcome: CallOutcome): outcome is ProducedOutcome =>
  outcome.status !== 'failed' && outcome.message !== null

type Call = Pick<RunningCall, 'envelope' | 'content'>

type CallFacts = Pick<CallOutcome, 'attempts' | 'firstTokenAt' | 'isUnanswered'>

/** The gateway failed a call: whatever was produced, its client is charged for what it was sent. */
export function failedByGateway(
  { served, message, attempts, firstTokenAt }: ProducedOutcome,
  { code, deliveredChars }: GatewayFailure,
  call: Call,
): Promise<CallOutcome> {
  const text = textOf(message).slice(0, deliveredChars)
  const candidate = served && call.envelope.candidates.indexOf(served)
  const error = { ...CALL_ERRORS.brokeOff, code }
  return interrupted({ text, candidate, finished: false }, error, call, { attempts, firstTokenAt })
}

/** A worker that stops in mid-stream fails the call. */
export const stoppedMidStream = (deliveredChars: number): GatewayFailure => ({
  code: CALL_ERRORS.brokeOff.code,
  deliveredChars,
})

/**
 * The outcome of a call whose worker was lost after its client had seen part of the completion, or after its client left.
 * `attempts` are those of a run that began another completion before it received the message.
 */
export async function outcomeOfLostRun(
  delivered: DeliveredPrefix,
  call: Call,
  attempts: CallOutcome['attempts'] = [],
): Promise<CallOutcome> {
  const facts = { attempts, firstTokenAt: null, isUnanswered: delivered.isUnanswered }
  const { ending = { by: 'gateway', code: CALL_ERRORS.brokeOff.code } } = delivered
  // A call with an Idempotency-Key continues when its client leaves, so that did not end it.
  if (ending.by === 'client' && call.envelope.idempotencyRecord === null) {
    return { status: 'cancelled', message: null, ...(await chargeOf(delivered, call)), ...facts }
  }
  const { code } = ending.by === 'gateway' ? ending : CALL_ERRORS.brokeOff
  return interrupted(delivered, { ...CALL_ERRORS.brokeOff, code }, call, facts)
}

/**
 * A call that the gateway failed is charged for what was delivered. With an Idempotency-Key it costs nothing, which frees
 * the key: a repeat runs again and is charged in full.
 */
async function interrupted(
  delivered: DeliveredPrefix,
  error: FrameError,
  call: Call,
  facts: CallFacts,
): Promise<CallOutcome> {
  if (call.envelope.idempotencyRecord !== null) return failedCall(error, facts)
  const { served, ...used } = await chargeOf(delivered, call)
  if (served === null) return failedCall(error, facts)
  return { status: 'interrupted', error, message: null, served, ...used, ...facts }
}

/** What is charged for a delivered text; nothing where there is none, or where its prompt is gone with its process. */
async function chargeOf({ candidate, text }: DeliveredPrefix, { envelope, content }: Call) {
  const served = (text !== '' && candidate !== null && envelope.candidates[candidate]) || null
  if (served === null || content === null) return { served: null, ...NOTHING_USED }
  return { served, ...(await countedUsage(text, { envelope, content, served })) }
}
