import { readFileSync } from 'node:fs'
import {
  BREAKER_FAILURE_PERCENT,
  type BreakerEntry,
  firstCooldownMs,
  formatBreakerEntry,
  type ProbeVerdict,
} from '../src/core/breaker.ts'
import { defineScript, type Redis } from '../src/platform/redis.ts'
import {
  HEALTH_BREAKERS,
  HEALTH_CHANNEL,
  HEALTH_RATE_LIMITED,
  healthProbe,
  healthWindow,
} from '../src/platform/redis-keys.ts'

const REPORT = readFileSync(new URL('./report-health.lua', import.meta.url), 'utf8')
const SETTLE_PROBE = readFileSync(new URL('./settle-probe.lua', import.meta.url), 'utf8')

export interface BreakerSettings {
  breakerFailures: number
  breakerWindowMs: number
  breakerCooldownMs: number
}

/** Offer health as Redis keeps it for the fleet. Every method is one round trip and may reject. */
export interface HealthStore {
  /** Adds to the offer's window. Returns the entry of its breaker when that opened it, else null. */
  count(offerId: string, failures: number, successes: number): Promise<string | null>
  /** Opens the breaker of an offer or provider that refuses us. Returns its entry when that opened it, else null. */
  refuse(subject: string): Promise<string | null>
  limitRate(offerId: string, untilMs: number): Promise<void>
  forgetRateLimits(offerIds: readonly string[]): Promise<void>
  /** False when another call holds the probe. It is free again after `lifetimeMs`, should its worker die. */
  claimProbe(subject: string, token: string, lifetimeMs: number): Promise<boolean>
  /** `entry` is what a reopened breaker gets. False when the token is not the holder's. */
  settleProbe(
    subject: string,
    token: string,
    outcome: ProbeVerdict['outcome'],
    entry: string,
  ): Promise<boolean>
}

/** The store over one Redis client. `now` is the fleet's clock, unix ms. */
export function createHealthStore(redis: Redis, settings: BreakerSettings, now: () => number): HealthStore {
  const reportScript = defineScript(redis, 'syReportHealth', REPORT)
  const probeScript = defineScript(redis, 'sySettleProbe', SETTLE_PROBE)

  const report = async (
    offerId: string,
    failures: number,
    successes: number,
    reason: BreakerEntry['reason'],
  ): Promise<string | null> => {
    const cooldownMs = firstCooldownMs(reason, settings.breakerCooldownMs)
    const entry = formatBreakerEntry({ reason, cooldownMs, untilMs: now() + cooldownMs })
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
        reason === 'refused' ? 1 : 0,
        HEALTH_CHANNEL,
      ],
    )
    return opened === 1 ? entry : null
  }

  return {
    count: (offerId, failures, successes) => report(offerId, failures, successes, 'failing'),
    refuse: (subject) => report(subject, 0, 0, 'refused'),

    async limitRate(offerId, untilMs) {
      await redis
        .pipeline()
        .hset(HEALTH_RATE_LIMITED, offerId, untilMs)
        .publish(HEALTH_CHANNEL, JSON.stringify(['rate-limited', offerId, String(untilMs)]))
        .exec()
    },

    async forgetRateLimits(offerIds) {
      if (offerIds.length > 0) await redis.hdel(HEALTH_RATE_LIMITED, ...offerIds)
    },

    async claimProbe(subject, token, lifetimeMs) {
      return (await redis.set(healthProbe(subject), token, 'PX', Math.ceil(lifetimeMs), 'NX')) === 'OK'
    },

    async settleProbe(subject, token, outcome, entry) {
      const held = await probeScript(
        [healthProbe(subject), HEALTH_BREAKERS, healthWindow(subject)],
        [subject, token, outcome, entry, HEALTH_CHANNEL],
      )
      return held === 1
    },
  }
}
