import type { SeededRandom } from './seeded-random.ts'

type JobState = 'waiting' | 'active' | 'delayed'

export interface ModelJob<Data> {
  id: string
  data: Data
  state: JobState
  /** How often it was claimed. */
  attemptsStarted: number
  token: string | null
  lockUntilMs: number
  delayUntilMs: number
}

/**
 * A queue with BullMQ's meaning: a repeated id is the same job, a claim is a lock that runs out, a job whose
 * lock ran out goes back, a locked job cannot be removed, and one that completes is gone. Jobs come in any
 * order.
 */
export class ModelQueue<Data> {
  readonly jobs = new Map<string, ModelJob<Data>>()
  private readonly clock: () => number
  private readonly random: SeededRandom
  private waiters: Array<() => void> = []

  constructor(clock: () => number, random: SeededRandom) {
    this.clock = clock
    this.random = random
  }

  flush(): void {
    this.jobs.clear()
  }

  add(id: string, data: Data, delayMs = 0): void {
    if (this.jobs.has(id)) return
    const state = delayMs > 0 ? 'delayed' : 'waiting'
    // What travels through Redis is a copy.
    const copy = JSON.parse(JSON.stringify(data)) as Data
    const job = { id, data: copy, state, attemptsStarted: 0, token: null, lockUntilMs: 0 } as const
    this.jobs.set(id, { ...job, delayUntilMs: this.clock() + delayMs })
    this.wake()
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
    Object.assign(job, { state: 'active', token, lockUntilMs: now + lockMs })
    job.attemptsStarted += 1
    return { ...job }
  }

  complete(id: string, token: string): void {
    this.locked(id, token)
    this.jobs.delete(id)
  }

  handBack(id: string, token: string): void {
    Object.assign(this.locked(id, token), { state: 'waiting', token: null })
    this.wake()
  }

  /** Renews locks; returns the ids of those that are not held by the token. */
  extend(ids: readonly string[], tokens: readonly string[], lockMs: number): string[] {
    const now = this.clock()
    return ids.filter((id, index) => {
      const job = this.jobs.get(id)
      if (!job || job.token !== tokens[index] || job.lockUntilMs <= now) return true
      job.lockUntilMs = now + lockMs
      return false
    })
  }

  /** Puts jobs back whose lock ran out. */
  checkStalled(): void {
    for (const job of this.jobs.values()) {
      if (job.state !== 'active' || job.lockUntilMs > this.clock()) continue
      Object.assign(job, { state: 'waiting', token: null })
      this.wake()
    }
  }

  /** 1 when it was removed, 0 when there is none or it is locked. */
  remove(id: string): number {
    const job = this.jobs.get(id)
    if (!job || (job.state === 'active' && job.lockUntilMs > this.clock())) return 0
    this.jobs.delete(id)
    return 1
  }

  state(id: string): JobState | 'unknown' {
    return this.jobs.get(id)?.state ?? 'unknown'
  }

  changeDelay(id: string, delayMs: number): void {
    const job = this.jobs.get(id)
    if (!job) throw Object.assign(new Error(`missing job ${id}`), { code: -1 })
    if (job.state !== 'delayed') throw Object.assign(new Error(`${id} is not delayed`), { code: -3 })
    job.delayUntilMs = this.clock() + delayMs
  }

  promote(id: string): void {
    this.changeDelay(id, 0)
    this.jobs.get(id)!.state = 'waiting'
    this.wake()
  }

  private locked(id: string, token: string): ModelJob<Data> {
    const job = this.jobs.get(id)
    if (!job) throw Object.assign(new Error(`missing job ${id}`), { code: -1 })
    if (job.token !== token || job.lockUntilMs <= this.clock()) {
      throw Object.assign(new Error(`missing lock of ${id}`), { code: -2 })
    }
    return job
  }

  private wake(): void {
    const waiters = this.waiters
    this.waiters = []
    for (const waiter of waiters) waiter()
  }
}
