/**
 * The circuit breaker of one offer, shared by the fleet. States:
 *   closed     no entry; calls pass, failures and successes are counted in a rolling window
 *   open       an entry whose `untilMs` lies ahead; no call passes
 *   half-open  an entry whose `untilMs` has passed; exactly one call in the fleet probes
 * A probe that succeeds removes the entry; one that fails renews it with twice the cooldown. An offer that
 * refuses our key or model opens at once. A rate limit with an end is kept beside the breaker, not in it.
 */
export interface BreakerEntry {
  reason: 'failing' | 'refused'
  /** Unix milliseconds. */
  untilMs: number
  cooldownMs: number
}

export type BreakerState = 'closed' | 'open' | 'half-open'

export const BREAKER_MAX_COOLDOWN_MS = 120_000
/** An offer that refuses our credentials or model does not heal by itself; it is probed rarely. */
const REFUSED_COOLDOWN_FACTOR = 6
/** With less than half of the calls failing, an offer still serves more than it breaks. */
export const BREAKER_FAILURE_PERCENT = 50

/** The state an entry stands for at a time. */
export function breakerState(entry: BreakerEntry | undefined, nowMs: number): BreakerState {
  if (entry === undefined) return 'closed'
  return nowMs < entry.untilMs ? 'open' : 'half-open'
}

/** The cooldown in ms with which a breaker opens for the first time. */
export function firstCooldownMs(reason: BreakerEntry['reason'], cooldownMs: number): number {
  return Math.min(
    BREAKER_MAX_COOLDOWN_MS,
    reason === 'refused' ? cooldownMs * REFUSED_COOLDOWN_FACTOR : cooldownMs,
  )
}

/** The entry after a failed probe. */
export function reopened(entry: BreakerEntry, nowMs: number): BreakerEntry {
  const cooldownMs = Math.min(BREAKER_MAX_COOLDOWN_MS, entry.cooldownMs * 2)
  return { reason: entry.reason, cooldownMs, untilMs: nowMs + cooldownMs }
}

/** An entry as kept in Redis. */
export const formatBreakerEntry = (entry: BreakerEntry): string =>
  `${entry.reason}:${entry.untilMs}:${entry.cooldownMs}`

/** Parses an entry as kept in Redis; null on anything else. */
export function parseBreakerEntry(text: string): BreakerEntry | null {
  const match = /^(failing|refused):(\d{1,16}):(\d{1,16})$/.exec(text)
  if (!match) return null
  return {
    reason: match[1] as BreakerEntry['reason'],
    untilMs: Number(match[2]),
    cooldownMs: Number(match[3]),
  }
}
