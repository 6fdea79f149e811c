import { randomUUID } from 'node:crypto'
import type { HealthEffect } from '../src/core/attempt-failure.ts'
import {
  type BreakerEntry,
  type BreakerState,
  breakerState,
  formatBreakerEntry,
  reopened,
} from '../src/core/breaker.ts'
import type { RouteHealth } from '../src/core/failover.ts'
import type { Logger } from '../src/platform/logger.ts'
import type { Redis } from '../src/platform/redis.ts'
import { HEALTH_CHANNEL } from '../src/platform/redis-keys.ts'
import { HealthCounts } from './health-counts.ts'
import {
  type BreakerSettings,
  createHealthStore,
  type HealthStore,
  type ProbeOutcome,
} from './health-store.ts'
import { HealthView } from './health-view.ts'
import { within } from './within.ts'

const FLUSH_MS = 1_000
const POLL_MS = 1_000
const ANSWER_WITHIN_MS = 500
/** After losing a probe to another call, an offer counts as down for this long before it is asked again. */
const PROBE_LOST_MS = 1_000

export interface OfferHealthState {
  offerId: string
  breaker: BreakerState
  reason: BreakerEntry['reason'] | null
  /** Unix milliseconds; null where it does not apply. */
  untilMs: number | null
  rateLimitedUntilMs: number | null
}

/** The fleet's shared knowledge of which offers work. Reading it costs nothing; no method ever rejects. */
export interface BreakerBoard {
  health(offerId: string): RouteHealth
  /** Claims the one probe of a half-open offer; null when another call has it. Returns the token to report with. */
  claimProbe(offerId: string): Promise<string | null>
  /** What an attempt showed. `probe` is the token when the attempt was a probe. */
  report(offerId: string, effect: HealthEffect, probe: string | null): void
  /** Every offer that is not simply healthy, for operators. */
  state(): OfferHealthState[]
  close(): Promise<void>
}

export interface BreakerBoardOptions {
  redis: Redis
  /** A connection in subscriber mode; it may carry other channels as well. */
  subscriber: Redis
  settings: BreakerSettings
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
}

/** Starts a board: subscribes to changes, reads the present state, and polls it as a safety net. */
export async function createBreakerBoard(options: BreakerBoardOptions): Promise<BreakerBoard> {
  const board = new SharedBoard(options)
  await board.start()
  return board
}

class SharedBoard implements BreakerBoard {
  readonly #store: HealthStore
  readonly #view = new HealthView()
  readonly #counts: HealthCounts
  /** Offer id → unix ms until which its probe is another call's. */
  readonly #probesLost = new Map<string, number>()
  readonly #options: BreakerBoardOptions
  #polling: Promise<void> | null = null
  #timers: NodeJS.Timeout[] = []

  constructor(options: BreakerBoardOptions) {
    this.#options = options
    this.#store = createHealthStore(options.redis, options.settings, options.now)
    this.#counts = new HealthCounts((offerId, failures, successes) =>
      this.#open(offerId, 'failing', this.#store.count(offerId, failures, successes)),
    )
  }

  async start(): Promise<void> {
    const { subscriber } = this.#options
    subscriber.on('message', this.#onMessage)
    await subscriber.subscribe(HEALTH_CHANNEL)
    await this.#poll()
    const poll = () => {
      this.#polling ??= this.#poll()
        .catch(this.#unreachable)
        .finally(() => {
          this.#polling = null
        })
    }
    this.#timers = [setInterval(poll, POLL_MS), setInterval(() => this.#counts.flush(), FLUSH_MS)]
    for (const timer of this.#timers) timer.unref()
  }

  health(offerId: string): RouteHealth {
    const now = this.#options.now()
    const health = this.#view.health(offerId, now)
    const lostUntil = health.kind === 'probe' ? (this.#probesLost.get(offerId) ?? 0) : 0
    return lostUntil > now ? { kind: 'down', untilMs: lostUntil } : health
  }

  async claimProbe(offerId: string): Promise<string | null> {
    const token = randomUUID()
    const claim = this.#store.claimProbe(offerId, token)
    if (await within(claim, ANSWER_WITHIN_MS, false, this.#unreachable)) return token
    this.#probesLost.set(offerId, this.#options.now() + PROBE_LOST_MS)
    return null
  }

  report(offerId: string, effect: HealthEffect, probe: string | null): void {
    if (effect.kind === 'rate-limited') this.#limitRate(offerId, effect.retryAfterMs)
    if (probe !== null) {
      this.#settleProbe(offerId, probe, effect).catch(this.#unreachable)
    } else if (effect.kind === 'success') {
      this.#counts.success(offerId)
    } else if (effect.kind === 'failure') {
      this.#counts.failure(offerId)
    } else if (effect.kind === 'refused') {
      void this.#open(offerId, 'refused', this.#store.refuse(offerId))
    }
  }

  state(): OfferHealthState[] {
    const now = this.#options.now()
    return this.#view.offers().map((offerId) => {
      const entry = this.#view.breaker(offerId)
      return {
        offerId,
        breaker: breakerState(entry, now),
        reason: entry?.reason ?? null,
        untilMs: entry?.untilMs ?? null,
        rateLimitedUntilMs: this.#view.rateLimitedUntil(offerId, now),
      }
    })
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#options.subscriber.off('message', this.#onMessage)
    // What Redis is not there to take is lost with the process.
    const underWay = Promise.all([this.#polling, this.#counts.settled()])
    await within<unknown>(underWay, ANSWER_WITHIN_MS, null, this.#unreachable)
  }

  readonly #onMessage = (channel: string, message: string): void => {
    if (channel === HEALTH_CHANNEL && !this.#view.applyMessage(message)) {
      this.#options.logger.error({ channel }, 'a message on the health channel could not be read')
    }
  }

  readonly #unreachable = (err: unknown): void => {
    this.#options.logger.warn({ err }, 'the breaker board could not be reached')
  }

  /** Takes note of a breaker that a report may have opened. Never rejects. */
  async #open(
    offerId: string,
    reason: BreakerEntry['reason'],
    report: Promise<string | null>,
  ): Promise<void> {
    try {
      const entry = await report
      if (entry === null) return
      this.#view.setBreaker(offerId, entry)
      this.#options.logger.error({ alarm: 'breaker-opened', offerId, reason }, 'a breaker opened')
    } catch (error) {
      this.#unreachable(error)
    }
  }

  #limitRate(offerId: string, retryAfterMs: number): void {
    const untilMs = Math.ceil(this.#options.now() + retryAfterMs)
    this.#view.setRateLimited(offerId, untilMs)
    this.#store.limitRate(offerId, untilMs).catch(this.#unreachable)
  }

  async #settleProbe(offerId: string, token: string, effect: HealthEffect): Promise<void> {
    const before = this.#view.breaker(offerId)
    const entry = before ? formatBreakerEntry(reopened(before, this.#options.now())) : ''
    const wanted = probeOutcome(effect)
    // Without an entry another call has closed the breaker meanwhile, and there is nothing to reopen.
    const outcome = wanted === 'reopen' && entry === '' ? 'abandon' : wanted
    const held = await this.#store.settleProbe(offerId, token, outcome, entry)
    if (!held) return
    this.#probesLost.delete(offerId)
    if (outcome !== 'abandon') this.#view.setBreaker(offerId, outcome === 'close' ? '' : entry)
    this.#options.logger.info({ offerId, outcome }, 'a probe of a half-open breaker ended')
  }

  async #poll(): Promise<void> {
    const { breakers, rateLimited } = await this.#store.read()
    await this.#store.forgetRateLimits(this.#view.replace(breakers, rateLimited, this.#options.now()))
  }
}

function probeOutcome(effect: HealthEffect): ProbeOutcome {
  switch (effect.kind) {
    case 'success':
      return 'close'
    case 'failure':
    case 'refused':
      return 'reopen'
    case 'rate-limited':
    case 'none':
      return 'abandon'
    default:
      return effect satisfies never
  }
}
