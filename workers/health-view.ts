import { type BreakerEntry, breakerState, parseBreakerEntry } from '../src/core/breaker.ts'
import type { RouteHealth } from '../src/core/failover.ts'

/** One process's copy of the fleet's offer health, kept current by messages and polls. */
export class HealthView {
  #breakers = new Map<string, BreakerEntry>()
  #rateLimited = new Map<string, number>()

  health(offerId: string, nowMs: number): RouteHealth {
    const limitedUntil = this.#rateLimited.get(offerId) ?? 0
    const entry = this.#breakers.get(offerId)
    const state = breakerState(entry, nowMs)
    if (state === 'open') return { kind: 'down', untilMs: entry!.untilMs }
    if (limitedUntil > nowMs) return { kind: 'rate-limited', untilMs: limitedUntil }
    return state === 'half-open' ? { kind: 'probe' } : { kind: 'ready' }
  }

  breaker(offerId: string): BreakerEntry | undefined {
    return this.#breakers.get(offerId)
  }

  rateLimitedUntil(offerId: string, nowMs: number): number | null {
    const until = this.#rateLimited.get(offerId)
    return until !== undefined && until > nowMs ? until : null
  }

  offers(): string[] {
    return [...new Set([...this.#breakers.keys(), ...this.#rateLimited.keys()])]
  }

  /** Takes an entry as kept in Redis; the empty text closes the breaker. False when it is unreadable. */
  setBreaker(offerId: string, text: string): boolean {
    if (text === '') return this.#breakers.delete(offerId) || true
    const entry = parseBreakerEntry(text)
    if (entry) this.#breakers.set(offerId, entry)
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
    const entries = Object.entries(breakers).flatMap(([offerId, text]) => {
      const entry = parseBreakerEntry(text)
      return entry ? [[offerId, entry] as const] : []
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
