import { costOf, type Usage } from '../../core/billing/pricing.ts'
import type { AttemptRecord, CallBody, Candidate } from '../../core/calls/call-job.ts'
import { likelyMedia } from '../../core/calls/prompt-tokens.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import type { PastAttempt } from '../../core/failover/failover-state.ts'
import { countPromptTokens, countTextTokens } from '../../providers/count-tokens.ts'
import type { AttemptOutcome, AttemptPlan } from './attempt.ts'
import { textOf, type UnfinishedAttempt, unfinishedAttempt } from './call-usage.ts'
import type { CompletionRelay } from './completion-relay.ts'

/** An attempt that is over. */
export interface EndedAttempt {
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
export interface BrokenAttempt {
  record: AttemptRecord
  candidate: Candidate
  /** What it said, as far as it is known: a rescue that was given up is compared and not kept. */
  text: string
}

/**
 * Notes in the records of broken attempts what they used and what we pay for that, at the cost rates of now. Tokens
 * are counted here, once the call has ended: the provider seldom says what an answer used that it did not finish.
 */
export async function noteSpent(
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
