import { costOf, type Usage } from '../../core/billing/pricing.ts'
import type { AttemptRecord, CallBody, CallEnvelope, Candidate } from '../../core/calls/call-job.ts'
import type { CompletionMessage, FinishReason } from '../../core/calls/completion.ts'
import type { FrameBody, FrameError } from '../../core/calls/frames.ts'
import { likelyMedia } from '../../core/calls/prompt-tokens.ts'
import { NOTHING_USED } from '../../core/calls/settlement.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import type { PastAttempt } from '../../core/failover/failover.ts'
import { jsonRootOf, mayBeRepaired, wantsJson } from '../../core/json/json-repair.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { threads } from '../../platform/process/thread-pool.ts'
import { countPromptTokens, countTextTokens } from '../../providers/count-tokens.ts'
import { NOTHING_PRODUCED } from '../../providers/provider-clients.ts'
import type { BreakerBoard } from '../../routing/circuit-breaker/breaker-board.ts'
import type { AttemptOutcome, AttemptPlan } from './attempt.ts'
import type { AttemptMeter } from './attempt-report.ts'
import {
  type Answer,
  type CallUsage,
  doubtUsage,
  ROUGH_COUNTS,
  type ServedCall,
  textOf,
  type UnfinishedAttempt,
  unfinishedAttempt,
  usageOf,
} from './call-usage.ts'
import type { CompletionRelay } from './completion-relay.ts'

/** An attempt that is over. */
interface EndedAttempt {
  plan: AttemptPlan
  routeIndex: number
  outcome: AttemptOutcome
  /** Unix milliseconds. */
  startedAt: number
  endedAt: number
}

/** What the attempts of one call left behind: for the next decision, for the call's record and for its price. */
export class AttemptHistory {
  readonly failures: PastAttempt[] = []
  readonly records: AttemptRecord[] = []
  readonly #broken: BrokenAttempt[] = []
  readonly #isStream: boolean
  #firstTokenAt: number | null = null
  #unfinished: UnfinishedAttempt | null = null

  constructor(isStream: boolean) {
    this.#isStream = isStream
  }

  /** When the client had its first token, or the answer that it was given whole its own; Unix milliseconds. */
  get firstTokenAt(): number | null {
    return this.#firstTokenAt
  }

  /** The attempt that did not finish what there is of the answer. */
  get unfinished(): UnfinishedAttempt | null {
    return this.#unfinished
  }

  /** Notes an attempt, before the relay drops what nobody has seen of it. Returns its record. */
  note(attempt: EndedAttempt, relay: CompletionRelay): AttemptRecord {
    const { plan, outcome, routeIndex, endedAt } = attempt
    const record = recordOf(attempt)
    this.records.push(record)
    const { firstTokenAt } = outcome.end
    if (!this.#isStream || this.#firstTokenAt === null) this.#firstTokenAt = firstTokenAt
    if (outcome.kind === 'failed') this.failures.push({ routeIndex, failure: outcome.failure, endedAt })
    if (outcome.kind !== 'finished' && plan.candidate.providerKeyId === undefined && firstTokenAt !== null) {
      const text = plan.rescue === null ? textOf(relay.message()) : ''
      this.#broken.push({ record, candidate: plan.candidate, text })
    }
    if (plan.rescue === null) this.#noteUnfinished(attempt, relay)
    return record
  }

  /**
   * Notes in the records what broken attempts used, once the call is over.
   * @param isCutOff the answer was cut off: what it used is the call's own usage, and its attempt's is left out
   */
  async noteSpent(isCutOff: boolean, body: CallBody, catalog: CatalogSnapshot): Promise<void> {
    const served = isCutOff ? this.#broken.findLast(({ text }) => text !== '') : undefined
    const broken = this.#broken.filter((attempt) => attempt !== served)
    await noteSpent(broken, body, catalog)
  }

  /** Remembers what is known of an answer besides its content, for as long as there may be some of it. */
  #noteUnfinished({ plan, outcome, startedAt, endedAt }: EndedAttempt, relay: CompletionRelay): void {
    const isDropped = outcome.kind === 'finished' || (outcome.kind === 'failed' && !relay.isDelivered)
    this.#unfinished = isDropped ? null : unfinishedAttempt(plan.candidate, outcome.end, startedAt, endedAt)
  }
}

function recordOf({ plan, outcome, startedAt, endedAt }: EndedAttempt): AttemptRecord {
  const { httpStatus, firstTokenAt } = outcome.end
  const { offerId, providerKeyId } = plan.candidate
  return {
    offerId,
    outcome: nameOf(outcome),
    httpStatus,
    startedAt,
    firstTokenMs: firstTokenAt === null ? null : firstTokenAt - startedAt,
    durationMs: endedAt - startedAt,
    ...(providerKeyId !== undefined && { providerKeyId }),
    ...(plan.rescue !== null && outcome.kind === 'finished' && { rescued: true }),
  }
}

function nameOf(outcome: AttemptOutcome): string {
  switch (outcome.kind) {
    case 'finished':
      return 'ok'
    case 'failed':
      return outcome.failure.kind
    case 'cancelled':
      return 'cancelled'
    default:
      return outcome satisfies never
  }
}

/** An attempt on our own key that produced something and did not serve its call. */
interface BrokenAttempt {
  record: AttemptRecord
  candidate: Candidate
  /** What it said, as far as it is known: a rescue that was given up is compared and not kept. */
  text: string
}

/**
 * Notes in the records of broken attempts what they used and what we pay for that, at the cost rates of now. Tokens
 * are counted here, once the call has ended: the provider seldom says what an answer used that it did not finish.
 */
async function noteSpent(
  broken: readonly BrokenAttempt[],
  body: CallBody,
  { offers }: CatalogSnapshot,
): Promise<void> {
  for (const { record, candidate, text } of broken) {
    const cost = offers.get(candidate.offerId)?.cost
    if (!cost) continue
    const counted = await countTextTokens(text)
    const usage: Usage = {
      promptTokens: await countPromptTokens(body, candidate.media),
      ...likelyMedia(candidate.media),
      completionTokens: Math.min(counted, candidate.completionLimit),
    }
    record.spent = { ...usage, costPico: String(costOf(usage, cost)) }
  }
}

/** A claimed call to be answered. */
export interface ChainCall {
  envelope: CallEnvelope
  body: CallBody
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal
  /** Called with a streamed completion as it comes: `open`, then its deltas. Not called for a call that does not stream. */
  send: (frame: FrameBody) => void
}

interface Answered extends CallUsage {
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
async function repairedAnswer(
  content: string,
  responseFormat: Record<string, unknown> | undefined,
): Promise<string> {
  if (!mayBeRepaired(content)) return content
  const options = { weight: content.length, limitMs: REPAIR_LIMIT_MS }
  const outcome = await threads.run('repairJson', { content, root: jsonRootOf(responseFormat) }, options)
  return outcome.kind === 'done' ? outcome.value : content
}
