import { BREAKER_ALARMS, providerOfOffer } from '../core/failover/circuit-breaker.ts'
import {
  formatKeyEntry,
  type KeyEffect,
  type KeyHealthEntry,
  keySubject,
  providerKeySubject,
  refusedKey,
} from '../core/failover/key-health.ts'
import { isoTime, MINUTE_MS } from '../core/kernel/time.ts'
import type { KeyStanding } from '../core/routing/key-pool.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { HEALTH_CHANNEL, HEALTH_KEYS } from '../platform/redis/redis-keys.ts'
import type { OfferHealth } from './circuit-breaker/offer-health.ts'
import { KeyUsage, type LimitedKey, type PoolKeyUse } from './key-usage.ts'

/** A key's rest is published again if it ends later than the known one by this much. */
const SAME_REST_MS = 1_000

interface KeyBoardOptions {
  redis: Pick<Redis, 'pipeline'>
  health: Pick<OfferHealth, 'keys' | 'fleetNow'>
  breakerCooldownMs: number
  logger: Logger
}

/**
 * The fleet's shared state of keys, where a provider has several. Reading it costs nothing, and a key that stays as it is takes no
 * command. No method ever rejects.
 */
export class KeyBoard {
  readonly #options: KeyBoardOptions
  readonly #usage: KeyUsage
  /** Offer without a key that takes calls → until when no other alarm is raised. */
  readonly #alarmedUntil = new Map<string, number>()

  constructor(options: KeyBoardOptions) {
    this.#options = options
    this.#usage = new KeyUsage(options.redis, options.health.fleetNow)
  }

  /** Shares what keys with limits were used for. */
  flush(): void {
    this.#usage
      .flush()
      .catch((err: unknown) => this.#options.logger.warn({ err }, 'usage of keys not shared'))
  }

  /** Whether a key takes a call at an offer. */
  standing(offerId: string, key: LimitedKey): KeyStanding {
    if (this.#usage.backMs(providerOfOffer(offerId), key) > 0) return 'out'
    return this.#options.health.keys.standing(offerId, key.id)
  }

  /** Milliseconds until a key takes calls at an offer again; 0: it takes them now. */
  backMs(offerId: string, key: LimitedKey): number {
    const { keys, fleetNow } = this.#options.health
    const limitedMs = this.#usage.backMs(providerOfOffer(offerId), key)
    return Math.max(limitedMs, (keys.outUntil(offerId, key.id) ?? 0) - fleetNow(), 0)
  }

  /** A provider is asked with the key: this call alone tries one that was refused. */
  take(offerId: string, key: LimitedKey): void {
    this.#options.health.keys.take(offerId, key.id)
    this.#usage.add(providerOfOffer(offerId), key, { requests: 1 })
  }

  /** A provider reported what an attempt with the key took. */
  spend(offerId: string, key: LimitedKey, use: PoolKeyUse): void {
    this.#usage.add(providerOfOffer(offerId), key, use)
  }

  /** No key takes calls at an offer for so long. Raises an alarm, once a minute. */
  noteResting(offerId: string, restMs: number): void {
    const { health, logger } = this.#options
    const now = health.fleetNow()
    if (now < (this.#alarmedUntil.get(offerId) ?? 0)) return
    this.#alarmedUntil.set(offerId, now + MINUTE_MS)
    const fields = { alarm: 'platform-keys-resting', subject: offerId, until: isoTime(now + restMs) }
    logger.warn(fields, 'every key at an offer rests, using other offers')
  }

  /**
   * Reports what an attempt showed of its key.
   * @param isOurs a refusal of our own key raises the alarm of the provider; clients learn of theirs otherwise
   */
  report(offerId: string, keyId: string, effect: KeyEffect, isOurs: boolean): void {
    switch (effect.kind) {
      case 'accepted':
        return this.#accepted(offerId, keyId, isOurs)
      case 'refused':
        return this.#refused(
          effect.by === 'provider' ? everywhere(offerId, keyId) : keySubject(offerId, keyId),
          isOurs,
        )
      case 'rate-limited':
        this.#accepted(offerId, keyId, isOurs)
        this.#rest(keySubject(offerId, keyId), 'rate-limited', effect.restMs)
        return this.nearLimit(offerId, keyId, effect.restMs)
      case 'none':
        return
      default:
        effect satisfies never
    }
  }

  /** The provider says that so many milliseconds pass until a key has requests or tokens left. */
  nearLimit(offerId: string, keyId: string, restMs: number): void {
    this.#rest(everywhere(offerId, keyId), 'near-limit', restMs)
  }

  #accepted(offerId: string, keyId: string, isOurs: boolean): void {
    const { health, logger } = this.#options
    for (const subject of health.keys.refusals(offerId, keyId)) {
      this.#set(subject, null)
      if (isOurs)
        logger.info({ subject, alarmsOver: BREAKER_ALARMS }, 'refused key of a provider accepted again')
    }
  }

  #refused(subject: string, isOurs: boolean): void {
    const { health, breakerCooldownMs, logger } = this.#options
    const before = health.keys.entry(subject)
    // Calls that were in flight when it was refused add nothing.
    if (before?.reason === 'refused' && before.untilMs > health.fleetNow()) return
    this.#set(subject, refusedKey(before, health.fleetNow(), breakerCooldownMs))
    if (!isOurs) return
    const fields = { alarm: 'provider-refused', subject, reason: 'refused' }
    logger.error(fields, 'key refused by its provider, using the others')
  }

  #rest(subject: string, reason: 'rate-limited' | 'near-limit', restMs: number): void {
    const untilMs = Math.ceil(this.#options.health.fleetNow() + restMs)
    const before = this.#options.health.keys.entry(subject)
    // A refusal outlasts it, and each answer of a key near its limit says about the same.
    if (before?.reason === 'refused' || (before && untilMs - before.untilMs < SAME_REST_MS)) return
    this.#set(subject, { reason, untilMs, cooldownMs: 0 })
  }

  /** Null forgets the entry. */
  #set(subject: string, entry: KeyHealthEntry | null): void {
    const { redis, health, logger } = this.#options
    const text = entry ? formatKeyEntry(entry) : ''
    health.keys.set(subject, text)
    const pipeline = redis.pipeline()
    if (entry) pipeline.hset(HEALTH_KEYS, subject, text)
    else pipeline.hdel(HEALTH_KEYS, subject)
    pipeline
      .publish(HEALTH_CHANNEL, JSON.stringify(['key', subject, text]))
      .exec()
      .catch((err: unknown) => logger.warn({ err }, 'health of a key not shared'))
  }
}

/** The subject of a key at all offers of the provider. */
const everywhere = (offerId: string, keyId: string): string =>
  providerKeySubject(providerOfOffer(offerId), keyId)
