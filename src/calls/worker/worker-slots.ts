import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../platform/observability/logger.ts'
import type { ClaimKind } from '../../platform/queues/claimed-jobs.ts'

/** The free slots of a process, which its workers of several shards share. */
export type SlotPool = ReturnType<typeof createSlotPool>

export const createSlotPool = (concurrency: number) => ({
  concurrency,
  free: concurrency,
  /** Slots of the lane `flex`. */
  flex: 0,
  /** Slots that claims in flight may fill. */
  claiming: 0,
  /** The same and those of waits in flight. */
  asking: 0,
  /** The workers that have waiting calls, as far as they know; the first one is next. */
  wanting: new Set<object>(),
  /** Emits `slot` to all of them. */
  freed: new EventEmitter().setMaxListeners(0),
})

interface WorkerSlotsOptions<Job> {
  /** Maximum concurrent calls. */
  concurrency: number
  /** The slots that it shares with workers of other shards in its process. */
  pool: SlotPool
  /** Whether a call is of the lane `flex`. */
  isFlex(job: Job): boolean
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
/** Calls of the lane `flex`, which may take minutes, fill a half of the slots at most. */
const FLEX_PART = 2
/** How often a worker checks for calls, where not all may use its slots. */
const RESERVED_LOOK_MS = 10
const RETRY_MS = 200
/** Maximum calls claimed by one script. */
const CLAIMED_AT_ONCE = 32

/**
 * The slots of one worker, and the loop that fills them. Workers of several shards share them: those
 * with waiting calls divide what is free, and take a single slot in turns. A call that a shard waits for is run at once, in
 * addition if need be. The last tenth is reserved for calls within their account's
 * share of the queue (src/billing/holds/admission.ts), so that a quiet account's call finds a slot however many long
 * calls of busy accounts run. Half of the slots is for calls outside of the lane `flex`.
 */
export class WorkerSlots<Job> {
  readonly #options: WorkerSlotsOptions<Job>
  readonly #reserved: number
  readonly #flexMax: number
  readonly #pool: SlotPool
  /** Calls that run. */
  #running = 0
  #stopping = false
  #loop: Promise<void> = Promise.resolve()

  constructor(options: WorkerSlotsOptions<Job>) {
    const { concurrency, pool } = options
    this.#options = options
    this.#pool = pool
    this.#reserved = Math.min(Math.ceil(concurrency / RESERVED_PART), concurrency - 1)
    this.#flexMax = Math.ceil(concurrency / FLEX_PART)
  }

  start(): void {
    this.#loop = this.#fill()
  }

  /** Stops claiming. Resolves when every call has ended; a claim in flight may bring another, see `ended`. */
  async drain(): Promise<void> {
    this.#stopping = true
    while (this.#running > 0) await once(this.#pool.freed, 'slot')
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
      if (this.#pool.free <= 0) {
        await once(this.#pool.freed, 'slot')
        continue
      }
      const free = this.#pool.free - this.#pool.claiming
      if (noneWaits) this.#pool.wanting.delete(this)
      else this.#pool.wanting.add(this)
      const others = this.#partOf(free - this.#reserved)
      const flex = this.#flexMax - this.#pool.flex - this.#pool.claiming
      const kind = others <= 0 ? 'within-share' : flex <= 0 ? 'default' : 'any'
      const slots = {
        any: Math.min(others, flex),
        default: others,
        'within-share': Math.min(free, this.#reserved),
      }
      const most = Math.min(slots[kind], CLAIMED_AT_ONCE)
      if (most <= 0) {
        // Another shard is next, or its claim may leave some.
        await this.#freedWithin(RESERVED_LOOK_MS)
        continue
      }
      try {
        if (noneWaits && kind === 'any') {
          const { job, isMore } = await this.#asked(1, waitAndClaim())
          if (job) this.#occupy(job)
          noneWaits = !isMore
          continue
        }
        // The next one is another.
        if (kind !== 'within-share' && this.#pool.wanting.delete(this)) this.#pool.wanting.add(this)
        const claimed = await this.#claimed(most, claim(most, kind))
        const isLess = claimed < most
        noneWaits = isLess && kind === 'any'
        // A wait would also end for calls that may not use these slots.
        if (isLess && kind !== 'any') await this.#freedWithin(RESERVED_LOOK_MS)
      } catch (error) {
        if (this.#stopping) return
        logger.warn({ err: error }, 'call claim failed')
        // A wait may have taken the marker before its claim failed.
        noneWaits = false
        this.#pool.wanting.delete(this)
        await delay(RETRY_MS)
      }
    }
    this.#pool.wanting.delete(this)
  }

  /** The part of some slots that this worker may claim: an equal one, and what cannot be divided if it is next. */
  #partOf(slots: number): number {
    const { wanting } = this.#pool
    const [next = this] = wanting
    const parts = Math.max(1, wanting.size)
    const part = Math.floor(Math.max(0, slots) / parts)
    return next === this ? slots - part * (parts - 1) : part
  }

  /** Runs the claimed calls; returns their number. */
  async #claimed(slots: number, claim: Promise<Job[]>): Promise<number> {
    this.#pool.claiming += slots
    try {
      const jobs = await this.#asked(slots, claim)
      for (const job of jobs) this.#occupy(job)
      return jobs.length
    } finally {
      this.#pool.claiming -= slots
    }
  }

  async #asked<Answer>(slots: number, answer: Promise<Answer>): Promise<Answer> {
    this.#pool.asking += slots
    try {
      return await answer
    } finally {
      this.#pool.asking -= slots
    }
  }

  async #freedWithin(ms: number): Promise<void> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), ms)
    await once(this.#pool.freed, 'slot', { signal: late.signal }).catch(() => undefined)
    clearTimeout(timer)
  }

  /**
   * Takes a slot for a call that is claimed elsewhere, but no reserved slot, nor one that a claim or a wait in flight
   * may fill. False if there is no other.
   */
  take(): boolean {
    const { free, asking } = this.#pool
    if (this.#stopping || free - asking <= this.#reserved) return false
    this.#hold()
    return true
  }

  /** Runs a call in a taken slot, which is free again when it has ended. */
  run(job: Job): void {
    const flex = this.#options.isFlex(job) ? 1 : 0
    this.#pool.flex += flex
    void this.#options.run(job).finally(() => {
      this.#pool.flex -= flex
      this.giveBack()
    })
  }

  giveBack(): void {
    this.#pool.free++
    this.#running--
    this.#pool.freed.emit('slot')
  }

  #occupy(job: Job): void {
    this.#hold()
    this.run(job)
  }

  #hold(): void {
    this.#pool.free--
    this.#running++
  }
}
