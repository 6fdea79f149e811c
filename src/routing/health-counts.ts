import { accountSubject } from '../core/failover/breaker.ts'

/** What calls at an offer showed. */
export interface HealthBatch {
  offerId: string
  /** Whose calls failed; null for successes, which count for everybody. */
  accountId: string | null
  failures: number
  successes: number
}

/**
 * Gathers what attempts showed until it is sent: failures at once, successes about once a second. At most
 * one batch of an offer, and of an account there, is under way; what happens meanwhile goes with the next, so a slow
 * Redis is never flooded.
 */
export class HealthCounts {
  readonly #send: (batch: HealthBatch) => Promise<void>
  readonly #pending = new Map<string, HealthBatch>()
  readonly #sending = new Map<string, Promise<void>>()

  /** `send` must not reject. */
  constructor(send: (batch: HealthBatch) => Promise<void>) {
    this.#send = send
  }

  success(offerId: string): void {
    this.#of(offerId, offerId, null).successes++
  }

  failure(offerId: string, accountId: string): void {
    const key = accountSubject(offerId, accountId)
    this.#of(key, offerId, accountId).failures++
    // What speaks for the offer is heard before what speaks against it.
    this.#flush(offerId)
    this.#flush(key)
  }

  flush(): void {
    for (const key of this.#pending.keys()) this.#flush(key)
  }

  /** Resolves when what is under way has arrived. */
  async settled(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending.values())
  }

  #of(key: string, offerId: string, accountId: string | null): HealthBatch {
    let batch = this.#pending.get(key)
    if (!batch) {
      batch = { offerId, accountId, failures: 0, successes: 0 }
      this.#pending.set(key, batch)
    }
    return batch
  }

  #flush(key: string): void {
    const batch = this.#pending.get(key)
    if (!batch || this.#sending.has(key)) return
    this.#pending.delete(key)
    const sent = this.#send(batch).finally(() => {
      this.#sending.delete(key)
      if ((this.#pending.get(key)?.failures ?? 0) > 0) this.#flush(key)
    })
    this.#sending.set(key, sent)
  }
}
