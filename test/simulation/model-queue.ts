import type { CallJob } from '../../src/core/calls/call-job.ts'
import type { GatewayFailure } from '../../src/core/calls/frames.ts'
import type { CallPlace, Reclaimed, Withdrawal } from '../../src/platform/queues/call-jobs.ts'
import type { SeededRandom } from './seeded-random.ts'

type JobState = 'waiting' | 'active' | 'delayed'

export interface ModelJob<Data> {
  id: string
  name: string
  data: Data
  state: JobState
  /** How often it was claimed. */
  attemptsStarted: number
  stalls: number
  token: string | null
  /** The token of the last claim, also after its lock. */
  claimedBy?: string
  lockUntilMs: number
  delayUntilMs: number
  /** What the caller was told, if that the call failed. */
  told?: GatewayFailure
}

/** As BullMQ's scripts number their refusals. */
const REFUSALS = { missing: -1, unlocked: -2, 'not delayed': -3, 'locked by another': -6 } as const

/**
 * A queue that answers what BullMQ and our own scripts answer (models-agree.test.ts runs both): a repeated id is
 * the same job, a claim is a lock that runs out, a job whose lock is out at two stalled checks goes back, a job that
 * completes is gone, and whatever is not locked can be removed, also a job that does not exist. Jobs come in
 * any order.
 */
export class ModelQueue<Data> {
  readonly jobs = new Map<string, ModelJob<Data>>()
  private readonly clock: () => number
  private readonly random: SeededRandom
  private waiters: Array<() => void> = []
  /** Active at the last stalled check, and not renewed since. */
  private suspects = new Set<string>()
  private nextCheckAtMs = 0

  constructor(clock: () => number, random: SeededRandom) {
    this.clock = clock
    this.random = random
  }

  flush(): void {
    this.jobs.clear()
    this.suspects.clear()
    this.nextCheckAtMs = 0
  }

  /** Keeps a copy of all it knows; the returned function goes back to it. */
  keepState(): () => void {
    const { jobs, suspects, nextCheckAtMs } = structuredClone({
      jobs: this.jobs,
      suspects: this.suspects,
      nextCheckAtMs: this.nextCheckAtMs,
    })
    return () => {
      this.flush()
      for (const [id, job] of jobs) this.jobs.set(id, job)
      Object.assign(this, { suspects, nextCheckAtMs })
      this.wake()
    }
  }

  add(id: string, data: Data, delayMs = 0, name = 'job'): void {
    if (this.jobs.has(id)) return
    this.put(id, data, delayMs, name)
    this.wake()
  }

  /** As admit.lua: adds a call (1), or if a worker is named has it claimed (2), unless others wait (0). */
  addCall(id: string, data: Data, claim: { token: string; lockMs: number } | null): 0 | 1 | 2 {
    if (claim === null) {
      this.add(id, data, 0, 'call')
      return 1
    }
    if ([...this.jobs.values()].some((job) => job.state === 'waiting')) return 0
    const { token, lockMs } = claim
    const lock = { state: 'active', token, claimedBy: token, lockUntilMs: this.clock() + lockMs } as const
    Object.assign(this.put(id, data, 0, 'call'), { ...lock, attemptsStarted: 1 })
    return 2
  }

  private put(id: string, data: Data, delayMs: number, name: string): ModelJob<Data> {
    const state = delayMs > 0 ? 'delayed' : 'waiting'
    // What travels through Redis is a copy.
    const copy = JSON.parse(JSON.stringify(data)) as Data
    const claim = { attemptsStarted: 0, stalls: 0, token: null, lockUntilMs: 0 }
    const job: ModelJob<Data> = {
      id,
      name,
      data: copy,
      state,
      ...claim,
      delayUntilMs: this.clock() + delayMs,
    }
    this.jobs.set(id, job)
    return job
  }

  /** As src/platform/queues/note-failure.lua. */
  noteFailure(id: string, told: GatewayFailure): boolean {
    const job = this.jobs.get(id)
    if (job) job.told ??= told
    return job !== undefined
  }

  /** Hears once of the next job that may be claimed. */
  onAdded(listener: () => void): void {
    this.waiters.push(listener)
  }

  claim(token: string, lockMs: number): ModelJob<Data> | null {
    const now = this.clock()
    for (const job of this.jobs.values()) {
      if (job.state === 'delayed' && job.delayUntilMs <= now) job.state = 'waiting'
    }
    const waiting = [...this.jobs.values()].filter((job) => job.state === 'waiting')
    if (waiting.length === 0) return null
    const job = this.random.chance(0.8) ? waiting[0]! : this.random.pick(waiting)
    Object.assign(job, { state: 'active', token, claimedBy: token, lockUntilMs: now + lockMs })
    job.attemptsStarted += 1
    return { ...job }
  }

  /** As src/platform/queues/claim-jobs.lua. */
  claimSome(token: string, lockMs: number, most: number): Array<ModelJob<Data>> {
    const claimed: Array<ModelJob<Data>> = []
    while (claimed.length < most) {
      const job = this.claim(token, lockMs)
      if (!job) break
      claimed.push(job)
    }
    return claimed
  }

  /** As src/platform/queues/complete-jobs.lua. */
  completeSome(ids: readonly string[], token: string): string[] {
    return ids.filter((id) => {
      const job = this.jobs.get(id)
      if (!job || this.holder(job) !== token) return true
      this.suspects.delete(id)
      this.jobs.delete(id)
      return false
    })
  }

  handBack(id: string, token: string): void {
    this.unlock(id, token).state = 'waiting'
    this.wake()
  }

  /** Renews locks; returns the ids of those that are not held by the token. */
  extend(ids: readonly string[], tokens: readonly string[], lockMs: number): string[] {
    return ids.filter((id, index) => {
      const job = this.jobs.get(id)
      if (!job || this.holder(job) !== tokens[index]) return true
      job.lockUntilMs = this.clock() + lockMs
      this.suspects.delete(id)
      return false
    })
  }

  /** Puts jobs back that have no lock and had been active at the check before. One check an interval. */
  checkStalled(intervalMs: number): void {
    if (this.clock() < this.nextCheckAtMs) return
    this.nextCheckAtMs = this.clock() + intervalMs
    for (const id of this.suspects) {
      const job = this.jobs.get(id)
      if (job?.state !== 'active' || this.holder(job) !== null) continue
      Object.assign(job, { state: 'waiting', token: null, stalls: job.stalls + 1 })
      this.wake()
    }
    const active = [...this.jobs.values()].filter((job) => job.state === 'active')
    this.suspects = new Set(active.map(({ id }) => id))
  }

  /** 0 when it is locked, 1 otherwise, whatever its state, and also when there is none. */
  remove(id: string): number {
    const job = this.jobs.get(id)
    if (job && this.holder(job) !== null) return 0
    this.jobs.delete(id)
    return 1
  }

  place(id: string): CallPlace | null {
    const job = this.jobs.get(id)
    if (!job) return null
    if (job.attemptsStarted > 0) return { kind: 'running', worker: this.holder(job) }
    if (job.name !== 'revived') return { kind: 'queued' }
    const { worker = null } = job.data as Partial<CallJob>
    return { kind: 'running', worker }
  }

  /** As src/platform/queues/withdraw-call.lua. */
  withdraw(id: string, takesRequeued: boolean): Withdrawal {
    const job = this.jobs.get(id)
    if (!job) return 'missing'
    if (job.attemptsStarted > 0) return 'claimed'
    if (!takesRequeued && job.state === 'delayed') return 'delayed'
    if (!takesRequeued && job.name === 'revived') return 'claimed'
    this.jobs.delete(id)
    return 'withdrawn'
  }

  /** As src/platform/queues/reclaim-call.lua. */
  reclaim(id: string, token: string, number: number, lockMs: number, isMarked = false): Reclaimed {
    const job = this.jobs.get(id)
    if (!job) return isMarked ? 'lost' : 'missing'
    const holder = this.holder(job)
    if (job.state === 'delayed' || (holder !== null && holder !== token)) return 'lost'
    const claimedAgain = job.attemptsStarted === number + 1 && holder === token
    if (job.attemptsStarted > number && !claimedAgain) return 'lost'
    const attemptsStarted = Math.max(job.attemptsStarted, number)
    const lock = { token, claimedBy: token, lockUntilMs: this.clock() + lockMs }
    Object.assign(job, { state: 'active', ...lock, attemptsStarted })
    this.suspects.delete(id)
    return attemptsStarted
  }

  /** Who holds the lock of a job; null: nobody. */
  holderOf(id: string): string | null {
    const job = this.jobs.get(id)
    return job ? this.holder(job) : null
  }

  state(id: string): JobState | 'unknown' {
    return this.jobs.get(id)?.state ?? 'unknown'
  }

  changeDelay(id: string, delayMs: number): void {
    const job = this.jobs.get(id)
    if (!job) throw refusal('missing', id)
    if (job.state !== 'delayed') throw refusal('not delayed', id)
    job.delayUntilMs = this.clock() + delayMs
  }

  promote(id: string): void {
    const job = this.jobs.get(id)
    if (job?.state !== 'delayed') throw refusal('not delayed', id)
    job.state = 'waiting'
    this.wake()
  }

  /** The token that a job is locked by. */
  private holder(job: ModelJob<Data>): string | null {
    return job.lockUntilMs > this.clock() ? job.token : null
  }

  private unlock(id: string, token: string): ModelJob<Data> {
    const job = this.jobs.get(id)
    if (!job) throw refusal('missing', id)
    const holder = this.holder(job)
    if (holder !== token) throw refusal(holder === null ? 'unlocked' : 'locked by another', id)
    this.suspects.delete(id)
    return Object.assign(job, { token: null, lockUntilMs: 0 })
  }

  private wake(): void {
    const waiters = this.waiters
    this.waiters = []
    for (const waiter of waiters) waiter()
  }
}

const refusal = (why: keyof typeof REFUSALS, id: string): Error =>
  Object.assign(new Error(`${id}: ${why}`), { code: REFUSALS[why] })
