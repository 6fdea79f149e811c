import { type FinishedAttempt, NOTHING_PRODUCED } from '../../../core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../core/calls/call-job.ts'
import { type CallOutcome, failedCall, NOTHING_USED } from '../../../core/calls/call-outcome.ts'
import type { CompletionMessage } from '../../../core/calls/completion.ts'
import { withoutHalfCalls } from '../../../core/calls/cut-completion.ts'
import type { FrameError } from '../../../core/calls/frames.ts'
import { type CallContent, kindOf, parametersOf } from '../../../core/calls/kinds/call-kinds.ts'
import { providerOfOffer } from '../../../core/failover/circuit-breaker.ts'
import { jsonRootOf, mayBeRepaired, wantsJson } from '../../../core/json/json-repair.ts'
import { oncePer } from '../../../core/kernel/once-per.ts'
import type { BreakerBoard } from '../../../offer-health/circuit-breaker/breaker-board.ts'
import type { Logger } from '../../../platform/observability/logger.ts'
import { threads } from '../../../platform/process/thread-pool.ts'
import type { RunningCall } from '../running-calls.ts'
import type { AttemptHistory } from './attempt-history.ts'
import type { AttemptMeter } from './attempt-meter.ts'
import type { AttemptPlan } from './attempt-plan.ts'
import {
  type Answer,
  checkLimit,
  checkUsage,
  ROUGH_COUNTS,
  type ServedCall,
  textOf,
  usageOf,
} from './call-usage.ts'
import type { CompletionRelay } from './completion-relay.ts'

/** The context of a call whose attempts are over. */
export interface ChainContext {
  call: RunningCall<CallContent>
  relay: CompletionRelay
  history: AttemptHistory
  /** The candidate that the first content came from. */
  began: Candidate
}

interface OutcomeDependencies {
  board: Pick<BreakerBoard, 'learn' | 'exclude'>
  meter: AttemptMeter
  logger: Logger
}

/**
 * The call completed. If another model took over, the completion keeps the name and the price of the one that started
 * it.
 */
export async function completed(
  { candidate, rescue }: AttemptPlan,
  { reason, usage, nativeStop, ranOn, unknownFinish, produced: reported }: FinishedAttempt,
  { call, relay, history, began }: ChainContext,
  deps: OutcomeDependencies,
): Promise<CallOutcome> {
  const { envelope, content } = call
  relay.open()
  const message = relay.message()
  // The attempt of a rescue did not produce the whole completion.
  const produced = rescue === null ? reported : (history.unfinished?.produced ?? NOTHING_PRODUCED)
  const answer: Answer = { ...saidIn(message), finalUsage: usage, produced }
  const isOtherModel = rescue !== null && candidate.modelId !== began.modelId
  const served: ServedCall = { envelope, content, served: candidate, ...(isOtherModel && { charged: began }) }
  const { used, faults } = await countedOrEstimated(answer, served, deps)
  if (usage !== null) await checkUsage(usage, { used, faults }, served, deps)
  if (ranOn) await checkLimit(answer, served, deps)
  if (unknownFinish !== undefined) alertUnknownFinish(unknownFinish, served, deps.logger)
  if (rescue === null && !used.usageClamped && !ranOn && candidate.providerKeyId === undefined) {
    deps.meter.answer(candidate, history.records.at(-1)!, used.usage)
  }
  // A completion cut at its limit is not repaired: closing its brackets would make it look complete.
  const format = parametersOf(content).response_format
  const isRepairable = !envelope.stream && !envelope.extended && reason !== 'length' && wantsJson(format)
  if (isRepairable && message.content) message.content = await repairedContent(message.content, format)
  return {
    status: 'completed',
    finishReason: reason,
    ...(nativeStop && { nativeStop }),
    served: isOtherModel ? began : candidate,
    ...(isOtherModel && { rescuedBy: candidate }),
    ...(produced.tier !== undefined && { tier: produced.tier }),
    message: ranOn ? withoutHalfCalls(message) : message,
    ...used,
    ...(rescue === null && { reasoningTokens: reported.reasoningTokens }),
    ...timesOf(history),
  }
}

const loggedWords = oncePer((_logger: Logger) => new Set<string>())
const LOGGED_WORDS_MAX = 1_000

/** Alerts operators to a finish reason that no table has: once a word and provider, because each call may have it. */
function alertUnknownFinish(reason: string, { envelope, served }: ServedCall, logger: Logger): void {
  const logged = loggedWords(logger)
  const providerId = providerOfOffer(served.offerId)
  const subject = `${providerId} ${reason}`
  if (logged.has(subject) || logged.size >= LOGGED_WORDS_MAX) return
  logged.add(subject)
  const { id: callId, requestId } = envelope
  logger.error(
    {
      alarm: 'finish-reason-unknown',
      subject,
      callId,
      requestId,
      offerId: served.offerId,
      providerId,
      reason,
    },
    'unknown finish reason, completion taken as whole',
  )
}

const saidIn = (message: CompletionMessage) => ({
  text: textOf(message),
  showsReasoning: message.reasoning !== undefined,
})

/** No attempt is left that could serve the call. */
export async function gaveUp(
  error: FrameError,
  chain: ChainContext,
  deps: OutcomeDependencies,
): Promise<CallOutcome> {
  const { relay, history } = chain
  if (!relay.isDelivered) return failedCall(error, { attempts: history.records, firstTokenAt: null })
  return { status: 'interrupted', error, ...(await cutOff(chain, deps)), ...timesOf(history) }
}

/**
 * The response is no longer wanted. After the provider's status, the prompt and the produced output are charged; before
 * that, and between attempts, nothing. A client cannot cut off media, so cancelled media cost nothing.
 */
export async function cancelled(chain: ChainContext, deps: OutcomeDependencies): Promise<CallOutcome> {
  const { call, relay, history } = chain
  const times = timesOf(history)
  if (kindOf(call.content).outlivesClient || (relay.isEmpty && !history.unfinished?.isAccepted)) {
    return { status: 'cancelled', served: null, message: relay.message(), ...NOTHING_USED, ...times }
  }
  return { status: 'cancelled', ...(await cutOff(chain, deps)), ...times }
}

/**
 * A completion that is returned as a whole was still being produced at its deadline: it ends there as if it had reached
 * its limit, with the output so far.
 */
export async function expired(chain: ChainContext, deps: OutcomeDependencies): Promise<CallOutcome> {
  const { call, history } = chain
  const { message, ...answer } = await cutOff(chain, deps)
  const { reasoningTokens } = history.unfinished?.produced ?? NOTHING_PRODUCED
  const { stopAtLimit: nativeStop } = kindOf(call.content)
  return {
    status: 'completed',
    finishReason: 'length',
    ...(nativeStop && { nativeStop }),
    ...answer,
    message: withoutHalfCalls(message),
    reasoningTokens,
    ...timesOf(history),
  }
}

/** An unfinished completion: everything that was produced, delivered or not. */
async function cutOff({ call, relay, history, began }: ChainContext, deps: OutcomeDependencies) {
  const { envelope, content } = call
  const message = relay.message()
  const { produced = NOTHING_PRODUCED, hidden } = history.unfinished ?? {}
  // If reasoning is shown, no further hidden reasoning is assumed.
  const mayBeHidden = hidden && message.reasoning === undefined
  const answer = { ...saidIn(message), finalUsage: null, produced, ...(mayBeHidden && { hidden }) }
  const { used } = await countedOrEstimated(answer, { envelope, content, served: began }, deps)
  return { served: began, message, ...(produced.tier !== undefined && { tier: produced.tier }), ...used }
}

async function countedOrEstimated(
  answer: Answer,
  call: ServedCall,
  { logger }: OutcomeDependencies,
): ReturnType<typeof usageOf> {
  try {
    return await usageOf(answer, call)
  } catch (error) {
    // Output is charged even if our tokenizer fails.
    logger.error({ err: error, callId: call.envelope.id }, 'tokens estimated by bytes')
    return usageOf(answer, call, ROUGH_COUNTS)
  }
}

const timesOf = ({ records, firstTokenAt }: AttemptHistory) => ({ attempts: records, firstTokenAt })

/** Repairing the longest repairable completion takes under a tenth of a second on an idle machine. */
const REPAIR_LIMIT_MS = 250

/** A completion that should be JSON, repaired if it is invalid; unchanged if that takes too long. */
async function repairedContent(
  content: string,
  responseFormat: Record<string, unknown> | undefined,
): Promise<string> {
  if (!mayBeRepaired(content)) return content
  const options = { weight: content.length, limitMs: REPAIR_LIMIT_MS }
  const outcome = await threads.run('repairJson', { content, root: jsonRootOf(responseFormat) }, options)
  return outcome.kind === 'done' ? outcome.value : content
}
