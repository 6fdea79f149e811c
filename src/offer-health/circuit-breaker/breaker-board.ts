import { randomUUID } from 'node:crypto'
import { Gauge, type Registry } from 'prom-client'
import {
  BREAKER_ALARMS,
  type BreakerEntry,
  type BreakerState,
  breakerState,
  contentSubject,
  formatBreakerEntry,
  type HealthEffect,
  offerOfAccountSubject,
  probeVerdict,
  providerOfOffer,
  reopened,
} from '../../core/failover/circuit-breaker.ts'
import type { RouteHealth } from '../../core/failover/failover-state.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { tickEvery } from '../../platform/process/coalesced-timers.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { KeyBoard } from '../key-board.ts'
import {
  type BreakerSettings,
  type BreakerStore,
  createBreakerStore,
  deletePassed,
  KEY_TAKEN_MS,
  type OpenedBreaker,
} from './breaker-store.ts'
import { followOfferHealth, type OfferHealth, type Passed } from './offer-health.ts'

const FLUSH_MS = 1_000
const ANSWER_WITHIN_MS = 500
/** An offer counts as down for this long after another call won its probe. */
const PROBE_LOST_MS = 1_000
/** A completion that has streamed for this long proves its offer, so that other calls need not wait for its end. */
const PROBE_PROVEN_MS = 10_000

const PROBE_SLACK_MS = 1_000

/** The permission to probe a half-open breaker; at most one in the fleet. */
export interface Probe {
  /** The subject of the breaker: an offer's or a provider's id, or an offer's for one account. */
  subject: string
  token: string
  /** The fleet's time, unix ms. */
  claimedAtMs: number
}

/** The breaker state of an offer or a provider. */
interface SubjectState {
  subject: string
  breaker: BreakerState
  reason: BreakerEntry['reason'] | null
}

interface BreakerBoardOptions {
  redis: Redis
  /** A connection in subscriber mode; it may serve other channels too. */
  subscriber: Redis
  settings: BreakerSettings
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
  /** Redis's clock, unix ms. Only tests set it. */
  serverNow?: () => Promise<number>
}

/** Starts a board: follows the fleet's state, and adds the results of this worker's calls. */
export async function createBreakerBoard(options: BreakerBoardOptions): Promise<BreakerBoard> {
  const onPassed = (passed: Passed) => deletePassed(options.redis, passed)
  return new BreakerBoard(await followOfferHealth({ ...options, onPassed }), options)
}

/** The fleet's shared state of offers. Reading it costs nothing; no method ever rejects. */
export class BreakerBoard {
  readonly #health: OfferHealth
  readonly #store: BreakerStore
  readonly #logger: Logger
  /** Subject → unix ms until which another call has its probe. */
  readonly #probesLost = new Map<string, number>()
  /** Provider → unix ms of the last accepted key in a call of this worker; sent to the fleet within a second. */
  readonly #keysTaken = new Map<string, number>()
  /** Token of a probe whose completion is streaming → the timer until it is proven; null afterwards. */
  readonly #answering = new Map<string, NodeJS.Timeout | null>()
  readonly #stopFlushing: () => void
  /** The keys of providers that have several. */
  readonly keys: KeyBoard

  constructor(health: OfferHealth, { redis, settings, logger }: BreakerBoardOptions) {
    this.#health = health
    this.#logger = logger
    this.keys = new KeyBoard({ redis, health, breakerCooldownMs: settings.breakerCooldownMs, logger })
    this.#store = createBreakerStore(redis, settings, health.fleetNow, (opened) =>
      this.#open('failing', opened),
    )
    this.#stopFlushing = tickEvery(FLUSH_MS, () => {
      this.#store.flush()
      this.keys.flush()
    })
  }

  /** The health for a call of an account. */
  health(offerId: string, accountId: string): RouteHealth {
    const health = this.#health.health(offerId, accountId)
    if (health.kind !== 'probe') return health
    const subject = this.#health.blocking(offerId, accountId)?.subject ?? offerId
    const lostUntil = this.#probesLost.get(subject) ?? 0
    return lostUntil > this.#health.now() ? { kind: 'down', untilMs: lostUntil } : health
  }

  /**
   * Claims the one probe of a half-open offer; null if another call has it. It is free again if nothing is reported
   * `withinMs` later, the timeout of its attempt.
   */
  async claimProbe(offerId: string, withinMs: number, accountId: string): Promise<Probe | null> {
    const subject = this.#health.blocking(offerId, accountId)?.subject ?? offerId
    const token = randomUUID()
    const claimedAtMs = this.#health.fleetNow()
    const claim = this.#store.claimProbe(subject, token, withinMs + PROBE_SLACK_MS)
    if (await withTimeout(claim, ANSWER_WITHIN_MS, false, this.#unreachable)) {
      return { subject, token, claimedAtMs }
    }
    this.#probesLost.set(subject, this.#health.now() + PROBE_LOST_MS)
    return null
  }

  /** The completion of a probe has started. */
  probeAnswers(offerId: string, probe: Probe): void {
    this.#store.keepProbe(probe.subject, PROBE_PROVEN_MS + PROBE_SLACK_MS).catch(this.#unreachable)
    const prove = () => {
      this.#answering.set(probe.token, null)
      this.#settleProbe(offerId, probe, { kind: 'success' }, null).catch(this.#unreachable)
    }
    this.#answering.set(probe.token, setTimeout(prove, PROBE_PROVEN_MS).unref())
  }

  /** Reports the result of an attempt. `probe` if the attempt was one. */
  report(offerId: string, effect: HealthEffect, probe: Probe | null, accountId: string): void {
    if (effect.kind === 'rate-limited') this.#limitRate(offerId, effect.retryAfterMs)
    if (effect.kind !== 'refused' && effect.kind !== 'none')
      this.#keysTaken.set(providerOfOffer(offerId), this.#health.now())
    if (probe !== null && !this.#wasProven(probe)) {
      this.#settleProbe(offerId, probe, effect, accountId).catch(this.#unreachable)
    } else {
      this.#note(offerId, effect, accountId)
    }
  }

  /**
   * An account's prompt with these kinds of content took more tokens at the offer than can be held for. `alarm` is
   * logged.
   */
  exclude(offerId: string, kinds: string, accountId: string, alarm: object): void {
    if (this.#health.excludes(offerId, kinds, accountId)) return
    this.#store.exclude(offerId, kinds, accountId).then(({ subject, entry }) => {
      this.#health.setBreaker(subject, entry)
      const excludedFor = offerOfAccountSubject(subject) === null ? 'all accounts' : accountId
      this.#logger.error({ ...alarm, excludedFor }, 'prompt bound too low, excluding the offer for a while')
    }, this.#unreachable)
  }

  /** The offer adds so many tokens to prompts with these kinds of content. `alarm` is logged when that is new. */
  learn(offerId: string, kinds: string, tokens: number, alarm: object): void {
    if (this.#health.learnedTokens(offerId, kinds) >= tokens) return
    const subject = contentSubject(offerId, kinds)
    this.#store.learn(subject, tokens).then((learned) => {
      if (learned === null) return
      this.#health.setLearned(subject, learned.entry)
      if (learned.isFirst) this.#logger.error(alarm, 'prompt bound too low, holding more from now on')
      else this.#logger.info({ subject, tokens }, 'prompt bound still too low, holding more from now on')
    }, this.#unreachable)
  }

  /** All offers and providers that are not healthy. */
  state(): SubjectState[] {
    const health = this.#health
    return health.subjects().map((subject) => {
      const entry = health.breaker(subject)
      return { subject, breaker: breakerState(entry, health.fleetNow()), reason: entry?.reason ?? null }
    })
  }

  async close(): Promise<void> {
    this.#stopFlushing()
    for (const timer of this.#answering.values()) if (timer) clearTimeout(timer)
    this.#health.stop()
    // Counts that Redis does not accept are lost with the process.
    await withTimeout<unknown>(this.#store.settled(), ANSWER_WITHIN_MS, null, this.#unreachable)
  }

  /** Records the result of an attempt that was not a probe. */
  #note(offerId: string, effect: HealthEffect, accountId: string): void {
    if (effect.kind === 'success') this.#store.countSuccess(offerId)
    if (effect.kind === 'failure') this.#store.countFailure(offerId, accountId)
    if (effect.kind !== 'refused') return
    void this.#open('refused', this.#store.refuse(offerId))
    const takenAt = this.#keysTaken.get(providerOfOffer(offerId)) ?? 0
    if (effect.by === 'provider' && this.#health.now() - takenAt >= KEY_TAKEN_MS) {
      void this.#open('refused', this.#store.refuseKey(offerId))
    }
  }

  #unreachable = (err: unknown): void => this.#logger.warn({ err }, 'breaker board unavailable')

  #wasProven({ token }: Probe): boolean {
    const timer = this.#answering.get(token)
    if (timer) clearTimeout(timer)
    this.#answering.delete(token)
    return timer === null
  }

  /** Records a breaker that a report may have opened. Never rejects. */
  async #open(reason: BreakerEntry['reason'], report: Promise<OpenedBreaker | null>): Promise<void> {
    try {
      const opened = await report
      if (opened === null) return
      const { subject, entry, counted } = opened
      this.#health.setBreaker(subject, entry)
      // The process that opens it raises the alarm, once for the fleet.
      this.#logger.error({ alarm: alarmKind(reason), subject, reason, ...counted }, 'circuit breaker opened')
    } catch (error) {
      this.#unreachable(error)
    }
  }

  #limitRate(offerId: string, retryAfterMs: number): void {
    const untilMs = Math.ceil(this.#health.fleetNow() + retryAfterMs)
    this.#health.setRateLimited(offerId, untilMs)
    this.#store.limitRate(offerId, untilMs).catch(this.#unreachable)
  }

  /** `accountId`: the account of the probe's call; null for a result that does not count against the offer. */
  async #settleProbe(
    offerId: string,
    { subject, token, claimedAtMs }: Probe,
    effect: HealthEffect,
    accountId: string | null,
  ): Promise<void> {
    const health = this.#health
    const before = health.breaker(subject)
    const level = subject === providerOfOffer(offerId) ? 'provider' : 'offer'
    const { outcome: wanted, tellsOfOffer } = probeVerdict(effect, level, before?.reason ?? 'failing')
    if (tellsOfOffer && accountId !== null) this.#note(offerId, effect, accountId)
    const entry = before ? formatBreakerEntry(reopened(before, health.fleetNow(), claimedAtMs)) : ''
    // Without an entry another call has closed the breaker already, and there is nothing to reopen.
    const outcome = wanted === 'reopen' && entry === '' ? 'abandon' : wanted
    if (!(await this.#store.settleProbe(subject, token, outcome, entry))) return
    this.#probesLost.delete(subject)
    if (outcome !== 'abandon') health.setBreaker(subject, outcome === 'close' ? '' : entry)
    const ended = 'a probe of a half-open breaker ended'
    if (outcome === 'close') this.#logger.info({ subject, outcome, alarmsOver: BREAKER_ALARMS }, ended)
    else if (outcome === 'abandon') this.#logger.info({ subject, outcome }, ended)
    else {
      const reason = before?.reason ?? 'failing'
      this.#logger.warn({ alarm: alarmKind(reason), subject, reason, outcome, probeFailed: true }, ended)
    }
  }
}

const alarmKind = (reason: BreakerEntry['reason']): string =>
  reason === 'refused' ? 'provider-refused' : 'breaker-opened'

const VALUES: Record<BreakerState, number> = { closed: 0, 'half-open': 1, open: 2 }

/** Exports the breakers that are not closed; closed ones have no series. */
export function exportBreakers(board: BreakerBoard, registry: Registry): void {
  new Gauge({
    name: 'shuntyard_offer_breaker_state',
    help: 'Breakers that are not closed: 1 half-open, 2 open. Without a model: of all offers of the provider.',
    labelNames: ['provider', 'model', 'reason'],
    registers: [registry],
    collect() {
      this.reset()
      // The number of breakers for single accounts is unbounded, so one series per offer shows that there are some.
      const ofAccounts = new Map<string, BreakerEntry['reason'] | null>()
      for (const { subject, breaker, reason } of board.state()) {
        const offerId = offerOfAccountSubject(subject)
        if (offerId !== null) ofAccounts.set(offerId, reason)
        else if (reason !== null) this.set({ ...labels(subject), reason }, VALUES[breaker])
      }
      for (const [offerId, reason] of ofAccounts)
        this.set({ ...labels(offerId), reason: `${reason}-for-account` }, 2)
    },
  })
}

function labels(subject: string): { provider: string; model: string } {
  const provider = providerOfOffer(subject)
  return { provider, model: subject.slice(provider.length + 1) }
}
