import type { ProviderKeyVault } from '../src/catalog/provider-key-vault.ts'
import { type HealthEffect, healthEffect } from '../src/core/attempt-failure.ts'
import type { AttemptRecord, CallBody, CallEnvelope, Candidate } from '../src/core/call-job.ts'
import type { CatalogSnapshot } from '../src/core/catalog.ts'
import type { CompletionMessage, FinishReason } from '../src/core/completion.ts'
import {
  type FailoverState,
  giveUpNow,
  nextStep,
  type PastAttempt,
  type RouteHealth,
} from '../src/core/failover.ts'
import type { FrameError } from '../src/core/frames.ts'
import { repairJson, wantsJson } from '../src/core/json-repair.ts'
import { keepsPrivate } from '../src/core/offer-filter.ts'
import type { Logger } from '../src/platform/logger.ts'
import { AnswerRelay, type AnswerSink } from './answer-relay.ts'
import {
  type AttemptOutcome,
  type AttemptPlan,
  type AttemptSettings,
  firstTokenLimitMs,
  runAttempt,
} from './attempt.ts'
import type { AttemptMeter } from './attempt-meter.ts'
import type { BreakerBoard, Probe } from './breaker-board.ts'
import { inAttemptSpan } from './call-spans.ts'
import { type CallUsage, countedUsage, NOTHING_USED, upstreamUsage } from './call-usage.ts'
import { noteReception } from './own-key.ts'
import { pause } from './pause.ts'
import type { ProviderRegistry } from './providers/registry.ts'
import type { RetryBudget } from './retry-budget.ts'

/** A claimed call to be answered. */
export interface ChainCall {
  envelope: CallEnvelope
  body: CallBody
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal
  /** Hears a streamed answer as it comes; hears nothing of a call that is answered whole. */
  sink: AnswerSink
}

interface Answered extends CallUsage {
  /** Of the envelope's candidates. */
  served: Candidate
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

export interface ChainDependencies {
  catalog: () => CatalogSnapshot
  providers: ProviderRegistry
  /** Clients' own keys. Absent: none can be had. */
  ownKeys?: ProviderKeyVault
  board: BreakerBoard
  /** Hears what every attempt took. Absent: nobody measures. */
  meter?: AttemptMeter
  budget: RetryBudget
  settings: AttemptSettings & { attemptsPerCall: number }
  logger: Logger
  /** Unix milliseconds. */
  now: () => number
  /** Uniform in [0, 1). */
  random: () => number
}

/** The failover chain: tries the candidates of a call until one answers, and tells the truth if none does. */
export function createAttemptChain(deps: ChainDependencies): AttemptChain {
  return (call) => new ChainRun(call, deps).run()
}

/** One call on its way through its candidates. */
class ChainRun {
  readonly #call: ChainCall
  readonly #deps: ChainDependencies
  readonly #relay: AnswerRelay
  readonly #failures: PastAttempt[] = []
  readonly #records: AttemptRecord[] = []
  #firstTokenAt: number | null = null
  /** The latest attempt began with text that the client already had. */
  #isRescue = false

  constructor(call: ChainCall, deps: ChainDependencies) {
    this.#call = call
    this.#deps = deps
    this.#relay = new AnswerRelay(call.envelope.stream ? call.sink : null)
  }

  async run(): Promise<ChainOutcome> {
    const { signal } = this.#call
    const { board, budget } = this.#deps
    budget.countCall()
    while (!signal.aborted) {
      const catalog = this.#deps.catalog()
      const state = this.#state(catalog)
      const step = nextStep(state)
      if (step.kind === 'give-up') return this.#gaveUp(step.error)
      if (this.#isRetry() && !(await budget.ask())) return this.#gaveUp(giveUpNow(state))
      if (step.afterMs > 0) await pause(step.afterMs, signal)

      const candidate = this.#candidate(step.routeIndex)
      const health = this.#health(candidate, catalog)
      // What opened its breaker meanwhile, or lost the race for the probe, is decided upon anew.
      if (health.kind === 'down') continue
      const plan = { candidate, offer: catalog.offers.get(candidate.offerId)!, lastChance: step.lastChance }
      const patienceMs = firstTokenLimitMs(plan, this.#deps.settings)
      const probe = health.kind === 'probe' ? await board.claimProbe(candidate.offerId, patienceMs) : null
      if (health.kind === 'probe' && probe === null) continue

      const outcome = await this.#attempt(plan, step.routeIndex, probe)
      if (outcome.kind === 'finished') return this.#completed(candidate, outcome)
      if (outcome.kind === 'cancelled') break
    }
    return this.#cancelled()
  }

  #state(catalog: CatalogSnapshot): FailoverState {
    const { envelope } = this.#call
    const { now, random, settings } = this.#deps
    return {
      routes: envelope.candidates.map((candidate) => ({
        modelId: candidate.modelId,
        contextLength: candidate.contextLength,
        providerKeyId: candidate.providerKeyId,
        health: this.#health(candidate, catalog),
      })),
      attempts: this.#failures,
      relayed: this.#relayed(),
      // A client that lists more models than there are attempts still gets one at each.
      maxAttempts: Math.max(settings.attemptsPerCall, modelsOf(envelope)),
      nowMs: now(),
      deadlineMs: envelope.callDeadlineAt,
      random,
    }
  }

  /** The budget guards providers from us: what failed on the client's own keys alone has cost it nothing yet. */
  #isRetry(): boolean {
    return this.#failures.some(({ routeIndex }) => this.#candidate(routeIndex).providerKeyId === undefined)
  }

  /** How an offer fares with our key says nothing of another key's standing there. */
  #health({ offerId, providerKeyId, privacy }: Candidate, catalog: CatalogSnapshot): RouteHealth {
    const offer = catalog.offers.get(offerId)
    if (!offer || (privacy && !keepsPrivate(offer.provider, privacy))) return { kind: 'gone' }
    return providerKeyId === undefined ? this.#deps.board.health(offerId) : { kind: 'ready' }
  }

  #relayed(): FailoverState['relayed'] {
    if (!this.#relay.isShown) return { kind: 'nothing' }
    if (!this.#relay.isTextOnly) return { kind: 'more' }
    return { kind: 'text', modelId: this.#candidate(this.#relay.candidate).modelId }
  }

  async #attempt(plan: AttemptPlan, routeIndex: number, probe: Probe | null): Promise<AttemptOutcome> {
    const { board, now } = this.#deps
    const { offerId, providerKeyId } = plan.candidate
    // A probe is proven by an answer that goes on, however long it takes to end.
    const heard: AttemptPlan = probe
      ? { ...plan, onFirstContent: () => board.probeAnswers(offerId, probe) }
      : plan
    this.#isRescue = this.#relay.isShown
    const startedAt = now()
    let outcome: AttemptOutcome
    try {
      outcome = await inAttemptSpan(plan, this.#call.body.parameters, () =>
        runAttempt(heard, routeIndex, this.#call, this.#relay, this.#deps),
      )
    } catch (error) {
      board.report(offerId, { kind: 'none' }, probe)
      throw error
    }
    const { end } = outcome
    const endedAt = now()
    if (!this.#call.envelope.stream || this.#firstTokenAt === null) this.#firstTokenAt = end.firstTokenAt
    const record: AttemptRecord = {
      offerId,
      outcome:
        outcome.kind === 'failed' ? outcome.failure.kind : outcome.kind === 'finished' ? 'ok' : 'cancelled',
      httpStatus: end.httpStatus,
      startedAt,
      firstTokenMs: end.firstTokenAt === null ? null : end.firstTokenAt - startedAt,
      durationMs: endedAt - startedAt,
      ...(providerKeyId !== undefined && { providerKeyId }),
    }
    this.#records.push(record)
    if (outcome.kind === 'failed') {
      this.#failures.push({ routeIndex, failure: outcome.failure, endedAt })
      this.#relay.discardUnseen()
    }
    this.#report(plan, record, outcome, probe)
    this.#log(plan.candidate, outcome)
    return outcome
  }

  /** What an attempt on the client's own key shows is about that key: shared health and measures never hear of it. */
  #report(plan: AttemptPlan, record: AttemptRecord, outcome: AttemptOutcome, probe: Probe | null): void {
    const { board, meter, ownKeys } = this.#deps
    const { offerId, providerKeyId } = plan.candidate
    if (providerKeyId !== undefined) {
      if (ownKeys) noteReception(providerKeyId, outcome, ownKeys)
      return
    }
    const effect = effectOf(outcome)
    board.report(offerId, effect, probe)
    meter?.attempt(plan, record, effect)
  }

  async #completed(
    served: Candidate,
    { reason, usage }: Extract<AttemptOutcome, { kind: 'finished' }>,
  ): Promise<ChainOutcome> {
    const { envelope, body } = this.#call
    this.#relay.open()
    const message = this.#relay.message()
    const used = usage
      ? upstreamUsage(usage, envelope, served)
      : await countedUsage(message, body, envelope, served)
    if (!this.#isRescue && !used.usageClamped && served.providerKeyId === undefined) {
      this.#deps.meter?.answer(served, this.#records.at(-1)!, used.usage.completionTokens)
    }
    if (used.usageClamped) {
      this.#deps.logger.error(
        { alarm: 'usage-clamped', ...this.#names(served.offerId), claimed: usage, charged: used.usage },
        'a provider reported a usage that cannot be',
      )
    }
    // An answer cut at its limit stays as it is: closing its brackets would make it look whole.
    const isRepairable = !envelope.stream && reason !== 'length' && wantsJson(body.parameters.response_format)
    if (isRepairable && message.content) message.content = repairJson(message.content)
    return { status: 'completed', finishReason: reason, served, message, ...used, ...this.#history() }
  }

  async #gaveUp(error: FrameError): Promise<ChainOutcome> {
    const { attempts, firstTokenAt } = this.#history()
    if (!this.#relay.isShown) return { status: 'failed', error, attempts }
    return { status: 'interrupted', error, ...(await this.#delivered()), attempts, firstTokenAt }
  }

  async #cancelled(): Promise<ChainOutcome> {
    if (!this.#relay.isEmpty) return { status: 'cancelled', ...(await this.#delivered()), ...this.#history() }
    const message = this.#relay.message()
    return { status: 'cancelled', served: null, message, ...NOTHING_USED, ...this.#history() }
  }

  /** An answer that did not finish, charged by our own count of what there is of it. */
  async #delivered() {
    const { envelope, body } = this.#call
    const served = this.#candidate(this.#relay.candidate)
    const message = this.#relay.message()
    return { served, message, ...(await countedUsage(message, body, envelope, served)) }
  }

  #history() {
    return { attempts: this.#records, firstTokenAt: this.#firstTokenAt }
  }

  #candidate(index: number): Candidate {
    const candidate = this.#call.envelope.candidates[index]
    if (!candidate) throw new Error(`the plan of ${this.#call.envelope.id} has no candidate ${index}`)
    return candidate
  }

  #names(offerId: string) {
    const { id, requestId } = this.#call.envelope
    return { callId: id, requestId, offerId }
  }

  #log({ offerId, providerKeyId }: Candidate, outcome: AttemptOutcome): void {
    const { logger } = this.#deps
    if (outcome.end.malformedEvents > 0) {
      const { malformedEvents } = outcome.end
      logger.warn(
        { ...this.#names(offerId), malformedEvents },
        'events of a stream were unreadable and skipped',
      )
    }
    if (outcome.kind !== 'failed') return
    const { kind, httpStatus, internal } = outcome.failure
    const about = { ...this.#names(offerId), kind, httpStatus }
    if (providerKeyId !== undefined) {
      // Nothing that the provider said: it may repeat the client's key.
      logger.info({ ...about, providerKeyId }, "an attempt on a client's own key failed")
      return
    }
    // Of a provider that refuses us the breaker board raises the alarm, once.
    logger.warn({ ...about, internal }, 'an attempt failed')
  }
}

/** What an attempt says of the health of its offer; nothing, when nobody waited for its end. */
function effectOf(outcome: AttemptOutcome): HealthEffect {
  switch (outcome.kind) {
    case 'finished':
      return { kind: 'success' }
    case 'failed':
      return healthEffect(outcome.failure)
    case 'cancelled':
      return { kind: 'none' }
    default:
      return outcome satisfies never
  }
}

const modelsOf = ({ candidates }: CallEnvelope): number =>
  new Set(candidates.map(({ modelId }) => modelId)).size
