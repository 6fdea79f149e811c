import type { ByokKeyVault } from '../../../byok/byok-key-vault.ts'
import { costOf } from '../../../core/billing/pricing.ts'
import { ratesAt, servedPercent } from '../../../core/billing/service-tier.ts'
import { type AttemptOutcome, outcomeName, reportedUsage } from '../../../core/calls/attempt-outcome.ts'
import type { AttemptRecord, CallEnvelope, Candidate } from '../../../core/calls/call-job.ts'
import { laneOf } from '../../../core/calls/fair-queue.ts'
import type { CallContent } from '../../../core/calls/kinds/call-kinds.ts'
import type { Usage } from '../../../core/calls/usage.ts'
import type { CatalogSnapshot } from '../../../core/catalog/catalog.ts'
import type { FailureKind } from '../../../core/failover/attempt-failure.ts'
import { type HealthEffect, healthEffect } from '../../../core/failover/circuit-breaker.ts'
import type { PastAttempt } from '../../../core/failover/failover-state.ts'
import { effectBesideKeys, type KeyEffect, keyEffect } from '../../../core/failover/key-health.ts'
import type { BreakerBoard, Probe } from '../../../offer-health/circuit-breaker/breaker-board.ts'
import { hasLimits } from '../../../offer-health/key-usage.ts'
import type { Logger } from '../../../platform/observability/logger.ts'
import { noteReception } from './attempt-key.ts'
import type { AttemptMeter } from './attempt-meter.ts'
import type { AttemptPlan } from './attempt-plan.ts'
import type { KeyPools } from './call-keys.ts'
import { isSuccess, textOf, type UnfinishedAttempt, unfinishedAttempt, usageOf } from './call-usage.ts'
import type { CompletionRelay } from './completion-relay.ts'

/** A finished attempt. */
interface EndedAttempt {
  plan: AttemptPlan
  routeIndex: number
  outcome: AttemptOutcome
  /** Unix milliseconds. */
  startedAt: number
  endedAt: number
}

/** The attempts of one call: for the next decision, for the call's record and for its price. */
export class AttemptHistory {
  readonly failures: PastAttempt[] = []
  readonly records: AttemptRecord[] = []
  readonly #billed: BilledAttempt[] = []
  readonly #isStream: boolean
  #firstTokenAt: number | null = null
  #unfinished: (UnfinishedAttempt & { record: AttemptRecord }) | null = null

  constructor(isStream: boolean) {
    this.#isStream = isStream
  }

  /**
   * When the client received its first token or, for a complete response, when its first token was generated; unix
   * milliseconds.
   */
  get firstTokenAt(): number | null {
    return this.#firstTokenAt
  }

  /** The attempt that left the completion unfinished. */
  get unfinished(): UnfinishedAttempt | null {
    return this.#unfinished
  }

  /** Records an attempt, before the relay drops its undelivered content. Returns its record. */
  note(attempt: EndedAttempt, relay: CompletionRelay): AttemptRecord {
    const { plan, outcome, routeIndex, startedAt, endedAt } = attempt
    const record = recordOf(attempt)
    this.records.push(record)
    const { firstTokenAt } = outcome
    if (!this.#isStream || this.#firstTokenAt === null) this.#firstTokenAt = firstTokenAt
    if (outcome.kind === 'failed') this.failures.push({ routeIndex, failure: outcome.failure, endedAt })
    if (outcome.kind === 'finished') {
      if (plan.rescue === null) this.#unfinished = null
      return record
    }
    const work = unfinishedAttempt(plan.candidate, outcome, startedAt, endedAt)
    const isOurs = plan.candidate.providerKeyId === undefined
    // What was produced by the deadline is the call's own usage.
    if (isOurs && outcome.kind !== 'expired' && isBilled(outcome)) {
      const text = plan.rescue === null ? textOf(relay.message()) : ''
      this.#billed.push({ record, candidate: plan.candidate, text, work })
    }
    if (plan.rescue === null) {
      // The work on a completion is kept as long as part of the completion may be.
      const isDropped = outcome.kind === 'failed' && !relay.isDelivered
      this.#unfinished = isDropped ? null : { ...work, record }
    }
    return record
  }

  /**
   * Adds the usage that no client pays to the records of the attempts, once the call is over.
   * @param isCharged the call is charged for a completion that was cut off, so the client pays for its attempt
   */
  async noteSpent(
    isCharged: boolean,
    call: { envelope: CallEnvelope; content: CallContent },
    catalog: CatalogSnapshot,
  ): Promise<void> {
    const charged = isCharged ? this.#unfinished?.record : undefined
    const uncharged = this.#billed.filter(({ record }) => record !== charged)
    await noteSpent(uncharged, call, catalog)
  }
}

function recordOf({ plan, outcome, startedAt, endedAt }: EndedAttempt): AttemptRecord {
  const { httpStatus, firstTokenAt } = outcome
  const { offerId, providerKeyId } = plan.candidate
  return {
    offerId,
    outcome: outcomeName(outcome),
    httpStatus,
    startedAt,
    firstTokenMs: firstTokenAt === null ? null : firstTokenAt - startedAt,
    durationMs: endedAt - startedAt,
    ...(providerKeyId !== undefined && { providerKeyId }),
    ...(providerKeyId === undefined && plan.poolKey && { platformKeyId: plan.poolKey.id }),
    ...(plan.rescue !== null && outcome.kind === 'finished' && { rescued: true }),
    ...(outcome.kind === 'failed' &&
      outcome.failure.providerMessage !== null && { providerMessage: outcome.failure.providerMessage }),
  }
}

export interface ReportDependencies {
  board: Pick<BreakerBoard, 'report'>
  /** Absent: no provider has several keys. */
  keys?: KeyPools | undefined
  /** Receives the durations of all attempts. */
  meter: AttemptMeter
  byokKeys: Pick<ByokKeyVault, 'open' | 'note'>
  logger: Logger
}

/**
 * Reports the result of an attempt to health and measurements, and logs failures. The result of an attempt on the
 * client's BYOK key concerns that key only and is not reported to the shared health and measurements; one of the tier
 * `flex`, which providers slow down and refuse by themselves, says nothing about either.
 */
export function reportAttempt(
  plan: AttemptPlan,
  outcome: AttemptOutcome,
  record: AttemptRecord,
  probe: Probe | null,
  envelope: Pick<CallEnvelope, 'id' | 'requestId' | 'accountId'>,
  { board, keys, meter, byokKeys, logger }: ReportDependencies,
): void {
  const { offerId, providerKeyId } = plan.candidate
  const isFlex = laneOf([plan.candidate]) === 'flex'
  if (plan.poolKey && keys) {
    const keyEffect: KeyEffect = isFlex ? { kind: 'none' } : keyEffectOf(outcome)
    keys.board.report(offerId, plan.poolKey.id, keyEffect, providerKeyId === undefined)
    const usage = hasLimits(plan.poolKey) && reportedUsage(outcome)
    if (usage) {
      const costPico = Number(costOf(usage, plan.offer.cost))
      keys.board.spend(offerId, plan.poolKey, {
        tokens: usage.promptTokens + usage.completionTokens,
        costPico,
      })
    }
  }
  if (providerKeyId === undefined) {
    const effect: HealthEffect = isFlex ? { kind: 'none' } : effectOf(outcome, plan)
    board.report(offerId, effect, probe, envelope.accountId)
    meter.attempt(plan, record, effect)
  } else {
    noteReception(providerKeyId, outcome, byokKeys)
  }
  logAttempt(plan, outcome, envelope, logger)
}

/** The effect of an attempt on the health of its offer; none if its end was not awaited. */
function effectOf(outcome: AttemptOutcome, { keyBackMs }: AttemptPlan): HealthEffect {
  switch (outcome.kind) {
    case 'finished':
      return { kind: 'success' }
    case 'failed': {
      const effect = healthEffect(outcome.failure)
      return keyBackMs ? effectBesideKeys(effect, outcome.failure, keyBackMs()) : effect
    }
    case 'expired':
    case 'cancelled':
      return { kind: 'none' }
    default:
      return outcome satisfies never
  }
}

/** What an attempt showed of its key. */
const keyEffectOf = (outcome: AttemptOutcome): KeyEffect => {
  if (outcome.kind === 'failed') return keyEffect(outcome.failure)
  return outcome.kind === 'finished' ? { kind: 'accepted' } : { kind: 'none' }
}

function logAttempt(
  { candidate: { offerId, providerKeyId } }: AttemptPlan,
  outcome: AttemptOutcome,
  { id, requestId }: Pick<CallEnvelope, 'id' | 'requestId'>,
  logger: Logger,
): void {
  const names = { callId: id, requestId, offerId }
  const { malformedEvents } = outcome
  if (malformedEvents > 0) {
    logger.warn({ ...names, malformedEvents }, 'unreadable stream events skipped')
  }
  if (outcome.kind !== 'failed') return
  const { kind, httpStatus, internal, providerMessage } = outcome.failure
  const why = { kind, httpStatus, ...(providerMessage !== null && { providerMessage }) }
  if (providerKeyId !== undefined) {
    logger.info({ ...names, ...why, providerKeyId }, 'attempt on a BYOK key failed')
    return
  }
  // The breaker board raises the alarm for a provider that refuses us, once.
  logger.warn({ ...names, ...why, internal }, 'attempt failed')
}

/** An attempt with a platform key that its provider bills and that did not serve its call. */
interface BilledAttempt {
  record: AttemptRecord
  candidate: Candidate
  /** Its output, if it is known: a failed rescue is compared and not kept. */
  text: string
  work: UnfinishedAttempt
}

/** Failures of a provider that has received the prompt and worked on it. */
const WORKED_ON: ReadonlySet<FailureKind> = new Set([
  'silent',
  'stalled',
  'call-timeout',
  'empty-answer',
  'not-stored',
  'account-full',
])

/**
 * Whether the provider probably bills an attempt that did not serve its call: content arrived, or the provider had the
 * request when the attempt was ended. It does not bill refusals and failures before any content.
 */
function isBilled(outcome: Extract<AttemptOutcome, { kind: 'failed' | 'cancelled' }>): boolean {
  const { firstTokenAt, httpStatus } = outcome
  if (firstTokenAt !== null) return true
  if (httpStatus !== null && !isSuccess(httpStatus)) return false
  return outcome.kind !== 'failed' || WORKED_ON.has(outcome.failure.kind)
}

/**
 * Adds the usage that no client pays, and our cost, to the records of attempts, at the current cost rates. Tokens are
 * counted here, after the end of the call, because providers seldom report the usage of an unfinished completion.
 */
async function noteSpent(
  attempts: readonly BilledAttempt[],
  call: { envelope: CallEnvelope; content: CallContent },
  { offers }: CatalogSnapshot,
): Promise<void> {
  for (const { record, candidate, text, work } of attempts) {
    const cost = offers.get(candidate.offerId)?.cost
    if (!cost) continue
    const answer = {
      text,
      finalUsage: null,
      produced: work.produced,
      ...(work.hidden && { hidden: work.hidden }),
    }
    const usage: Usage = (await usageOf(answer, { ...call, served: candidate })).used.usage
    const billed = ratesAt(cost, servedPercent(candidate, work.produced.tier))
    record.spent = { ...usage, costPico: String(costOf(usage, billed)) }
  }
}
