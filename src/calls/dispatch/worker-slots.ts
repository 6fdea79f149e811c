import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../platform/observability/logger.ts'
import type { ClaimKind } from '../../platform/queues/claimed-jobs.ts'

export interface WorkerSlotsOptions<Job> {
  /** Calls that run at once at the most. */
  concurrency: number
  /** Claims calls that wait; fewer than `most` when no more of that kind do. */
  claim(most: number, kind: ClaimKind): Promise<Job[]>
  /** Resolves when a call may have come, or after a while. */
  wait(): Promise<void>
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
 * account's share of the queue (src/core/calls/queue-turn.ts): however many long calls floods have running, a quiet
 * account's call finds a slot.
 */
export class WorkerSlots<Job> {
  readonly #options: WorkerSlotsOptions<Job>
  readonly #reserved: number
  readonly #freed = new EventEmitter()
  #free: number
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
    const { claim, wait, logger } = this.#options
    while (!this.#stopping) {
      if (this.#free === 0) {
        await once(this.#freed, 'slot')
        continue
      }
      const others = this.#free - this.#reserved
      const kind = others > 0 ? 'any' : 'within-share'
      const most = Math.min(others > 0 ? others : this.#free, CLAIMED_AT_ONCE)
      try {
        const claimed = await claim(most, kind)
        for (const job of claimed) void this.#occupy(job)
        if (claimed.length === most) continue
        // None waits that may have a slot. Whatever comes next wakes the wait; it would also wake for other calls.
        if (kind === 'any') await wait()
        else await this.#freedWithin(RESERVED_LOOK_MS)
      } catch (error) {
        if (this.#stopping) return
        logger.warn({ err: error }, 'no call fetched')
        await delay(RETRY_MS)
      }
    }
  }

  async #freedWithin(ms: number): Promise<void> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), ms)
    await once(this.#freed, 'slot', { signal: late.signal }).catch(() => undefined)
    clearTimeout(timer)
  }

  async #occupy(job: Job): Promise<void> {
    this.#free--
    try {
      await this.#options.run(job)
    } finally {
      this.#free++
      this.#freed.emit('slot')
    }
  }
}
