import {
  ACCOUNTS_EXCLUDING,
  accountShare,
  accountSubject,
  BREAKER_FAILURE_PERCENT,
  type BreakerEntry,
  contentSubject,
  firstCooldownMs,
  formatBreakerEntry,
  isOfOffer,
  type ProbeVerdict,
  providerOfOffer,
} from '../../core/failover/circuit-breaker.ts'
import { formatLearned, LEARNED_FOR_MS } from '../../core/routing/learned-tokens.ts'
import { readScript } from '../../platform/redis/read-script.ts'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import {
  HEALTH_BREAKERS,
  HEALTH_CHANNEL,
  HEALTH_KEYS,
  HEALTH_LEARNED,
  HEALTH_RATE_LIMITED,
  healthExclusions,
  healthKeyTaken,
  healthProbe,
  healthRefusals,
  healthWindow,
} from '../../platform/redis/redis-keys.ts'
import type { Passed } from './offer-health.ts'

/** The results of calls at an offer. */
interface HealthBatch {
  offerId: string
  /** The account of failed calls; null for successes, which count for all accounts. */
  accountId: string | null
  failures: number
  successes: number
}

const REPORT = readScript(import.meta.url, './report-health.lua')
const EXCLUDE = readScript(import.meta.url, './exclude-content.lua')
const LEARN = readScript(import.meta.url, './learn-tokens.lua')
const REFUSE_PROVIDER = readScript(import.meta.url, './refuse-provider.lua')
const SETTLE_PROBE = readScript(import.meta.url, './settle-probe.lua')

/**
 * Any result besides a refusal shows for this long that the provider accepts our key, since a wrong key is refused
 * before everything else. A refusal in that time concerns one offer only.
 */
export const KEY_TAKEN_MS = 60_000
/** Our key counts as wrong after refusals at this many offers within this time. */
const REFUSALS_PROVING = 3
const REFUSALS_MS = 600_000

export interface BreakerSettings {
  breakerFailures: number
  breakerWindowMs: number
  breakerCooldownMs: number
}

export interface OpenedBreaker {
  subject: string
  /** In Redis's format. */
  entry: string
  /** The counts of its window; null if none were needed. */
  counted: { failures: number; attempts: number } | null
}

export type BreakerStore = ReturnType<typeof createBreakerStore>

/**
 * Offer health in Redis for the fleet. A method that returns a promise is one round trip and may reject, besides
 * `settled`. `now` is the fleet's clock, unix ms. `onCounted` gets the breaker that a batch of counts opened, or null,
 * and must not reject.
 */
export function createBreakerStore(
  redis: Redis,
  settings: BreakerSettings,
  now: () => number,
  onCounted: (opened: Promise<OpenedBreaker | null>) => Promise<void>,
) {
  const reportScript = defineScript(redis, 'syReportHealth', REPORT)
  const probeScript = defineScript(redis, 'sySettleProbe', SETTLE_PROBE)

  const refuseScript = defineScript(redis, 'syRefuseProvider', REFUSE_PROVIDER)
  const excludeScript = defineScript(redis, 'syExcludeContent', EXCLUDE)
  const learnScript = defineScript(redis, 'syLearnTokens', LEARN)

  const newEntry = (reason: BreakerEntry['reason']): string => {
    const cooldownMs = firstCooldownMs(reason, settings.breakerCooldownMs)
    return formatBreakerEntry({ reason, cooldownMs, untilMs: now() + cooldownMs })
  }

  const report = async (
    { offerId, accountId, failures, successes }: HealthBatch,
    reason: BreakerEntry['reason'],
  ): Promise<OpenedBreaker | null> => {
    const entry = newEntry(reason)
    const account = accountSubject(offerId, accountId ?? '')
    const opened = (await reportScript(
      [
        healthWindow(offerId),
        HEALTH_BREAKERS,
        healthKeyTaken(providerOfOffer(offerId)),
        healthWindow(account),
      ],
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
        KEY_TAKEN_MS,
        account,
        accountShare(settings.breakerFailures),
      ],
    )) as 0 | [whose: 1 | 2, failures: number, attempts: number]
    if (opened === 0) return null
    const [whose, failed, attempts] = opened
    return {
      subject: whose === 2 ? account : offerId,
      entry,
      counted: reason === 'failing' ? { failures: failed, attempts } : null,
    }
  }

  // Failures are sent at once, successes when they are flushed. At most one batch of an offer, and of an account there,
  // is in flight; later results go with the next, so a slow Redis is never flooded.
  const pending = new Map<string, HealthBatch>()
  const sending = new Map<string, Promise<void>>()

  const pendingOf = (subject: string, offerId: string, accountId: string | null): HealthBatch => {
    const batch = pending.get(subject) ?? { offerId, accountId, failures: 0, successes: 0 }
    pending.set(subject, batch)
    return batch
  }

  const send = (subject: string): void => {
    const batch = pending.get(subject)
    if (!batch || sending.has(subject)) return
    pending.delete(subject)
    const sent = onCounted(report(batch, 'failing')).finally(() => {
      sending.delete(subject)
      if ((pending.get(subject)?.failures ?? 0) > 0) send(subject)
    })
    sending.set(subject, sent)
  }

  return {
    /** Counts a success of an offer, for all accounts. */
    countSuccess(offerId: string): void {
      pendingOf(offerId, offerId, null).successes++
    },

    /** Counts a failure of an offer for an account, after the successes that were counted before. */
    countFailure(offerId: string, accountId: string): void {
      const subject = accountSubject(offerId, accountId)
      pendingOf(subject, offerId, accountId).failures++
      send(offerId)
      send(subject)
    },

    /** Sends the counts that are not sent yet. */
    flush(): void {
      for (const subject of pending.keys()) send(subject)
    },

    /** Resolves when all counts in flight have arrived. */
    async settled(): Promise<void> {
      while (sending.size > 0) await Promise.all(sending.values())
    },

    /** Opens the breaker of an offer that refuses us. Returns it if this opened it, otherwise null. */
    refuse: (offerId: string) => report({ offerId, accountId: null, failures: 0, successes: 0 }, 'refused'),

    /** Records a refusal of our key at an offer. Returns the provider's breaker if this opened it. */
    async refuseKey(offerId: string): Promise<OpenedBreaker | null> {
      const provider = providerOfOffer(offerId)
      const entry = newEntry('refused')
      const opened = await refuseScript(
        [healthRefusals(provider), healthKeyTaken(provider), HEALTH_BREAKERS],
        [provider, offerId, REFUSALS_MS, REFUSALS_PROVING, entry, HEALTH_CHANNEL],
      )
      return opened === 1 ? { subject: provider, entry, counted: null } : null
    },

    /** Opens the breaker of an offer for some kinds of content: the account's, and the one for all once several have theirs. */
    async exclude(offerId: string, kinds: string, accountId: string): Promise<OpenedBreaker> {
      const entry = newEntry('underestimated')
      const subject = contentSubject(offerId, kinds)
      const account = accountSubject(subject, accountId)
      const opened = await excludeScript(
        [HEALTH_BREAKERS, healthExclusions(subject)],
        [
          ...[subject, account, accountId, entry],
          firstCooldownMs('underestimated', settings.breakerCooldownMs),
          ...[ACCOUNTS_EXCLUDING, HEALTH_CHANNEL],
        ],
      )
      return { subject: opened === 2 ? subject : account, entry, counted: null }
    },

    /** Keeps what an offer adds to prompts. Returns its entry, and whether nothing was known; null if as much was. */
    async learn(subject: string, tokens: number): Promise<{ entry: string; isFirst: boolean } | null> {
      const nowMs = Math.floor(now())
      const entry = formatLearned({ tokens, untilMs: nowMs + LEARNED_FOR_MS })
      const learned = await learnScript([HEALTH_LEARNED], [subject, tokens, nowMs, entry, HEALTH_CHANNEL])
      return learned === 0 ? null : { entry, isFirst: learned === 2 }
    },

    async limitRate(offerId: string, untilMs: number): Promise<void> {
      await redis
        .pipeline()
        .hset(HEALTH_RATE_LIMITED, offerId, untilMs)
        .set(healthKeyTaken(providerOfOffer(offerId)), '1', 'PX', KEY_TAKEN_MS)
        .publish(HEALTH_CHANNEL, JSON.stringify(['rate-limited', offerId, String(untilMs)]))
        .exec()
    },

    /** False if another call holds the probe. It is free again after `lifetimeMs`, in case its worker dies. */
    async claimProbe(subject: string, token: string, lifetimeMs: number): Promise<boolean> {
      return (await redis.set(healthProbe(subject), token, 'PX', Math.ceil(lifetimeMs), 'NX')) === 'OK'
    },

    /** Extends the probe to `lifetimeMs` from now. */
    async keepProbe(subject: string, lifetimeMs: number): Promise<void> {
      await redis.pexpire(healthProbe(subject), lifetimeMs)
    },

    /** `entry` is the entry of a reopened breaker. False if the token does not hold the probe. */
    async settleProbe(
      subject: string,
      token: string,
      outcome: ProbeVerdict['outcome'],
      entry: string,
    ): Promise<boolean> {
      const held = await probeScript(
        [healthProbe(subject), HEALTH_BREAKERS, healthWindow(subject)],
        [subject, token, outcome, entry, HEALTH_CHANNEL],
      )
      return held === 1
    },
  }
}

/** Deletes the rate limits, breakers and learned tokens that have expired. */
export async function deletePassed(
  redis: Redis,
  { limited, unprobed, learned, keys }: Passed,
): Promise<void> {
  if (learned.length > 0) await redis.hdel(HEALTH_LEARNED, ...learned)
  if (limited.length > 0) await redis.hdel(HEALTH_RATE_LIMITED, ...limited)
  if (unprobed.length > 0) await redis.hdel(HEALTH_BREAKERS, ...unprobed)
  if (keys.length > 0) await redis.hdel(HEALTH_KEYS, ...keys)
}

/**
 * Closes the breaker of an offer and that of its provider, and forgets what the offer was seen to add to prompts. Returns the
 * breakers that were open. Rejects when Redis does.
 */
export async function enableOffer(redis: Redis, offerId: string): Promise<string[]> {
  await forget(redis, HEALTH_LEARNED, 'learned', (subject) => isOfOffer(subject, offerId))
  return closeBreakers(
    redis,
    (subject) => isOfOffer(subject, offerId) || subject === providerOfOffer(offerId),
  )
}

/**
 * Closes the breakers of a provider and all its offers, after an operator fixed its key, and forgets what is known of its keys.
 * Returns those that were open, and the keys that were refused.
 */
export async function enableProvider(redis: Redis, providerId: string): Promise<string[]> {
  const isMeant = (subject: string) => providerOfOffer(subject) === providerId
  const keys = await forget(redis, HEALTH_KEYS, 'key', isMeant)
  const closed = await closeBreakers(redis, isMeant)
  return [...closed, ...keys]
}

/** Deletes entries of a hash and notifies every process. Returns their subjects. */
async function forget(
  redis: Redis,
  hash: string,
  kind: 'learned' | 'key',
  isMeant: (subject: string) => boolean,
): Promise<string[]> {
  const subjects = (await redis.hkeys(hash)).filter(isMeant)
  if (subjects.length === 0) return []
  const forgetting = redis.multi().hdel(hash, ...subjects)
  for (const subject of subjects) forgetting.publish(HEALTH_CHANNEL, JSON.stringify([kind, subject, '']))
  await forgetting.exec()
  return subjects
}

async function closeBreakers(redis: Redis, isMeant: (subject: string) => boolean): Promise<string[]> {
  const open = (await redis.hkeys(HEALTH_BREAKERS)).filter(isMeant)
  if (open.length === 0) return []
  const closing = redis.multi().hdel(HEALTH_BREAKERS, ...open)
  for (const subject of open) {
    // The probe is deleted, so that the result of a running probe is discarded.
    closing.del(healthWindow(subject), healthProbe(subject), healthExclusions(subject))
    closing.del(healthRefusals(providerOfOffer(subject)))
    closing.publish(HEALTH_CHANNEL, JSON.stringify(['breaker', subject, '']))
  }
  await closing.exec()
  return open
}
