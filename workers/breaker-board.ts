import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { HealthEffect } from '../src/core/attempt-failure.ts'
import {
  BREAKER_FAILURE_PERCENT,
  type BreakerEntry,
  type BreakerState,
  breakerState,
  firstCooldownMs,
  formatBreakerEntry,
  reopened,
} from '../src/core/breaker.ts'
import type { RouteHealth } from '../src/core/failover.ts'
import type { Logger } from '../src/platform/logger.ts'
import { defineScript, type Redis } from '../src/platform/redis.ts'
import {
  HEALTH_BREAKERS,
  HEALTH_CHANNEL,
  HEALTH_RATE_LIMITED,
  healthProbe,
  healthWindow,
} from '../src/platform/redis-keys.ts'
import { HealthView } from './health-view.ts'
import { within } from './within.ts'

const REPORT = readFileSync(new URL('./report-health.lua', import.meta.url), 'utf8')
const SETTLE_PROBE = readFileSync(new URL('./settle-probe.lua', import.meta.url), 'utf8')

const FLUSH_MS = 1_000
const POLL_MS = 1_000
/** A probe whose worker died is free again after this. */
const PROBE_LIFETIME_MS = 60_000
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
  settings: { breakerFailures: number; breakerWindowMs: number; breakerCooldownMs: number }
  /** Unix milliseconds. */
  now: () => number
  logger: Logger
}

/** Starts a board: subscribes to changes, reads the present state, and polls it as a safety net. */
export async function createBreakerBoard(options: BreakerBoardOptions): Promise<BreakerBoard> {
  const { redis, subscriber, settings, now, logger } = options
  const reportScript = defineScript(redis, 'syReportHealth', REPORT)
  const probeScript = defineScript(redis, 'sySettleProbe', SETTLE_PROBE)
  const view = new HealthView()
  const pending = new Map<string, { failures: number; successes: number }>()
  const sending = new Map<string, Promise<void>>()
  const probesLost = new Map<string, number>()
  const unreachable = (err: unknown) => logger.warn({ err }, 'the breaker board could not be reached')

  const openEntry = (reason: BreakerEntry['reason']): string => {
    const cooldownMs = firstCooldownMs(reason, settings.breakerCooldownMs)
    return formatBreakerEntry({ reason, cooldownMs, untilMs: now() + cooldownMs })
  }
  const runReport = async (offerId: string, failures: number, successes: number, refused: boolean) => {
    const entry = openEntry(refused ? 'refused' : 'failing')
    const opened = await reportScript(
      [healthWindow(offerId), HEALTH_BREAKERS],
      [
        offerId,
        now(),
        settings.breakerWindowMs,
        failures,
        successes,
        settings.breakerFailures,
        BREAKER_FAILURE_PERCENT,
        entry,
        refused ? 1 : 0,
        HEALTH_CHANNEL,
      ],
    )
    if (opened !== 1) return
    view.setBreaker(offerId, entry)
    logger.error(
      { alarm: 'breaker-opened', offerId, reason: refused ? 'refused' : 'failing' },
      'a breaker opened',
    )
  }
  // At most one report of an offer is under way; what happens meanwhile goes with the next.
  const send = (offerId: string): void => {
    const counts = pending.get(offerId)
    if (!counts || sending.has(offerId)) return
    pending.delete(offerId)
    const sent = runReport(offerId, counts.failures, counts.successes, false)
      .catch(unreachable)
      .finally(() => {
        sending.delete(offerId)
        if ((pending.get(offerId)?.failures ?? 0) > 0) send(offerId)
      })
    sending.set(offerId, sent)
  }
  const count = (offerId: string, what: 'failures' | 'successes'): void => {
    const counts = pending.get(offerId) ?? { failures: 0, successes: 0 }
    counts[what]++
    pending.set(offerId, counts)
  }
  const limitRate = async (offerId: string, retryAfterMs: number): Promise<void> => {
    const untilMs = Math.ceil(now() + retryAfterMs)
    view.setRateLimited(offerId, untilMs)
    await redis
      .pipeline()
      .hset(HEALTH_RATE_LIMITED, offerId, untilMs)
      .publish(HEALTH_CHANNEL, JSON.stringify(['rate-limited', offerId, String(untilMs)]))
      .exec()
  }
  const settleProbe = async (offerId: string, token: string, effect: HealthEffect): Promise<void> => {
    const outcome =
      effect.kind === 'success'
        ? 'close'
        : effect.kind === 'failure' || effect.kind === 'refused'
          ? 'reopen'
          : 'abandon'
    const before = view.breaker(offerId)
    const entry = before && outcome === 'reopen' ? formatBreakerEntry(reopened(before, now())) : ''
    const held = await probeScript(
      [healthProbe(offerId), HEALTH_BREAKERS, healthWindow(offerId)],
      [offerId, token, outcome === 'reopen' && entry === '' ? 'abandon' : outcome, entry, HEALTH_CHANNEL],
    )
    if (held !== 1) return
    probesLost.delete(offerId)
    if (outcome !== 'abandon') view.setBreaker(offerId, entry)
    logger.info({ offerId, outcome }, 'a probe of a half-open breaker ended')
  }
  const poll = async (): Promise<void> => {
    const [breakers, limited] = await Promise.all([
      redis.hgetall(HEALTH_BREAKERS),
      redis.hgetall(HEALTH_RATE_LIMITED),
    ])
    const expired = view.replace(breakers, limited, now())
    if (expired.length > 0) await redis.hdel(HEALTH_RATE_LIMITED, ...expired)
  }

  const onMessage = (channel: string, message: string): void => {
    if (channel === HEALTH_CHANNEL && !view.applyMessage(message)) {
      logger.error({ channel }, 'a message on the health channel could not be read')
    }
  }
  subscriber.on('message', onMessage)
  await subscriber.subscribe(HEALTH_CHANNEL)
  await poll()

  let polling: Promise<void> | null = null
  const pollTimer = setInterval(() => {
    polling ??= poll()
      .catch(unreachable)
      .finally(() => {
        polling = null
      })
  }, POLL_MS)
  const flushTimer = setInterval(() => {
    for (const offerId of pending.keys()) send(offerId)
  }, FLUSH_MS)
  pollTimer.unref()
  flushTimer.unref()

  return {
    health(offerId) {
      const health = view.health(offerId, now())
      const lostUntil = health.kind === 'probe' ? (probesLost.get(offerId) ?? 0) : 0
      return lostUntil > now() ? { kind: 'down', untilMs: lostUntil } : health
    },

    async claimProbe(offerId) {
      const token = randomUUID()
      const claim = redis.set(healthProbe(offerId), token, 'PX', PROBE_LIFETIME_MS, 'NX')
      const won = (await within<string | null>(claim, ANSWER_WITHIN_MS, null, unreachable)) === 'OK'
      if (!won) probesLost.set(offerId, now() + PROBE_LOST_MS)
      return won ? token : null
    },

    report(offerId, effect, probe) {
      if (effect.kind === 'rate-limited') limitRate(offerId, effect.retryAfterMs).catch(unreachable)
      if (probe !== null) {
        settleProbe(offerId, probe, effect).catch(unreachable)
        return
      }
      if (effect.kind === 'success') count(offerId, 'successes')
      if (effect.kind === 'refused') runReport(offerId, 0, 0, true).catch(unreachable)
      if (effect.kind === 'failure') {
        count(offerId, 'failures')
        send(offerId)
      }
    },

    state() {
      return view.offers().map((offerId) => {
        const entry = view.breaker(offerId)
        return {
          offerId,
          breaker: breakerState(entry, now()),
          reason: entry?.reason ?? null,
          untilMs: entry?.untilMs ?? null,
          rateLimitedUntilMs: view.rateLimitedUntil(offerId, now()),
        }
      })
    },

    async close() {
      clearInterval(pollTimer)
      clearInterval(flushTimer)
      subscriber.off('message', onMessage)
      await Promise.all([polling, ...sending.values()])
    },
  }
}
