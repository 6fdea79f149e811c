import { providerOfOffer } from '../core/failover/circuit-breaker.ts'
import {
  type KeyHealthEntry,
  keyOfSubject,
  keySubject,
  parseKeyEntry,
  providerKeySubject,
} from '../core/failover/key-health.ts'
import type { KeyStanding } from '../core/routing/key-pool.ts'

/** How long the call that tries a refused key again has it to itself in its process. */
const TRIED_MS = 30_000
/** A refused key that was not tried again for this long is as any other. */
const UNTRIED_MS = 3_600_000

/** One process's copy of what the fleet knows of keys at providers. Reading it costs nothing. Times are the fleet's. */
export class KeyHealth {
  readonly #now: () => number
  #entries = new Map<string, KeyHealthEntry>()
  /** Subject of a refused key → until when a call tries it. */
  readonly #tried = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether a key takes a call at an offer. */
  standing(offerId: string, keyId: string): KeyStanding {
    if (this.#entries.size === 0) return 'ready'
    if (this.outUntil(offerId, keyId) !== null) return 'out'
    const near = this.#entries.get(providerKeySubject(providerOfOffer(offerId), keyId))
    return near?.reason === 'near-limit' && near.untilMs > this.#now() ? 'spare' : 'ready'
  }

  /** Until when a key takes no call at an offer; null if it takes them. */
  outUntil(offerId: string, keyId: string): number | null {
    let until = 0
    for (const subject of subjectsOf(offerId, keyId)) {
      const entry = this.#entries.get(subject)
      if (entry && entry.reason !== 'near-limit')
        until = Math.max(until, entry.untilMs, this.#tried.get(subject) ?? 0)
    }
    return until > this.#now() ? until : null
  }

  /** A call gets the key: if it was refused, other calls do not until this one has shown whether it is taken again. */
  take(offerId: string, keyId: string): void {
    if (this.#entries.size === 0) return
    for (const subject of subjectsOf(offerId, keyId))
      if (this.#entries.get(subject)?.reason === 'refused') this.#tried.set(subject, this.#now() + TRIED_MS)
  }

  /** What keeps a key from calls for the longest time, at any offer; null: nothing. */
  worst(providerId: string, keyId: string): KeyHealthEntry | null {
    let worst: KeyHealthEntry | null = null
    for (const [subject, entry] of this.#entries) {
      const key = keyOfSubject(subject)
      if (key?.keyId !== keyId || providerOfOffer(key.offerId) !== providerId) continue
      const isLonger = worst === null || entry.untilMs > worst.untilMs
      if (isLonger && (entry.reason === 'refused' || entry.untilMs > this.#now())) worst = entry
    }
    return worst
  }

  entry(subject: string): KeyHealthEntry | undefined {
    return this.#entries.get(subject)
  }

  /** The subjects of a key at an offer that say that it was refused. */
  refusals(offerId: string, keyId: string): string[] {
    if (this.#entries.size === 0) return []
    return subjectsOf(offerId, keyId).filter((subject) => this.#entries.get(subject)?.reason === 'refused')
  }

  /** Sets an entry in Redis's format; the empty text forgets it. False if it is unreadable. */
  set(subject: string, text: string): boolean {
    this.#tried.delete(subject)
    if (text === '') return this.#entries.delete(subject) || true
    const entry = parseKeyEntry(text)
    if (entry) this.#entries.set(subject, entry)
    return entry !== null
  }

  /** Replaces all entries by those of Redis, and returns the subjects of those that are over. */
  replace(hash: Record<string, string>): string[] {
    const nowMs = this.#now()
    const over: string[] = []
    this.#entries = new Map()
    for (const [subject, text] of Object.entries(hash)) {
      const entry = parseKeyEntry(text)
      const lastsMs = entry?.reason === 'refused' ? UNTRIED_MS : 0
      if (entry && entry.untilMs + lastsMs > nowMs) this.#entries.set(subject, entry)
      else over.push(subject)
    }
    for (const subject of this.#tried.keys()) if (!this.#entries.has(subject)) this.#tried.delete(subject)
    return over
  }
}

const subjectsOf = (offerId: string, keyId: string): [ofProvider: string, ofOffer: string] => [
  providerKeySubject(providerOfOffer(offerId), keyId),
  keySubject(offerId, keyId),
]
