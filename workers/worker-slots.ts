import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../src/platform/observability/logger.ts'
import type { ClaimKind } from '../src/platform/queues/claimed-jobs.ts'

interface WorkerSlotsOptions<Job> {
  /** Calls that run at once at the most. */
  concurrency: number
  /** Claims calls that wait; fewer than `most` when no more of that kind do. */
  claim(most: number, kind: ClaimKind): Promise<Job[]>
  /** Waits for a call, or a while, and claims it; says whether others wait. */
  waitAndClaim(): Promise<{ job: Job | null; isMore: boolean }>
  /** Runs a call to its end. Never rejects. */
  run(job: Job): Promise<void>
  logger: Logger
}

/** A tenth of the slots is for calls within their account's share. */
const RESERVED_PART = 10
/** How often a worker that has none but reserved slots looks for calls that may have one. */
const RESERVED_LOOK_MS = 10
const RETRY_MS = 200
/** Calls claimed by one script at the most. */
const CLAIMED_AT_ONCE = 32

/**
 * The slots of one worker, and the loop that fills them. The last tenth of them is reserved for calls within their
 * account's share of the queue (src/billing/holds/admission.ts): however many long calls floods have running, a quiet
 * account's call finds a slot.
 */
export class WorkerSlots<Job> {
  readonly #options: WorkerSlotsOptions<Job>
  readonly #reserved: number
  readonly #freed = new EventEmitter()
  #free: number
  /** Slots that calls may fill which Redis is being asked for. */
  #asking = 0
  #stopping = false
  #loop: Promise<void> = Promise.resolve()

  constructor(options: WorkerSlotsOptions<Job>) {
    const { concurrency } = options
    this.#options = options
    this.#free = concurrency
    this.#reserved = Math.min(Math.ceil(concurrency / RESERVED_PART), concurrency - 1)
  }

  start(): void {
    this.#loop = this.#fill()
  }

  /** Claims no more. Resolves when every call has ended; a claim under way may bring another, see `ended`. */
  async drain(): Promise<void> {
    this.#stopping = true
    while (this.#free < this.#options.concurrency) await once(this.#freed, 'slot')
  }

  /** Resolves once nothing is looked for any more. */
  ended(): Promise<void> {
    return this.#loop
  }

  /** Claims what waits, as far as there are slots for it, then waits for more to come. */
  async #fill(): Promise<void> {
    const { claim, waitAndClaim, logger } = this.#options
    let noneWaits = false
    while (!this.#stopping) {
      if (this.#free === 0) {
        await once(this.#freed, 'slot')
        continue
      }
      const others = this.#free - this.#reserved
      const kind = others > 0 ? 'any' : 'within-share'
      const most = Math.min(others > 0 ? others : this.#free, CLAIMED_AT_ONCE)
      try {
        if (noneWaits && kind === 'any') {
          const { job, isMore } = await this.#asked(1, waitAndClaim())
          if (job) this.#occupy(job)
          noneWaits = !isMore
          continue
        }
        const claimed = await this.#asked(most, claim(most, kind))
        for (const job of claimed) this.#occupy(job)
        const isLess = claimed.length < most
        noneWaits = isLess && kind === 'any'
        // A wait would also end for calls that may not have these slots.
        if (isLess && kind === 'within-share') await this.#freedWithin(RESERVED_LOOK_MS)
      } catch (error) {
        if (this.#stopping) return
        logger.warn({ err: error }, 'no call fetched')
        // A wait may have taken the marker, and its claim failed.
        noneWaits = false
        await delay(RETRY_MS)
      }
    }
  }

  async #asked<Answer>(slots: number, answer: Promise<Answer>): Promise<Answer> {
    this.#asking = slots
    try {
      return await answer
    } finally {
      this.#asking = 0
    }
  }

  async #freedWithin(ms: number): Promise<void> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), ms)
    await once(this.#freed, 'slot', { signal: late.signal }).catch(() => undefined)
    clearTimeout(timer)
  }

  /**
   * Takes a slot for a call that is claimed elsewhere: none that is reserved, nor one that a claim or a wait under way may
   * fill. False where there is no other.
   */
  take(): boolean {
    if (this.#stopping || this.#free - this.#asking <= this.#reserved) return false
    this.#free--
    return true
  }

  /** Runs a call in a slot that was taken, which is free when it has ended. */
  run(job: Job): void {
    void this.#options.run(job).finally(() => this.giveBack())
  }

  giveBack(): void {
    this.#free++
    this.#freed.emit('slot')
  }

  #occupy(job: Job): void {
    this.#free--
    this.run(job)
  }
}
