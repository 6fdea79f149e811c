import { type CallEnd, NOTHING_USED } from '../../core/billing/pricing.ts'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { CallBody, CallEnvelope, CallStatus, Candidate } from '../../core/calls/call-job.ts'
import type { CompletionMessage } from '../../core/calls/completion.ts'
import { withoutHalfCalls } from '../../core/calls/cut-answer.ts'
import type {
  DeliveredPrefix,
  FrameBody,
  FrameError,
  GatewayFailure,
  ReportedUsage,
} from '../../core/calls/frames.ts'
import { NATIVE_AT_LIMIT } from '../../core/calls/native-message.ts'
import { isMediaTask } from '../../core/calls/task.ts'
import { jsonRootOf, mayBeRepaired, wantsJson } from '../../core/json/json-repair.ts'
import type { ErrorCode } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { threads } from '../../platform/process/thread-pool.ts'
import { NOTHING_PRODUCED } from '../../providers/wire.ts'
import type { BreakerBoard } from '../../routing/circuit-breaker/breaker-board.ts'
import type { AttemptOutcome, AttemptPlan } from '../attempts/attempt.ts'
import type { ChainCall, ChainOutcome } from '../attempts/attempt-chain.ts'
import type { AttemptHistory } from '../attempts/attempt-history.ts'
import type { AttemptMeter } from '../attempts/attempt-meter.ts'
import {
  type Answer,
  countedUsage,
  doubtLimit,
  doubtUsage,
  ROUGH_COUNTS,
  type ServedCall,
  textOf,
  usageOf,
} from '../attempts/call-usage.ts'
import type { CompletionRelay } from '../attempts/completion-relay.ts'
import { taskUsage } from '../attempts/task-usage.ts'
import type { Takeover } from './takeover.ts'

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
        last: ['error', CALL_ERRORS.brokeOff],
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
  const { finishReason, nativeStop, message, served } = outcome
  const usage = reportedUsage(outcome, envelope)
  const native = nativeStop ? ([nativeStop] as const) : ([] as const)
  return envelope.stream
    ? ['finish', finishReason, usage, ...native]
    : ['completion', envelope.candidates.indexOf(served), message, finishReason, usage, ...native]
}

/**
 * Usage is delivered where the upstream supplied it; a count of our own is only charged by, but told to extended calls,
 * in native answers and in those of tasks.
 */
function reportedUsage(
  {
    usage,
    usageSource,
    nativeStop,
    served,
    reasoningTokens = 0,
  }: Extract<ChainOutcome, { status: 'completed' }>,
  { extended }: CallEnvelope,
): ReportedUsage | null {
  // Only a task is asked for no completion tokens.
  if (nativeStop || served.completionLimit === 0) return usage
  if (!extended) return usageSource === 'upstream' ? usage : null
  const isWithin =
    usageSource === 'upstream' && reasoningTokens > 0 && reasoningTokens <= usage.completionTokens
  return isWithin ? { ...usage, reasoningTokens } : usage
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
    last: ['error', { ...CALL_ERRORS.brokeOff, code }],
    produced: null,
  }
}

/** A worker that stops in mid-stream fails the call. */
export const stoppedMidStream = (deliveredChars: number): GatewayFailure => ({
  code: CALL_ERRORS.brokeOff.code,
  deliveredChars,
})

/**
 * The end of a call whose worker was lost after its client had seen part of the answer, or after its client left.
 * `attempts` are those of a run that began another answer before it heard of that.
 */
export async function endingOfLost(
  { delivered }: Extract<Takeover, { kind: 'end' }>,
  call: CallWithBody,
  attempts: CallEnd['attempts'] = [],
): Promise<CallEnding> {
  const { ending = { by: 'gateway', code: CALL_ERRORS.brokeOff.code } } = delivered
  // A call with an Idempotency-Key runs on when its client leaves, so it did not end by that.
  const isLeft = ending.by === 'client' && call.envelope.idempotencyRecord === null
  const code = ending.by === 'gateway' ? ending.code : CALL_ERRORS.brokeOff.code
  const end = isLeft ? await endOfLeft(delivered, call) : await endOfFailed(delivered, code, call)
  return { end: { ...end, attempts }, last: ['error', CALL_ERRORS.brokeOff], produced: null }
}

/** How to settle a call that its client left: what is known to have been delivered is what was produced. */
const endOfLeft = (delivered: DeliveredPrefix, call: CallWithBody): Promise<CallEnd> =>
  endOfDelivered(delivered, call, { status: 'cancelled', nothingDelivered: 'cancelled', errorCode: null })

/**
 * How to settle a call that the gateway failed: for what was delivered, and for nothing if that is nothing. With an
 * Idempotency-Key it costs nothing either way, which frees the key: a repeat runs again and is charged in full.
 */
function endOfFailed(delivered: DeliveredPrefix, code: ErrorCode, call: CallWithBody): Promise<CallEnd> {
  const charged = call.envelope.idempotencyRecord === null ? delivered : { ...delivered, text: '' }
  const as = { status: 'interrupted', nothingDelivered: 'failed', errorCode: code } as const
  return endOfDelivered(charged, call, as)
}

async function endOfDelivered(
  delivered: DeliveredPrefix,
  { envelope, body }: CallWithBody,
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

/** A call whose attempts are over. */
export interface ChainEnd {
  call: ChainCall
  relay: CompletionRelay
  history: AttemptHistory
  /** The candidate that the answer came from first. */
  began: Candidate
}

interface OutcomeDependencies {
  board: Pick<BreakerBoard, 'exclude'>
  meter?: AttemptMeter
  logger: Logger
}

/**
 * The call was answered to the end. Where another model than the one it began with took over, the answer keeps the
 * name and the price of that one.
 */
export async function completed(
  { candidate, rescue }: AttemptPlan,
  { reason, usage, native, ranOn, end }: Extract<AttemptOutcome, { kind: 'finished' }>,
  { call, relay, history, began }: ChainEnd,
  deps: OutcomeDependencies,
): Promise<ChainOutcome> {
  const { envelope, body } = call
  relay.open()
  const message = relay.message()
  // The attempt of a rescue did not produce the whole answer.
  const produced = rescue === null ? end.produced : (history.unfinished?.produced ?? NOTHING_PRODUCED)
  const answer: Answer = { ...saidIn(message), finalUsage: usage, produced }
  const isOtherModel = rescue !== null && candidate.modelId !== began.modelId
  const served: ServedCall = { envelope, body, served: candidate, ...(isOtherModel && { charged: began }) }
  const { used, faults } = await countedSomehow(answer, served, deps)
  if (usage !== null) doubtUsage(usage, { used, faults }, served, deps)
  if (ranOn) await doubtLimit(answer, served, deps)
  if (rescue === null && !used.usageClamped && !ranOn && candidate.providerKeyId === undefined) {
    deps.meter?.answer(candidate, history.records.at(-1)!, used.usage.completionTokens)
  }
  // An answer cut at its limit stays as it is: closing its brackets would make it look whole.
  const format = body.parameters.response_format
  const isRepairable = !envelope.stream && !envelope.extended && reason !== 'length' && wantsJson(format)
  if (isRepairable && message.content) message.content = await repairedAnswer(message.content, format)
  return {
    status: 'completed',
    finishReason: reason,
    ...(native && { nativeStop: native }),
    served: isOtherModel ? began : candidate,
    ...(isOtherModel && { rescuedBy: candidate }),
    message: ranOn ? withoutHalfCalls(message) : message,
    ...used,
    ...(rescue === null && { reasoningTokens: end.produced.reasoningTokens }),
    ...timesOf(history),
  }
}

const saidIn = (message: CompletionMessage) => ({
  text: textOf(message),
  showsReasoning: message.reasoning !== undefined,
})

/** No attempt is left that could answer the call. */
export async function gaveUp(
  error: FrameError,
  chain: ChainEnd,
  deps: OutcomeDependencies,
): Promise<ChainOutcome> {
  const { relay, history } = chain
  if (!relay.isDelivered) return { status: 'failed', error, attempts: history.records }
  return { status: 'interrupted', error, ...(await cutOff(chain, deps)), ...timesOf(history) }
}

/**
 * Nobody wants the answer any more. From the status of its provider on, the prompt and what was produced are charged;
 * before that, and between attempts, nothing. Media are never cut off by their client, so what was, costs nothing.
 */
export async function cancelled(chain: ChainEnd, deps: OutcomeDependencies): Promise<ChainOutcome> {
  const { call, relay, history } = chain
  const times = timesOf(history)
  const isMedia = call.body.task !== undefined && isMediaTask(call.body.task)
  if (isMedia || (relay.isEmpty && !history.unfinished?.isAccepted)) {
    return { status: 'cancelled', served: null, message: relay.message(), ...NOTHING_USED, ...times }
  }
  return { status: 'cancelled', ...(await cutOff(chain, deps)), ...times }
}

/**
 * An answer that is given whole was still being produced at its deadline: it ends there as one that reached its limit, with
 * what there is of it.
 */
export async function expired(chain: ChainEnd, deps: OutcomeDependencies): Promise<ChainOutcome> {
  const { call, history } = chain
  const { message, ...answer } = await cutOff(chain, deps)
  const { reasoningTokens } = history.unfinished?.produced ?? NOTHING_PRODUCED
  return {
    status: 'completed',
    finishReason: 'length',
    ...(call.body.native && { nativeStop: NATIVE_AT_LIMIT }),
    ...answer,
    message: withoutHalfCalls(message),
    reasoningTokens,
    ...timesOf(history),
  }
}

/** An answer that did not finish: all that was produced of it, seen or not. */
async function cutOff({ call, relay, history, began }: ChainEnd, deps: OutcomeDependencies) {
  const { envelope, body } = call
  const message = relay.message()
  const { produced = NOTHING_PRODUCED, hidden } = history.unfinished ?? {}
  // Of reasoning that is shown nothing else is taken to have been hidden.
  const mayBeHidden = hidden && message.reasoning === undefined
  const answer = { ...saidIn(message), finalUsage: null, produced, ...(mayBeHidden && { hidden }) }
  const { used } = await countedSomehow(answer, { envelope, body, served: began }, deps)
  return { served: began, message, ...used }
}

async function countedSomehow(
  answer: Answer,
  call: ServedCall,
  { logger }: OutcomeDependencies,
): ReturnType<typeof usageOf> {
  const count = call.body.task ? taskUsage : usageOf
  try {
    return await count(answer, call)
  } catch (error) {
    // What was produced is owed, whatever becomes of our tokenizer.
    logger.error({ err: error, callId: call.envelope.id }, 'tokens estimated by bytes')
    return count(answer, call, ROUGH_COUNTS)
  }
}

const timesOf = ({ records, firstTokenAt }: AttemptHistory) => ({ attempts: records, firstTokenAt })

/** An answer of the longest repairable length takes under a tenth of a second on an idle machine. */
const REPAIR_LIMIT_MS = 250

/** An answer that was asked to be JSON, repaired where it is none and can be; as it came where that takes too long. */
async function repairedAnswer(
  content: string,
  responseFormat: Record<string, unknown> | undefined,
): Promise<string> {
  if (!mayBeRepaired(content)) return content
  const options = { weight: content.length, limitMs: REPAIR_LIMIT_MS }
  const outcome = await threads.run('repairJson', { content, root: jsonRootOf(responseFormat) }, options)
  return outcome.kind === 'done' ? outcome.value : content
}
