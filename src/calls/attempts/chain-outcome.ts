import type { Candidate } from '../../core/calls/call-job.ts'
import type { FrameError } from '../../core/calls/frames.ts'
import { NOTHING_USED } from '../../core/calls/settlement.ts'
import { wantsJson } from '../../core/json/json-repair.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { NOTHING_PRODUCED } from '../../providers/provider.ts'
import type { BreakerBoard } from '../../routing/breaker-board.ts'
import type { AnswerRelay } from './answer-relay.ts'
import type { AttemptHistory } from './attempt-history.ts'
import type { AttemptMeter } from './attempt-meter.ts'
import type { AttemptOutcome, AttemptPlan } from './attempt-plan.ts'
import { type Answer, ROUGH_COUNTS, type ServedCall, textOf, usageOf } from './call-usage.ts'
import type { ChainCall, ChainOutcome } from './chain-call.ts'
import { repairedAnswer } from './repaired-answer.ts'
import { doubtUsage } from './usage-alarms.ts'

/** A call whose attempts are over. */
export interface ChainEnd {
  call: ChainCall
  relay: AnswerRelay
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
  if (!relay.isShown) return { status: 'failed', error, attempts: history.records }
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
