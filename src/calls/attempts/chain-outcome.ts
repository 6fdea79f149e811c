import type { AttemptRecord, CallBody, CallEnvelope, Candidate } from '../../core/calls/call-job.ts'
import type { CompletionMessage, FinishReason } from '../../core/calls/completion.ts'
import type { FrameBody, FrameError } from '../../core/calls/frames.ts'
import { NOTHING_USED } from '../../core/calls/settlement.ts'
import { jsonRootOf, mayBeRepaired, wantsJson } from '../../core/json/json-repair.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { threads } from '../../platform/process/thread-pool.ts'
import { NOTHING_PRODUCED } from '../../providers/provider.ts'
import type { BreakerBoard } from '../../routing/circuit-breaker/breaker-board.ts'
import type { AttemptOutcome, AttemptPlan } from './attempt.ts'
import type { AttemptHistory } from './attempt-history.ts'
import type { AttemptMeter } from './attempt-report.ts'
import type { CallUsage } from './call-usage.ts'
import { type Answer, doubtUsage, ROUGH_COUNTS, type ServedCall, textOf, usageOf } from './call-usage.ts'
import type { CompletionRelay } from './completion-relay.ts'

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

/** A call whose attempts are over. */
export interface ChainEnd {
  call: ChainCall
  relay: CompletionRelay
  history: AttemptHistory
  /** The candidate that the answer came from first. */
  began: Candidate
}

export interface OutcomeDependencies {
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
  { reason, usage, end }: Extract<AttemptOutcome, { kind: 'finished' }>,
  { call, relay, history, began }: ChainEnd,
  deps: OutcomeDependencies,
): Promise<ChainOutcome> {
  const { envelope, body } = call
  relay.open()
  const message = relay.message()
  // The attempt of a rescue did not produce the whole answer.
  const produced = rescue === null ? end.produced : (history.unfinished?.produced ?? NOTHING_PRODUCED)
  const answer: Answer = { text: textOf(message), finalUsage: usage, produced }
  const isOtherModel = rescue !== null && candidate.modelId !== began.modelId
  const served: ServedCall = { envelope, body, served: candidate, ...(isOtherModel && { charged: began }) }
  const { used, faults } = await countedSomehow(answer, served, deps)
  if (usage !== null) doubtUsage(usage, { used, faults }, served, deps)
  if (rescue === null && !used.usageClamped && candidate.providerKeyId === undefined) {
    deps.meter?.answer(candidate, history.records.at(-1)!, used.usage.completionTokens)
  }
  // An answer cut at its limit stays as it is: closing its brackets would make it look whole.
  const format = body.parameters.response_format
  const isRepairable = !envelope.stream && reason !== 'length' && wantsJson(format)
  if (isRepairable && message.content) message.content = await repairedAnswer(message.content, format)
  return {
    status: 'completed',
    finishReason: reason,
    served: isOtherModel ? began : candidate,
    ...(isOtherModel && { rescuedBy: candidate }),
    message,
    ...used,
    ...timesOf(history),
  }
}

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

/** Nobody wants the answer any more. */
export async function cancelled(chain: ChainEnd, deps: OutcomeDependencies): Promise<ChainOutcome> {
  const { relay, history } = chain
  const times = timesOf(history)
  if (relay.isEmpty && history.unfinished === null) {
    return { status: 'cancelled', served: null, message: relay.message(), ...NOTHING_USED, ...times }
  }
  const answer = await cutOff(chain, deps)
  if (answer.usage.completionTokens > 0) return { status: 'cancelled', ...answer, ...times }
  return { status: 'cancelled', ...answer, ...NOTHING_USED, served: null, ...times }
}

/** An answer that did not finish: all that was produced of it, seen or not. */
async function cutOff({ call, relay, history, began }: ChainEnd, deps: OutcomeDependencies) {
  const { envelope, body } = call
  const message = relay.message()
  const { produced = NOTHING_PRODUCED, hidden } = history.unfinished ?? {}
  const answer = { text: textOf(message), finalUsage: null, produced, ...(hidden && { hidden }) }
  const { used } = await countedSomehow(answer, { envelope, body, served: began }, deps)
  return { served: began, message, ...used }
}

async function countedSomehow(
  answer: Answer,
  call: ServedCall,
  { logger }: OutcomeDependencies,
): ReturnType<typeof usageOf> {
  try {
    return await usageOf(answer, call)
  } catch (error) {
    // What was produced is owed, whatever becomes of our tokenizer.
    logger.error({ err: error, callId: call.envelope.id }, 'tokens estimated by bytes')
    return usageOf(answer, call, ROUGH_COUNTS)
  }
}

const timesOf = ({ records, firstTokenAt }: AttemptHistory) => ({ attempts: records, firstTokenAt })

/** An answer of the longest repairable length takes under a tenth of a second on an idle machine. */
const REPAIR_LIMIT_MS = 250

/** An answer that was asked to be JSON, repaired where it is none and can be; as it came where that takes too long. */
export async function repairedAnswer(
  content: string,
  responseFormat: Record<string, unknown> | undefined,
): Promise<string> {
  if (!mayBeRepaired(content)) return content
  const options = { weight: content.length, limitMs: REPAIR_LIMIT_MS }
  const outcome = await threads.run('repairJson', { content, root: jsonRootOf(responseFormat) }, options)
  return outcome.kind === 'done' ? outcome.value : content
}
