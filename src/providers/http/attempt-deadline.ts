/** How long an attempt may be silent, in ms. All of it runs from the moment the attempt starts. */
export interface AttemptLimits {
  connectMs: number
  /** Until the first token. */
  firstTokenMs: number
  /** Between tokens. */
  idleMs: number
  /** The rest of the whole call's time. */
  totalMs: number
}

export type Expiry = 'connect' | 'first-token' | 'idle' | 'total' | 'cut-short'

/**
 * Every limit of one attempt on one timer. A token only notes the time; the timer finds out when it fires
 * whether something is due, and arms itself for what comes next.
 */
export class AttemptDeadline {
  readonly #limits: AttemptLimits
  readonly #expired: (what: Expiry) => void
  readonly #startedAt: number
  #connected = false
  /** Monotonic ms of the last token; 0 before the first. */
  #lastTokenAt = 0
  #cutShortAt = Number.POSITIVE_INFINITY
  #firesAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(limits: AttemptLimits, expired: (what: Expiry) => void) {
    this.#limits = limits
    this.#expired = expired
    this.#startedAt = performance.now()
    this.#arm(this.#startedAt)
  }

  /** Since the last token; 0 before the first. */
  get silentMs(): number {
    return this.#lastTokenAt === 0 ? 0 : performance.now() - this.#lastTokenAt
  }

  connected(): void {
    this.#connected = true
  }

  token(): void {
    const isFirst = this.#lastTokenAt === 0
    this.#lastTokenAt = performance.now()
    if (isFirst && this.#lastTokenAt + this.#limits.idleMs < this.#firesAt) this.#rearm(this.#lastTokenAt)
  }

  /** Ends the attempt `ms` from now at the latest. */
  cutShort(ms: number): void {
    const now = performance.now()
    this.#cutShortAt = Math.min(this.#cutShortAt, now + ms)
    this.#rearm(now)
  }

  /** Ends the attempt `ms` from now, unless it is told so again. */
  endAfter(ms: number): void {
    const now = performance.now()
    this.#cutShortAt = now + ms
    this.#rearm(now)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #rearm(now: number): void {
    clearTimeout(this.#timer)
    this.#arm(now)
  }

  #arm(now: number): void {
    const { at } = this.#next()
    this.#firesAt = at
    // Timers of Node round down; a millisecond more spares a second round.
    this.#timer = setTimeout(() => this.#fire(), Math.max(1, Math.ceil(at - now) + 1))
  }

  #fire(): void {
    const now = performance.now()
    const next = this.#next()
    if (now >= next.at) this.#expired(next.what)
    else this.#arm(now)
  }

  /** What is due next if nothing more arrives. */
  #next(): { what: Expiry; at: number } {
    const { connectMs, firstTokenMs, idleMs, totalMs } = this.#limits
    let what: Expiry = 'total'
    let at = this.#startedAt + totalMs
    const sooner = (other: Expiry, otherAt: number) => {
      if (otherAt < at) [what, at] = [other, otherAt]
    }
    if (this.#lastTokenAt > 0) sooner('idle', this.#lastTokenAt + idleMs)
    else sooner('first-token', this.#startedAt + firstTokenMs)
    if (!this.#connected) sooner('connect', this.#startedAt + connectMs)
    sooner('cut-short', this.#cutShortAt)
    return { what, at }
  }
}
