import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../platform/observability/logger.ts'
import type { ClaimKind } from '../../platform/queues/claimed-jobs.ts'

interface WorkerSlotsOptions<Job> {
  /** Maximum concurrent calls. */
  concurrency: number
  /** Claims waiting calls, at most `most`. */
  claim(most: number, kind: ClaimKind): Promise<Job[]>
  /** Waits for a call, with a timeout, and claims it. `isMore`: other calls wait. */
  waitAndClaim(): Promise<{ job: Job | null; isMore: boolean }>
  /** Runs a call to its end. Never rejects. */
  run(job: Job): Promise<void>
  logger: Logger
}

/** A tenth of the slots is for calls within their account's share. */
const RESERVED_PART = 10
/** How often a worker with only reserved slots checks for calls that may use them. */
const RESERVED_LOOK_MS = 10
const RETRY_MS = 200
/** Maximum calls claimed by one script. */
const CLAIMED_AT_ONCE = 32

/**
 * The slots of one worker, and the loop that fills them. The last tenth is reserved for calls within their account's
 * share of the queue (src/billing/holds/admission.ts), so that a quiet account's call finds a slot however many long
 * calls of busy accounts run.
 */
export class WorkerSlots<Job> {
  readonly #options: WorkerSlotsOptions<Job>
  readonly #reserved: number
  readonly #freed = new EventEmitter()
  #free: number
  /** Slots that a claim in flight may fill. */
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

  /** Stops claiming. Resolves when every call has ended; a claim in flight may bring another, see `ended`. */
  async drain(): Promise<void> {
    this.#stopping = true
    while (this.#free < this.#options.concurrency) await once(this.#freed, 'slot')
  }

  /** Resolves when no claim is in flight. */
  ended(): Promise<void> {
    return this.#loop
  }

  /** Claims waiting calls while there are slots for them, then waits for more. */
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
        // A wait would also end for calls that may not use these slots.
        if (isLess && kind === 'within-share') await this.#freedWithin(RESERVED_LOOK_MS)
      } catch (error) {
        if (this.#stopping) return
        logger.warn({ err: error }, 'call claim failed')
        // A wait may have taken the marker before its claim failed.
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
   * Takes a slot for a call that is claimed elsewhere, but no reserved slot, nor one that a claim or a wait in flight
   * may fill. False if there is no other.
   */
  take(): boolean {
    if (this.#stopping || this.#free - this.#asking <= this.#reserved) return false
    this.#free--
    return true
  }

  /** Runs a call in a taken slot, which is free again when it has ended. */
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
