import {
  type BreakerEntry,
  type BreakerState,
  breakerState,
  contentSubject,
} from '../core/failover/breaker.ts'
import type { RouteHealth } from '../core/failover/failover-state.ts'
import { followRedis } from '../platform/redis/follow-redis.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { HEALTH_BREAKERS, HEALTH_CHANNEL, HEALTH_RATE_LIMITED } from '../platform/redis/redis-keys.ts'
import { type Blocking, HealthView, type Passed } from './offer-health-view.ts'

const POLL_MS = 1_000

/** What is known against an offer. Times in unix ms of this process's clock; null where one does not apply. */
export interface OfferHealthState {
  breaker: BreakerState
  reason: BreakerEntry['reason'] | null
  /** Whose breaker it is: a provider that refuses our key takes all its offers down. */
  level: Blocking['level'] | null
  untilMs: number | null
  rateLimitedUntilMs: number | null
}

/** The fleet's knowledge of which offers work, as one process follows it. Reading it costs nothing. */
export interface OfferHealth {
  /** The copy itself, in the fleet's time. */
  view: HealthView
  /** This process's time, unix ms. */
  now(): number
  /** The fleet's time, unix ms: Redis's clock, so that processes whose clocks differ agree. */
  fleetNow(): number
  /** Of one offer, in this process's time. `accountId`: whose call asks; absent where none does. */
  health(offerId: string, accountId?: string): RouteHealth
  /** Whether the offer gets no prompts of these kinds of content, since their tokens cannot be bounded there. */
  excludes(offerId: string, kinds: string): boolean
  state(offerId: string): OfferHealthState
  stop(): void
}

export interface OfferHealthOptions {
  redis: Redis
  /** A connection in subscriber mode; it may carry other channels as well. */
  subscriber: Redis
  /** This process's clock, unix ms. */
  now: () => number
  logger: HealthLogger
  /** Redis's clock, unix ms. Only tests set it. */
  serverNow?: (() => Promise<number>) | undefined
  /** Hears of rate limits and breakers that have passed. */
  onPassed?: (passed: Passed) => Promise<void>
}

interface HealthLogger {
  warn(fields: { err: unknown }, message: string): void
  error(fields: { channel: string }, message: string): void
}

/** Starts following: subscribes to changes, reads the present state, and polls it as a safety net. */
export async function followOfferHealth(options: OfferHealthOptions): Promise<OfferHealth> {
  const { redis, subscriber, now, logger, serverNow = () => redisNow(redis), onPassed } = options
  const view = new HealthView()
  let aheadMs = 0
  const fleetNow = () => now() + aheadMs

  const poll = async (): Promise<void> => {
    const askedAt = now()
    const [serverMs, breakers, rateLimited] = await Promise.all([
      serverNow(),
      redis.hgetall(HEALTH_BREAKERS),
      redis.hgetall(HEALTH_RATE_LIMITED),
    ])
    aheadMs = Math.round(serverMs - (askedAt + now()) / 2)
    await onPassed?.(view.replace(breakers, rateLimited, fleetNow()))
  }
  const stop = await followRedis({
    subscriber,
    channel: HEALTH_CHANNEL,
    onMessage(message) {
      if (!view.applyMessage(message))
        logger.error({ channel: HEALTH_CHANNEL }, 'a message on the health channel could not be read')
    },
    read: poll,
    pollMs: POLL_MS,
    onFailure: (err) => logger.warn({ err }, 'offer health cannot be read'),
  })

  return {
    view,
    now,
    fleetNow,
    health(offerId, accountId) {
      const health = view.health(offerId, fleetNow(), accountId)
      return 'untilMs' in health ? { ...health, untilMs: health.untilMs - aheadMs } : health
    },
    excludes: (offerId, kinds) =>
      breakerState(view.breaker(contentSubject(offerId, kinds)), fleetNow()) === 'open',
    state(offerId) {
      const blocking = view.blocking(offerId)
      const limitedUntil = view.rateLimitedUntil(offerId, fleetNow())
      return {
        breaker: breakerState(blocking?.entry, fleetNow()),
        reason: blocking?.entry.reason ?? null,
        level: blocking?.level ?? null,
        untilMs: blocking ? blocking.entry.untilMs - aheadMs : null,
        rateLimitedUntilMs: limitedUntil === null ? null : limitedUntil - aheadMs,
      }
    },
    stop,
  }
}

async function redisNow(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time()
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000
}
