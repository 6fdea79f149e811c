import { setTimeout as delay } from 'node:timers/promises'
import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import type { CallEnvelope, Candidate } from '../../../core/calls/call-job.ts'
import type { CallOutcome } from '../../../core/calls/call-outcome.ts'
import type { CallContent } from '../../../core/calls/kinds/call-kinds.ts'
import type { CatalogSnapshot, Offer } from '../../../core/catalog/catalog.ts'
import { attemptFailure } from '../../../core/failover/attempt-failure.ts'
import { giveUpNow, mayChangeKey, type NextStep, nextStep } from '../../../core/failover/failover.ts'
import type { FailoverState, Route, RouteHealth } from '../../../core/failover/failover-state.ts'
import { keepsPrivate } from '../../../core/routing/offer-preferences.ts'
import type { BreakerBoard, Probe } from '../../../offer-health/circuit-breaker/breaker-board.ts'
import type { RetryBudget } from '../../../offer-health/retry-budget.ts'
import type { ProviderClients } from '../../../providers/provider-clients.ts'
import type { RunningCall } from '../running-calls.ts'
import { runAttempt } from './attempt.ts'
import { AttemptHistory, type ReportDependencies, reportAttempt } from './attempt-history.ts'
import { type AttemptPlan, type AttemptSettings, firstTokenLimitMs } from './attempt-plan.ts'
import { inAttemptSpan } from './attempt-span.ts'
import { CallKeys } from './call-keys.ts'
import { type ChainContext, cancelled, completed, expired, gaveUp } from './chain-outcome.ts'
import { CompletionRelay } from './completion-relay.ts'
import { planRescue } from './rescue.ts'

export interface ChainDependencies extends ReportDependencies {
  catalog: () => CatalogSnapshot
  providers: ProviderClients
  board: Pick<BreakerBoard, 'health' | 'claimProbe' | 'probeAnswers' | 'report' | 'learn' | 'exclude'>
  budget: RetryBudget
  settings: AttemptSettings & { attemptsPerCall: number }
  /** Unix milliseconds. */
  now: () => number
  /** Uniform in [0, 1). */
  random: () => number
}

/** The failover chain: tries the candidates of a call until one completes, and reports the failure if none does. */
export function createAttemptChain(deps: ChainDependencies): AttemptChain {
  return (call) => new ChainRun(call, deps).run()
}

/** The run of one call through its candidates. */
class ChainRun {
  readonly #call: RunningCall<CallContent>
  readonly #deps: ChainDependencies
  readonly #routes: CallRoutes
  readonly #relay: CompletionRelay
  readonly #history: AttemptHistory
  #waitedMs = 0
  /** The retry budget has already granted the next attempt. */
  #isGranted = false

  constructor(call: RunningCall<CallContent>, deps: ChainDependencies) {
    this.#call = call
    this.#deps = deps
    this.#routes = new CallRoutes(call.envelope, deps)
    this.#relay = new CompletionRelay(call.envelope.stream ? (frame) => call.outbox.send(frame) : null)
    this.#history = new AttemptHistory(call.envelope.stream)
  }

  async run(): Promise<CallOutcome> {
    const outcome = await this.#answer()
    const isCharged =
      outcome.status === 'interrupted' || (outcome.status === 'cancelled' && outcome.served !== null)
    try {
      await this.#history.noteSpent(isCharged, this.#call, this.#deps.catalog())
    } catch (error) {
      const { id: callId } = this.#call.envelope
      this.#deps.logger.error({ err: error, callId }, 'usage of failed attempts unknown')
    }
    return outcome
  }

  async #answer(): Promise<CallOutcome> {
    const { signal } = this.#call.controller
    this.#deps.budget.countCall()
    while (!signal.aborted) {
      const state = this.#state()
      const step = nextStep(state)
      if (step.kind === 'give-up') return gaveUp(step.error, this.#context(), this.#deps)
      if (!(await this.#isWithinBudget(step.routeIndex)))
        return gaveUp(giveUpNow(state), this.#context(), this.#deps)
      if (step.afterMs > 0) await this.#wait(step.afterMs)

      const ready = await this.#prepare(step)
      if (ready === null) continue
      const { plan, probe } = ready
      const outcome = await this.#attempt(plan, step.routeIndex, probe)
      if (outcome.kind === 'finished') return completed(plan, outcome, this.#context(), this.#deps)
      if (outcome.kind === 'expired') return expired(this.#context(), this.#deps)
      if (outcome.kind === 'cancelled') break
    }
    return cancelled(this.#context(), this.#deps)
  }

  #state(): FailoverState {
    const { envelope } = this.#call
    const { now, random, settings } = this.#deps
    return {
      routes: this.#routes.routes(),
      attempts: this.#history.failures,
      relayed: this.#relayed(),
      // A client that lists more models than there are attempts still gets one for each.
      maxAttempts: Math.max(settings.attemptsPerCall, this.#routes.modelCount),
      waitedMs: this.#waitedMs,
      hidesTarget: envelope.auto !== undefined,
      nowMs: now(),
      deadlineMs: envelope.callDeadlineAt,
      random,
    }
  }

  #relayed(): FailoverState['relayed'] {
    if (!this.#relay.isDelivered) return { kind: 'nothing' }
    const { isRepeatable, candidate } = this.#relay
    return isRepeatable ? { kind: 'repeatable', routeIndex: candidate } : { kind: 'more' }
  }

  async #isWithinBudget(routeIndex: number): Promise<boolean> {
    const isGranted = this.#isGranted || (await this.#mayRetry(routeIndex, this.#failedRoutes))
    this.#isGranted = false
    return isGranted
  }

  /**
   * The budget protects platform capacity. Failures on the client's BYOK keys alone have not used it, and neither has a
   * first failover to a healthy offer of another provider, or to another key, which receives this call once.
   */
  async #mayRetry(routeIndex: number, failedRoutes: readonly number[]): Promise<boolean> {
    if (!this.#routes.areShared(failedRoutes)) return true
    const [failed, ...others] = failedRoutes
    if (failed === undefined || others.length > 0) return this.#deps.budget.ask()
    const last = this.#history.failures.at(-1)
    const isElsewhere =
      routeIndex === failed
        ? last !== undefined && mayChangeKey(last, this.#state())
        : this.#routes.isHealthyElsewhere(routeIndex, failed)
    return isElsewhere || this.#deps.budget.ask()
  }

  get #failedRoutes(): number[] {
    return this.#history.failures.map(({ routeIndex }) => routeIndex)
  }

  async #wait(ms: number): Promise<void> {
    this.#waitedMs += ms
    // Rejects when the call is aborted, which ends the wait.
    await delay(ms, undefined, { signal: this.#call.controller.signal }).catch(() => undefined)
  }

  /**
   * The attempt of a step. Null if its breaker opened meanwhile, or another call has the probe; then the step is
   * decided again.
   */
  async #prepare({
    routeIndex,
    lastChance,
  }: Extract<NextStep, { kind: 'try' }>): Promise<{ plan: AttemptPlan; probe: Probe | null } | null> {
    const { board, settings } = this.#deps
    const candidate = this.#routes.candidate(routeIndex)
    const health = this.#routes.health(candidate)
    const offer = this.#routes.offer(candidate)
    if (!offer || health.kind === 'down' || health.kind === 'gone') return null
    const patienceMs = firstTokenLimitMs({ candidate, lastChance }, settings)
    const poolKey = this.#routes.keys.choose(candidate)
    // Its last key was refused or ran into its limit meanwhile.
    if (poolKey === null) return null
    const probe =
      health.kind === 'probe'
        ? await board.claimProbe(candidate.offerId, patienceMs, this.#call.envelope.accountId)
        : null
    if (health.kind === 'probe' && probe === null) return null
    if (poolKey) this.#deps.keys?.board.take(candidate.offerId, poolKey)
    const plan: AttemptPlan = {
      ...(this.#relay.isDelivered
        ? planRescue(
            { routeIndex, candidate, offer },
            { began: this.#began, isTextOnly: this.#relay.isTextOnly },
            this.#history.failures,
            this.#call.content,
          )
        : { candidate, rescue: null }),
      offer,
      lastChance,
      ...(poolKey && {
        poolKey,
        onNearLimit: (restMs: number) =>
          this.#deps.keys?.board.nearLimit(candidate.offerId, poolKey.id, restMs),
        keyBackMs: () => this.#routes.keys.backMs(candidate),
      }),
      // A streaming completion proves a probe, however long it takes to end.
      ...(probe && { onFirstContent: () => board.probeAnswers(candidate.offerId, probe) }),
      ...(this.#mayDrip(candidate) && { leavesDrip: () => this.#leavesDrip(routeIndex) }),
    }
    return { plan, probe }
  }

  /**
   * Whether the attempt may be left for slowness: only while the client has seen nothing, which in a stream is the
   * reasoning.
   */
  #mayDrip({ reasoning, tier }: Candidate): boolean {
    const { stream, candidates } = this.#call.envelope
    const isUnseen = !stream || (reasoning && !this.#relay.isDelivered)
    return isUnseen && tier?.name !== 'flex' && candidates.length > 1 && this.#deps.settings.dripTokensMin > 0
  }

  /** Whether another offer could be tried at once instead of a slow one. */
  async #leavesDrip(routeIndex: number): Promise<boolean> {
    if (this.#relay.isDelivered) return false
    const state = this.#state()
    const left = { routeIndex, failure: attemptFailure('stalled', ''), endedAt: state.nowMs }
    const step = nextStep({ ...state, attempts: [...state.attempts, left] })
    if (step.kind === 'give-up' || step.afterMs > 0) return false
    this.#isGranted = await this.#mayRetry(step.routeIndex, [...this.#failedRoutes, routeIndex])
    return this.#isGranted
  }

  async #attempt(plan: AttemptPlan, routeIndex: number, probe: Probe | null): Promise<AttemptOutcome> {
    const { board, now } = this.#deps
    const { envelope, content } = this.#call
    const startedAt = now()
    let outcome: AttemptOutcome
    try {
      outcome = await inAttemptSpan(plan, this.#call, this.#history.records.length + 1, () =>
        runAttempt(plan, routeIndex, this.#call, this.#relay, this.#deps),
      )
    } catch (error) {
      board.report(plan.candidate.offerId, { kind: 'none' }, probe, this.#call.envelope.accountId)
      throw error
    }
    const ended = { plan, routeIndex, outcome, startedAt, endedAt: now() }
    const record = this.#history.note(ended, this.#relay)
    if (outcome.kind === 'failed') this.#relay.discardUndelivered()
    this.#deps.meter.operation(plan, content, outcome, record.durationMs)
    reportAttempt(plan, outcome, record, probe, envelope, this.#deps)
    return outcome
  }

  /** The candidate that the first content came from. */
  get #began(): Candidate {
    return this.#routes.candidate(this.#relay.candidate)
  }

  #context(): ChainContext {
    return { call: this.#call, relay: this.#relay, history: this.#history, began: this.#began }
  }
}

/** The candidates of a call, in the current state of catalog and board. */
class CallRoutes {
  readonly #envelope: CallEnvelope
  readonly #deps: Pick<ChainDependencies, 'catalog' | 'board' | 'keys' | 'now'>
  readonly keys: CallKeys

  constructor(envelope: CallEnvelope, deps: Pick<ChainDependencies, 'catalog' | 'board' | 'keys' | 'now'>) {
    this.#envelope = envelope
    this.#deps = deps
    this.keys = new CallKeys(envelope, (candidate) => this.offer(candidate), deps.keys)
  }

  get modelCount(): number {
    return new Set(this.#envelope.candidates.map(({ modelId }) => modelId)).size
  }

  /** The candidates as input of the decision, in their order. */
  routes(): Route[] {
    return this.#envelope.candidates.map((candidate) => ({
      modelId: candidate.modelId,
      contextLength: candidate.contextLength,
      providerKeyId: candidate.providerKeyId,
      health: this.health(candidate),
      hasReadyKey: this.keys.hasReady(candidate),
    }))
  }

  candidate(index: number): Candidate {
    const candidate = this.#envelope.candidates[index]
    if (!candidate) throw new Error(`the plan of ${this.#envelope.id} has no candidate ${index}`)
    return candidate
  }

  /** Undefined if it left the catalog. */
  offer({ offerId }: Candidate): Offer | undefined {
    return this.#deps.catalog().offers.get(offerId)
  }

  /** The health of an offer with our key says nothing about another key. */
  health(candidate: Candidate): RouteHealth {
    const { offerId, providerKeyId, privacy } = candidate
    const offer = this.offer(candidate)
    if (!offer || (privacy && !keepsPrivate(offer.provider, privacy))) return { kind: 'gone' }
    const { board, now } = this.#deps
    const health: RouteHealth =
      providerKeyId === undefined ? board.health(offerId, this.#envelope.accountId) : { kind: 'ready' }
    if (health.kind !== 'ready' && health.kind !== 'probe') return health
    const backMs = this.keys.backMs(candidate)
    return backMs === 0 ? health : { kind: 'rate-limited', untilMs: now() + backMs }
  }

  /** Whether any of these routes uses shared capacity. */
  areShared(indexes: readonly number[]): boolean {
    return indexes.some((index) => this.candidate(index).providerKeyId === undefined)
  }

  /** Whether a route is healthy, and at another provider than a failed one. */
  isHealthyElsewhere(index: number, failed: number): boolean {
    const [candidate, other] = [this.candidate(index), this.candidate(failed)]
    const isElsewhere = this.offer(candidate)?.provider.id !== this.offer(other)?.provider.id
    return isElsewhere && this.health(candidate).kind === 'ready'
  }
}

export type AttemptChain = (call: RunningCall<CallContent>) => Promise<CallOutcome>
