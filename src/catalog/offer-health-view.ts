import { type BreakerEntry, breakerState, parseBreakerEntry, providerOfOffer } from '../core/breaker.ts'
import type { RouteHealth } from '../core/failover.ts'

/** A breaker that is not closed, and whose it is. */
export interface Blocking {
  /** Id of the offer or the provider. */
  subject: string
  level: 'offer' | 'provider'
  entry: BreakerEntry
}

/** One process's copy of the fleet's offer health, kept current by messages and polls. */
export class HealthView {
  #breakers = new Map<string, BreakerEntry>()
  #rateLimited = new Map<string, number>()

  health(offerId: string, nowMs: number): RouteHealth {
    const limitedUntil = this.#rateLimited.get(offerId) ?? 0
    const blocking = this.blocking(offerId)
    const state = breakerState(blocking?.entry, nowMs)
    if (state === 'open') return { kind: 'down', untilMs: blocking!.entry.untilMs }
    if (limitedUntil > nowMs) return { kind: 'rate-limited', untilMs: limitedUntil }
    return state === 'half-open' ? { kind: 'probe' } : { kind: 'ready' }
  }

  /** The breaker that stands between calls and an offer: its own or its provider's, the longer open; or none. */
  blocking(offerId: string): Blocking | null {
    const provider = providerOfOffer(offerId)
    const ofProvider = this.#breakers.get(provider)
    const own = this.#breakers.get(offerId)
    if (ofProvider && (!own || ofProvider.untilMs >= own.untilMs)) {
      return { subject: provider, level: 'provider', entry: ofProvider }
    }
    return own ? { subject: offerId, level: 'offer', entry: own } : null
  }

  /** The entry of an offer or a provider. */
  breaker(subject: string): BreakerEntry | undefined {
    return this.#breakers.get(subject)
  }

  rateLimitedUntil(offerId: string, nowMs: number): number | null {
    const until = this.#rateLimited.get(offerId)
    return until !== undefined && until > nowMs ? until : null
  }

  /** Every offer and provider that something is known against. */
  subjects(): string[] {
    return [...new Set([...this.#breakers.keys(), ...this.#rateLimited.keys()])]
  }

  /** Takes an entry as kept in Redis; the empty text closes the breaker. False when it is unreadable. */
  setBreaker(subject: string, text: string): boolean {
    if (text === '') return this.#breakers.delete(subject) || true
    const entry = parseBreakerEntry(text)
    if (entry) this.#breakers.set(subject, entry)
    return entry !== null
  }

  setRateLimited(offerId: string, untilMs: number): void {
    this.#rateLimited.set(offerId, untilMs)
  }

  /** Takes a message of the health channel. False when it is unreadable. */
  applyMessage(message: string): boolean {
    const [kind, offerId, value] = parseTuple(message)
    if (typeof offerId !== 'string' || typeof value !== 'string') return false
    if (kind === 'breaker') return this.setBreaker(offerId, value)
    const untilMs = Number(value)
    if (kind !== 'rate-limited' || !Number.isFinite(untilMs)) return false
    this.setRateLimited(offerId, untilMs)
    return true
  }

  /** Takes over the whole state as Redis has it. Returns the offers whose rate limit has passed. */
  replace(breakers: Record<string, string>, rateLimited: Record<string, string>, nowMs: number): string[] {
    const entries = Object.entries(breakers).flatMap(([subject, text]) => {
      const entry = parseBreakerEntry(text)
      return entry ? [[subject, entry] as const] : []
    })
    const limits = Object.entries(rateLimited).map(([offerId, text]) => [offerId, Number(text)] as const)
    this.#breakers = new Map(entries)
    this.#rateLimited = new Map(limits.filter(([, untilMs]) => untilMs > nowMs))
    return limits.filter(([, untilMs]) => !(untilMs > nowMs)).map(([offerId]) => offerId)
  }
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
