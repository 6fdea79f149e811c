import type { AttemptRecord, CallBody } from '../../core/calls/call-job.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import type { PastAttempt } from '../../core/failover/failover-state.ts'
import type { AnswerRelay } from './answer-relay.ts'
import type { AttemptOutcome, AttemptPlan } from './attempt-plan.ts'
import { type BrokenAttempt, noteSpent } from './broken-attempts.ts'
import { textOf } from './call-usage.ts'
import { type UnfinishedAttempt, unfinishedAttempt } from './hidden-reasoning.ts'

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
  note(attempt: EndedAttempt, relay: AnswerRelay): AttemptRecord {
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
  #noteUnfinished({ plan, outcome, startedAt, endedAt }: EndedAttempt, relay: AnswerRelay): void {
    const isDropped = outcome.kind === 'finished' || (outcome.kind === 'failed' && !relay.isShown)
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
