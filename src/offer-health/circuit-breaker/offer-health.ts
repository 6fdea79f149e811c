import {
  accountSubject,
  type BreakerEntry,
  type BreakerState,
  breakerState,
  contentSubject,
  offerOfAccountSubject,
  parseBreakerEntry,
  providerOfOffer,
} from '../../core/failover/circuit-breaker.ts'
import type { RouteHealth } from '../../core/failover/failover-state.ts'
import { type LearnedTokens, parseLearned } from '../../core/routing/learned-tokens.ts'
import { type OfferStates, UNKNOWN_OFFER_STATE } from '../../core/routing/offer-preferences.ts'
import { followRedis } from '../../platform/redis/follow-redis.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import {
  HEALTH_BREAKERS,
  HEALTH_CHANNEL,
  HEALTH_KEYS,
  HEALTH_LEARNED,
  HEALTH_RATE_LIMITED,
} from '../../platform/redis/redis-keys.ts'
import { KeyHealth } from '../key-health.ts'
import type { OfferMeasures } from '../offer-measures.ts'

const POLL_MS = 5_000

/** The health state of an offer. Times in unix ms of this process's clock; null if not applicable. */
interface OfferHealthState {
  breaker: BreakerState
  reason: BreakerEntry['reason'] | null
  /** Whether the breaker is the offer's or its provider's: a provider that refuses our key disables all its offers. */
  level: Blocking['level'] | null
  untilMs: number | null
  rateLimitedUntilMs: number | null
}

export interface OfferHealthOptions {
  redis: Redis
  /** A connection in subscriber mode; it may serve other channels too. */
  subscriber: Redis
  /** This process's clock, unix ms. */
  now: () => number
  logger: HealthLogger
  /** Redis's clock, unix ms. Only tests set it. */
  serverNow?: (() => Promise<number>) | undefined
  /** Called after each read with the rate limits and breakers that have expired. */
  onPassed?: ((passed: Passed) => Promise<void>) | undefined
}

interface HealthLogger {
  warn(fields: { err: unknown }, message: string): void
  error(fields: { channel: string }, message: string): void
}

/**
 * Starts following the fleet's health state of offers: subscribes to changes, reads the current state, and polls it as
 * a fallback. Waits for Redis.
 */
export async function followOfferHealth(options: OfferHealthOptions): Promise<OfferHealth> {
  const { redis, subscriber, now, logger, serverNow = () => redisNow(redis) } = options
  const health = new OfferHealth(now)
  const stop = await followRedis({
    subscriber,
    channel: HEALTH_CHANNEL,
    onMessage(message) {
      if (!health.applyMessage(message))
        logger.error({ channel: HEALTH_CHANNEL }, 'health channel message unreadable')
    },
    async read() {
      const askedAt = now()
      const [serverMs, breakers, rateLimited, learned, keys] = await Promise.all([
        serverNow(),
        redis.hgetall(HEALTH_BREAKERS),
        redis.hgetall(HEALTH_RATE_LIMITED),
        redis.hgetall(HEALTH_LEARNED),
        redis.hgetall(HEALTH_KEYS),
      ])
      const passed = health.replace(
        { breakers, rateLimited, learned, keys },
        Math.round(serverMs - (askedAt + now()) / 2),
      )
      await options.onPassed?.(passed)
    },
    pollMs: POLL_MS,
    onFailure: (err) => logger.warn({ err }, 'offer health read failed'),
  })
  health.stop = stop
  return health
}

/**
 * One process's copy of the fleet's offer health: breakers, rate limits, and what offers were seen to add to prompts. Reading it costs nothing. Redis has it in the
 * fleet's time, which is Redis's clock, so that processes whose clocks differ agree.
 */
export class OfferHealth {
  /** This process's time, unix ms. */
  readonly now: () => number
  /** Ends following. */
  stop: () => void = () => undefined
  #aheadMs = 0
  #breakers = new Map<string, BreakerEntry>()
  #rateLimited = new Map<string, number>()
  #learned = new Map<string, LearnedTokens>()

  constructor(now: () => number) {
    this.now = now
  }

  /** The fleet's time, unix ms. */
  fleetNow = (): number => this.now() + this.#aheadMs

  /** What is known of the keys of pools. */
  readonly keys = new KeyHealth(this.fleetNow)

  /** The health of one offer, in this process's time. `accountId`: the account of the call, if any. */
  health(offerId: string, accountId?: string): RouteHealth {
    const blocking = this.blocking(offerId, accountId)
    const state = breakerState(blocking?.entry, this.fleetNow())
    if (state === 'open') return { kind: 'down', untilMs: blocking!.entry.untilMs - this.#aheadMs }
    const limitedUntil = this.rateLimitedUntil(offerId)
    if (limitedUntil !== null) return { kind: 'rate-limited', untilMs: limitedUntil - this.#aheadMs }
    return state === 'half-open' ? { kind: 'probe' } : { kind: 'ready' }
  }

  /** Whether the offer gets no prompts with these kinds of content of the account, since their tokens cannot be bounded there. */
  excludes(offerId: string, kinds: string, accountId: string): boolean {
    if (this.#breakers.size === 0) return false
    const subject = contentSubject(offerId, kinds)
    return [subject, accountSubject(subject, accountId)].some(
      (each) => breakerState(this.breaker(each), this.fleetNow()) === 'open',
    )
  }

  /** What the offer was seen to add to prompts with these kinds of content, in tokens. It adds to each what it adds to text. */
  learnedTokens(offerId: string, kinds: string): number {
    if (this.#learned.size === 0) return 0
    const of = (subject: string) => {
      const learned = this.#learned.get(subject)
      return learned && learned.untilMs > this.fleetNow() ? learned.tokens : 0
    }
    return Math.max(of(contentSubject(offerId, TEXT)), of(contentSubject(offerId, kinds)))
  }

  /** All that the offer was seen to add, by kinds of content. Times in unix ms of this process's clock. */
  allLearned(offerId: string): Array<LearnedTokens & { kinds: string }> {
    const start = contentSubject(offerId, '')
    return [...this.#learned].flatMap(([subject, { tokens, untilMs }]) =>
      subject.startsWith(start) && untilMs > this.fleetNow()
        ? [{ kinds: subject.slice(start.length), tokens, untilMs: untilMs - this.#aheadMs }]
        : [],
    )
  }

  state(offerId: string): OfferHealthState {
    const blocking = this.blocking(offerId)
    const limitedUntil = this.rateLimitedUntil(offerId)
    return {
      breaker: breakerState(blocking?.entry, this.fleetNow()),
      reason: blocking?.entry.reason ?? null,
      level: blocking?.level ?? null,
      untilMs: blocking ? blocking.entry.untilMs - this.#aheadMs : null,
      rateLimitedUntilMs: limitedUntil === null ? null : limitedUntil - this.#aheadMs,
    }
  }

  /** The breaker that blocks an offer: its provider's, its own or the account's, the longest open; or none. */
  blocking(offerId: string, accountId?: string): Blocking | null {
    if (this.#breakers.size === 0) return null
    const provider = providerOfOffer(offerId)
    const breakers: Blocking[] = []
    const add = (subject: string, level: Blocking['level']) => {
      const entry = this.#breakers.get(subject)
      if (entry) breakers.push({ subject, level, entry })
    }
    add(provider, 'provider')
    add(offerId, 'offer')
    if (accountId !== undefined) add(accountSubject(offerId, accountId), 'offer')
    return breakers.reduce<Blocking | null>(
      (longest, one) => (longest && longest.entry.untilMs >= one.entry.untilMs ? longest : one),
      null,
    )
  }

  /** The entry of an offer or a provider. */
  breaker(subject: string): BreakerEntry | undefined {
    return this.#breakers.get(subject)
  }

  /** In the fleet's time; null where no limit applies. */
  rateLimitedUntil(offerId: string): number | null {
    const until = this.#rateLimited.get(offerId) ?? 0
    return until > this.fleetNow() ? until : null
  }

  /** All offers and providers with a breaker or rate limit. */
  subjects(): string[] {
    return [...new Set([...this.#breakers.keys(), ...this.#rateLimited.keys()])]
  }

  /** Sets an entry in Redis's format; the empty text closes the breaker. False if it is unreadable. */
  setBreaker(subject: string, text: string): boolean {
    if (text === '') return this.#breakers.delete(subject) || true
    const entry = parseBreakerEntry(text)
    if (entry) this.#breakers.set(subject, entry)
    return entry !== null
  }

  /** Sets an entry in Redis's format; the empty text forgets it. False if it is unreadable. */
  setLearned(subject: string, text: string): boolean {
    if (text === '') return this.#learned.delete(subject) || true
    const learned = parseLearned(text)
    if (learned) this.#learned.set(subject, learned)
    return learned !== null
  }

  setRateLimited(offerId: string, untilMs: number): void {
    this.#rateLimited.set(offerId, untilMs)
  }

  /** Applies a message of the health channel. False if it is unreadable. */
  applyMessage(message: string): boolean {
    const [kind, offerId, value] = parseTuple(message)
    if (typeof offerId !== 'string' || typeof value !== 'string') return false
    if (kind === 'breaker') return this.setBreaker(offerId, value)
    if (kind === 'learned') return this.setLearned(offerId, value)
    if (kind === 'key') return this.keys.set(offerId, value)
    const untilMs = Number(value)
    if (kind !== 'rate-limited' || !Number.isFinite(untilMs)) return false
    this.setRateLimited(offerId, untilMs)
    return true
  }

  /**
   * Replaces the whole state by that of Redis and returns what has expired in it. `aheadMs`: how far Redis's clock is
   * ahead of this process's.
   */
  replace({ breakers, rateLimited, learned, keys }: StoredHealth, aheadMs: number): Passed {
    this.#aheadMs = aheadMs
    const nowMs = this.fleetNow()
    const unprobed = Object.entries(breakers).flatMap(([subject, text]) => {
      if (offerOfAccountSubject(subject) === null) return []
      const untilMs = parseBreakerEntry(text)?.untilMs ?? 0
      return untilMs + UNPROBED_MS <= nowMs ? [subject] : []
    })
    const entries = Object.entries(breakers).flatMap(([subject, text]) => {
      const entry = parseBreakerEntry(text)
      // An entry that is never probed ends with its time.
      const isOver = entry?.reason === 'underestimated' && entry.untilMs <= nowMs
      return entry && !isOver ? [[subject, entry] as const] : []
    })
    const limits = Object.entries(rateLimited).map(([offerId, text]) => [offerId, Number(text)] as const)
    this.#breakers = new Map(entries)
    for (const subject of unprobed) this.#breakers.delete(subject)
    this.#rateLimited = new Map(limits.filter(([, untilMs]) => untilMs > nowMs))
    const limited = limits.filter(([, untilMs]) => !(untilMs > nowMs)).map(([offerId]) => offerId)
    const known = Object.entries(learned).map(([subject, text]) => [subject, parseLearned(text)] as const)
    const isLasting = (entry: LearnedTokens | null) => entry !== null && entry.untilMs > nowMs
    this.#learned = new Map(
      known.flatMap(([subject, entry]) => (isLasting(entry) ? [[subject, entry!]] : [])),
    )
    const forgotten = known.flatMap(([subject, entry]) => (isLasting(entry) ? [] : [subject]))
    return { unprobed, limited, learned: forgotten, keys: this.keys.replace(keys) }
  }
}

/** The content of a prompt without media. */
const TEXT = 'text'

/** The hashes of Redis, as they are. */
type StoredHealth = Record<'breakers' | 'rateLimited' | 'learned' | 'keys', Record<string, string>>

/** A breaker that is not closed, and its level. */
export interface Blocking {
  /** Id of the offer or the provider. */
  subject: string
  level: 'offer' | 'provider'
  entry: BreakerEntry
}

/** The breaker of one account's calls is forgotten if it was not probed for this long. */
const UNPROBED_MS = 60_000

export interface Passed {
  /** Offers whose rate limit has expired. */
  limited: string[]
  /** Subjects of breakers without recent probes. */
  unprobed: string[]
  /** Subjects whose learned tokens have expired. */
  learned: string[]
  /** Subjects of keys whose entries are over. */
  keys: string[]
}

async function redisNow(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time()
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000
}

function parseTuple(message: string): unknown[] {
  try {
    const value: unknown = JSON.parse(message)
    return Array.isArray(value) ? value : []
  } catch {
    // The caller reports it.
    return []
  }
}

/** The state of offers that plans of an account need, from what this process follows. */
export const createOfferStates =
  (
    health: Pick<OfferHealth, 'health' | 'excludes' | 'learnedTokens'>,
    measures: Pick<OfferMeasures, 'stats' | 'cacheUse'>,
  ): ((accountId: string) => OfferStates) =>
  (accountId) =>
  (offerId) => {
    const { kind } = health.health(offerId, accountId)
    return {
      // A plan does not contain offers that left the catalog.
      health: kind === 'gone' ? UNKNOWN_OFFER_STATE.health : kind,
      excludes: (kinds) => health.excludes(offerId, kinds, accountId),
      learnedTokens: (kinds) => health.learnedTokens(offerId, kinds),
      cacheUse: () => measures.cacheUse(offerId),
      measures() {
        const { firstTokenMs, tokensPerSecond } = measures.stats(offerId)
        return { firstTokenMs: firstTokenMs?.p50, tokensPerSecond: tokensPerSecond?.p50 }
      },
    }
  }
