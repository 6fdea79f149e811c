interface Counts {
  failures: number
  successes: number
}

/**
 * Gathers what attempts showed until it is sent: failures at once, successes about once a second. At most
 * one batch of an offer is under way; what happens meanwhile goes with the next, so a slow Redis is never
 * flooded.
 */
export class HealthCounts {
  readonly #send: (offerId: string, failures: number, successes: number) => Promise<void>
  readonly #pending = new Map<string, Counts>()
  readonly #sending = new Map<string, Promise<void>>()

  /** `send` must not reject. */
  constructor(send: (offerId: string, failures: number, successes: number) => Promise<void>) {
    this.#send = send
  }

  success(offerId: string): void {
    this.#of(offerId).successes++
  }

  failure(offerId: string): void {
    this.#of(offerId).failures++
    this.#flush(offerId)
  }

  flush(): void {
    for (const offerId of this.#pending.keys()) this.#flush(offerId)
  }

  /** Resolves when what is under way has arrived. */
  async settled(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending.values())
  }

  #of(offerId: string): Counts {
    let counts = this.#pending.get(offerId)
    if (!counts) {
      counts = { failures: 0, successes: 0 }
      this.#pending.set(offerId, counts)
    }
    return counts
  }

  #flush(offerId: string): void {
    const counts = this.#pending.get(offerId)
    if (!counts || this.#sending.has(offerId)) return
    this.#pending.delete(offerId)
    const sent = this.#send(offerId, counts.failures, counts.successes).finally(() => {
      this.#sending.delete(offerId)
      if ((this.#pending.get(offerId)?.failures ?? 0) > 0) this.#flush(offerId)
    })
    this.#sending.set(offerId, sent)
  }
}
