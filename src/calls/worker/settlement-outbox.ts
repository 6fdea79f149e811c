import type { RestoredHold } from '../../billing/holds/hold-store.ts'
import type { SettlementRecord } from '../../core/calls/call-job.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { UnsettledCall } from './finish-calls.ts'

interface SettlementOutboxDependencies {
  /** Enqueues one settlement job of some calls and returns its id. */
  enqueue: (records: SettlementRecord[]) => Promise<string>
  /** Which of some settlement jobs are still in the queue. */
  jobsLeft: (jobIds: string[]) => Promise<boolean[]>
  /** The durability token: while it stays equal, no write can have been lost. Asks Redis. */
  durabilityToken: () => Promise<string>
  logger: Logger
  onSettled?: (calls: readonly UnsettledCall[]) => void
  /** Maximum calls kept. Beyond it the oldest are dropped unconfirmed. */
  max: number
}

/** A settlement job that may still be lost with Redis. */
interface UnconfirmedJob {
  /** Null until it is enqueued. */
  jobId: string | null
  calls: readonly UnsettledCall[]
  /** The durability token at the first check after it was enqueued; null before. */
  durabilityToken: string | null
  /** Redis may have lost it, and it is not enqueued again yet. */
  mustResend: boolean
}

/** Jobs looked up by one command, so that a long backlog does not make the command slow. */
const LOOK_MAX = 1_000
const RESTATED_AT_ONCE = 50

/**
 * The settlements that one worker enqueued, kept until PostgreSQL has them: a settlement job leaves the queue only
 * after its commit. If Redis loses its data before that, they are enqueued again. Settling twice charges once, so every
 * uncertainty leads to enqueuing.
 */
export class SettlementOutbox {
  private readonly deps: SettlementOutboxDependencies
  private jobs = new Set<UnconfirmedJob>()
  private size = 0
  private overflowed = false

  constructor(deps: SettlementOutboxDependencies) {
    this.deps = deps
  }

  /** Number of calls whose settlement is not confirmed. */
  get unconfirmed(): number {
    return this.size
  }

  /**
   * Keeps calls that `send` finishes under one settlement job; it returns which of them it finished. Once this
   * resolves, only the loss of both Redis and this worker can lose them. If it rejects, nothing is kept: the calls have
   * not ended, and the next worker that claims them settles them.
   */
  async keep(
    jobId: string,
    calls: readonly UnsettledCall[],
    send: () => Promise<readonly UnsettledCall[]>,
  ): Promise<void> {
    const job: UnconfirmedJob = {
      jobId: null,
      calls: calls.map(unsettled),
      durabilityToken: null,
      mustResend: false,
    }
    this.jobs.add(job)
    this.size += calls.length
    if (this.size > this.deps.max) this.dropOldestSettlement()
    try {
      const finished = await send()
      if (finished.length === 0) return this.drop(job)
      if (this.jobs.has(job)) this.size -= calls.length - finished.length
      Object.assign(job, { jobId, calls: finished.map(unsettled) })
    } catch (error) {
      this.drop(job)
      throw error
    }
  }

  /** Keeps a call whose settlement Redis refuses; `confirm` enqueues it as soon as Redis accepts it. */
  keepUnsent(call: UnsettledCall): void {
    this.jobs.add({ jobId: null, calls: [unsettled(call)], durabilityToken: null, mustResend: true })
    this.size += 1
    if (this.size > this.deps.max) this.dropOldestSettlement()
  }

  /**
   * Checks which settlements have left the queue. One counts only if the token has not changed since an earlier check,
   * because an emptied queue looks like a finished one. Call it about once a second, never concurrently and not while
   * `resync` runs.
   */
  async confirm(): Promise<void> {
    if (this.jobs.size === 0) return
    const { jobsLeft, durabilityToken } = this.deps
    await this.resend()
    const current = await durabilityToken()
    const seen: UnconfirmedJob[] = []
    for (const job of this.jobs) {
      if (job.jobId === null) continue
      if (job.durabilityToken === current) seen.push(job)
      else job.durabilityToken = current
    }
    for (let start = 0; start < seen.length; start += LOOK_MAX) {
      const some = seen.slice(start, start + LOOK_MAX)
      const left = await jobsLeft(some.map((job) => job.jobId as string))
      if ((await durabilityToken()) !== current) return
      for (const [index, job] of some.entries()) {
        if (left[index]) continue
        this.drop(job)
        this.deps.onSettled?.(job.calls)
      }
      // Settlements are processed roughly in order: behind some that wait, nearly all wait.
      if (left.every(Boolean)) return
    }
  }

  /** The holds of calls that wait for their settlement. */
  *holds(): Iterable<RestoredHold> {
    for (const { calls } of this.jobs) for (const { hold } of calls) yield hold
  }

  /**
   * Enqueues all unconfirmed settlements again; returns the number of calls. Their holds must exist by now. Settlements
   * that cannot be enqueued are retried by the next `confirm`.
   */
  async resync(): Promise<number> {
    for (const job of this.jobs) if (job.jobId !== null) job.mustResend = true
    return this.resend()
  }

  private async resend(): Promise<number> {
    const jobs = [...this.jobs].filter((job) => job.mustResend)
    for (let start = 0; start < jobs.length; start += RESTATED_AT_ONCE) {
      const some = jobs.slice(start, start + RESTATED_AT_ONCE)
      await Promise.all(
        some.map(async (job) => {
          job.jobId = await this.deps.enqueue(recordsOf(job))
          Object.assign(job, { durabilityToken: null, mustResend: false })
        }),
      )
    }
    return jobs.reduce((sum, job) => sum + job.calls.length, 0)
  }

  private drop(job: UnconfirmedJob): void {
    if (this.jobs.delete(job)) this.size -= job.calls.length
  }

  private dropOldestSettlement(): void {
    const [oldest] = this.jobs
    if (oldest) this.drop(oldest)
    if (this.overflowed) return
    this.overflowed = true
    const { logger, max } = this.deps
    logger.error({ max }, 'unconfirmed settlements exceed the maximum, dropping the oldest')
  }
}

const recordsOf = ({ calls }: UnconfirmedJob): SettlementRecord[] => calls.map(({ record }) => record)

/** Without the last frame, which may be a whole completion. */
const unsettled = ({ record, hold }: UnsettledCall): UnsettledCall => ({ record, hold })
