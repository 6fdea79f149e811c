import type { AttemptFailure } from './attempt-failure.ts'

/**
 * The circuit breaker of one subject, an offer or a whole provider, shared by the fleet. States:
 *   closed     no entry; calls pass, failures and successes are counted in a rolling window
 *   open       an entry whose `untilMs` lies ahead; no call passes
 *   half-open  an entry whose `untilMs` has passed; exactly one call in the fleet probes
 * A probe that succeeds removes the entry; one that fails renews it with twice the cooldown.
 *
 * The breaker of an offer that refuses us opens at once. Failures of one account's calls open a breaker for that
 * account's calls alone, since its prompts may be the cause; no more than a share of them counts against the offer for
 * all accounts. The breaker of a provider, which covers all its offers, opens when it refuses our key at three offers and
 * accepted it at none recently. An offer where a prompt of some kind of content took more tokens than can be held for has a
 * breaker for that kind alone, which opens at once, stays open for hours and is never probed: for the account's calls, and for
 * all once it opened for several accounts. A rate limit with an end is
 * kept beside the breaker, not in it.
 */
export interface BreakerEntry {
  reason: 'failing' | 'refused' | 'underestimated'
  /** Unix milliseconds. */
  untilMs: number
  cooldownMs: number
}

export type BreakerState = 'closed' | 'open' | 'half-open'

const MAX_COOLDOWN_MS: Record<BreakerEntry['reason'], number> = {
  failing: 15_000,
  refused: 1_800_000,
  underestimated: 21_600_000,
}
/** Of a cooldown: what is left of it at least after a probe that took long to fail. */
const LEAST_REST = 1 / 4
/** What refuses our credentials or model does not heal by itself; it is probed rarely. */
const REFUSED_COOLDOWN_FACTOR = 6
/** With less than half of the calls failing, an offer still serves more than it breaks. */
export const BREAKER_FAILURE_PERCENT = 50

/** The provider of an offer: what its id begins with. No offer has an id without a slash, so the two never meet. */
export function providerOfOffer(offerId: string): string {
  const slash = offerId.indexOf('/')
  return slash < 0 ? offerId : offerId.slice(0, slash)
}

/** The kinds of alarms that an open breaker raises. */
export const BREAKER_ALARMS = ['breaker-opened', 'provider-refused']

const KINDS_MARK = '#'

/** The subject of an offer's breaker for prompts of some kinds of content, such as `image+text`. */
export const contentSubject = (offerId: string, kinds: string): string => `${offerId}${KINDS_MARK}${kinds}`

/** An offer gets no prompts of some kinds of content from anybody after so many accounts' prompts took too many tokens. */
export const ACCOUNTS_EXCLUDING = 3

const ACCOUNT_MARK = `${KINDS_MARK}account:`

/** The subject of an offer's breaker before the calls of one account. */
export const accountSubject = (offerId: string, accountId: string): string =>
  `${offerId}${ACCOUNT_MARK}${accountId}`

/** The offer whose breaker before one account's calls this is; null for any other. */
export function offerOfAccountSubject(subject: string): string | null {
  const mark = subject.lastIndexOf(ACCOUNT_MARK)
  return mark < 0 ? null : subject.slice(0, mark)
}

/** Failures that one account may add to those of an offer: less than half of those that open its breaker. */
export const accountShare = (breakerFailures: number): number =>
  Math.max(1, Math.floor((breakerFailures - 1) / 2))

/** Whether a breaker is an offer's, whatever it stands before. */
export const isOfOffer = (subject: string, offerId: string): boolean =>
  subject === offerId || subject.startsWith(`${offerId}${KINDS_MARK}`)

export function breakerState(entry: BreakerEntry | undefined, nowMs: number): BreakerState {
  if (entry === undefined) return 'closed'
  return nowMs < entry.untilMs ? 'open' : 'half-open'
}

/** The cooldown in ms with which a breaker opens for the first time. */
export function firstCooldownMs(reason: BreakerEntry['reason'], cooldownMs: number): number {
  if (reason === 'underestimated') return MAX_COOLDOWN_MS[reason]
  return Math.min(
    MAX_COOLDOWN_MS[reason],
    reason === 'refused' ? cooldownMs * REFUSED_COOLDOWN_FACTOR : cooldownMs,
  )
}

/** The entry after a failed probe. The time that the probe took is part of the cooldown. */
export function reopened(entry: BreakerEntry, nowMs: number, probedAtMs: number): BreakerEntry {
  const cooldownMs = Math.min(MAX_COOLDOWN_MS[entry.reason], entry.cooldownMs * 2)
  const untilMs = Math.ceil(Math.max(probedAtMs + cooldownMs, nowMs + cooldownMs * LEAST_REST))
  return { reason: entry.reason, cooldownMs, untilMs }
}

/** An entry as kept in Redis. */
export const formatBreakerEntry = (entry: BreakerEntry): string =>
  `${entry.reason}:${entry.untilMs}:${entry.cooldownMs}`

/** Parses an entry as kept in Redis; null on anything else. */
export function parseBreakerEntry(text: string): BreakerEntry | null {
  const match = /^(failing|refused|underestimated):(\d{1,16}):(\d{1,16})$/.exec(text)
  if (!match) return null
  return {
    reason: match[1] as BreakerEntry['reason'],
    untilMs: Number(match[2]),
    cooldownMs: Number(match[3]),
  }
}

/** What the end of an attempt says about the health of the offer it happened at. */
export type HealthEffect =
  /** The provider answered as it should, if only to say that the request is at fault. */
  | { kind: 'success' }
  | { kind: 'failure' }
  /**
   * Credentials, balance or model name rejected; permanent until an operator acts. By the provider: our key or balance
   * there, which concerns every offer of it. By the offer: this model, or the permission to use it.
   */
  | { kind: 'refused'; by: 'provider' | 'offer' }
  | { kind: 'rate-limited'; retryAfterMs: number }
  /** Nothing: the clock or the client ended it, or this process stood still. */
  | { kind: 'none' }

/** 401: the key is wrong. 402: the balance behind it is spent. No status: there is no key. 403 and 404 may be about one model only. */
const isKeyRefused = (httpStatus: number | null): boolean =>
  httpStatus === null || httpStatus === 401 || httpStatus === 402

/** Reads the health effect off a failure. */
export function healthEffect(failure: AttemptFailure): HealthEffect {
  if (failure.isLate) return { kind: 'none' }
  switch (failure.kind) {
    case 'refused':
      return { kind: 'refused', by: isKeyRefused(failure.httpStatus) ? 'provider' : 'offer' }
    case 'rate-limited':
      return failure.retryAfterMs === null
        ? { kind: 'failure' }
        : { kind: 'rate-limited', retryAfterMs: failure.retryAfterMs }
    case 'connect':
    case 'reset':
    case 'server-error':
    case 'silent':
    case 'stalled':
    case 'broken-stream':
    case 'unreadable':
      return { kind: 'failure' }
    case 'context-length':
    case 'content-policy':
    case 'bad-request':
    case 'prefill-refused':
    case 'rescue-mismatch':
    case 'not-stored':
    case 'account-full':
      return { kind: 'success' }
    // A prompt can ask for nothing, so this is no word against the offer.
    case 'empty-answer':
    case 'call-timeout':
    case 'key-unavailable':
      return { kind: 'none' }
    default:
      return failure.kind satisfies never
  }
}

/** The next state of a probed breaker. */
export interface ProbeVerdict {
  outcome: 'close' | 'reopen' | 'abandon'
  /** The attempt also says something of the offer as any other would. */
  tellsOfOffer: boolean
}

/**
 * What a probe showed of the breaker it was for. That of a provider is about our key: it closes once the key is
 * taken, if only for another model, and learns nothing from an outage.
 */
export function probeVerdict(
  effect: HealthEffect,
  subject: 'offer' | 'provider',
  reason: BreakerEntry['reason'],
): ProbeVerdict {
  switch (effect.kind) {
    case 'success':
      return { outcome: 'close', tellsOfOffer: false }
    case 'failure':
      return subject === 'offer'
        ? { outcome: 'reopen', tellsOfOffer: false }
        : { outcome: 'abandon', tellsOfOffer: true }
    case 'refused':
      if (effect.by !== subject) {
        return { outcome: subject === 'provider' ? 'close' : 'abandon', tellsOfOffer: true }
      }
      return reason === 'refused'
        ? { outcome: 'reopen', tellsOfOffer: false }
        : { outcome: 'abandon', tellsOfOffer: true }
    case 'rate-limited':
    case 'none':
      return { outcome: 'abandon', tellsOfOffer: false }
    default:
      return effect satisfies never
  }
}
