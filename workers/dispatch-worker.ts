import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { type Job, Worker } from 'bullmq'
import type { CallJob } from '../src/core/call-job.ts'
import type { CallId } from '../src/core/ids.ts'
import type { Logger } from '../src/platform/logger.ts'
import { DISPATCH_QUEUE } from '../src/platform/queues.ts'
import type { Redis } from '../src/platform/redis.ts'
import { QUEUE_PREFIX } from '../src/platform/redis-keys.ts'
import { type CallRunnerDependencies, type Claim, runCall } from './call-runner.ts'

export interface DispatchWorkerOptions extends CallRunnerDependencies {
  connection: Redis
  concurrency: number
  /** How long a claim stands without renewal. */
  lockMs: number
  /** How long running calls may finish after `stop`. */
  graceMs: number
  logger: Logger
}

/** A stalled job is never failed by BullMQ: the runner counts claims and ends it truthfully. */
const NEVER = Number.MAX_SAFE_INTEGER
const RETRY_MS = 200
/** An idle worker looks for calls this often: a worker that hangs may have swallowed the wake-up. */
const BLOCK_SECONDS = 1

type ClaimedJob = Job<CallJob>

/** A lock whose renewal is older than this part of its life is not trusted without asking. */
const TRUSTED_LOCK_PART = 2 / 3

/** A job's lock as this worker knows it. */
interface Lock {
  callId: string
  /** When the lock was last taken or renewed for certain, unix ms. */
  renewedAt: number
}

/**
 * Fetches calls by hand and runs many at once. BullMQ's own loop fetches one job after another until the
 * queue is empty before it starts the first; this one starts each as it comes, and completing a job claims
 * the next in the same script.
 */
export class DispatchWorker {
  private readonly worker: ManualWorker
  private readonly options: DispatchWorkerOptions
  private readonly token = randomUUID()
  private readonly locks = new Map<string, Lock>()
  private readonly renewal: NodeJS.Timeout
  private slots: number
  private readonly freed = new EventEmitter()
  private stopping = false
  private loop: Promise<void> = Promise.resolve()

  constructor(options: DispatchWorkerOptions) {
    this.options = options
    this.slots = options.concurrency
    this.worker = new ManualWorker(DISPATCH_QUEUE, null, {
      connection: options.connection,
      prefix: QUEUE_PREFIX,
      lockDuration: options.lockMs,
      stalledInterval: options.lockMs / 2,
      maxStalledCount: NEVER,
      drainDelay: BLOCK_SECONDS,
    })
    this.worker.on('error', (error) => options.logger.warn({ err: error }, 'dispatch queue'))
    this.worker.on('stalled', (callId) =>
      options.logger.warn({ callId }, 'call lost its worker; back in the queue'),
    )
    this.renewal = setInterval(() => void this.renew(), options.lockMs / 3)
  }

  async start(): Promise<void> {
    await this.worker.waitUntilReady()
    await this.worker.startStalledCheckTimer()
    this.loop = this.fetch()
  }

  /** Takes no more calls, lets running ones finish for a while, then hands back or ends the rest. */
  async stop(): Promise<void> {
    this.stopping = true
    const drained = this.drained()
    const timer = setTimeout(() => this.options.calls.abortAll('shutdown'), this.options.graceMs)
    await drained
    clearTimeout(timer)
    clearInterval(this.renewal)
    await this.worker.close(true)
    await this.loop
  }

  private async fetch(): Promise<void> {
    while (!this.stopping) {
      if (this.slots === 0) {
        await once(this.freed, 'slot')
        continue
      }
      try {
        const job = (await this.worker.getNextJob(this.token)) as ClaimedJob | undefined
        if (job) void this.runOn(job)
      } catch (error) {
        if (this.stopping) return
        this.options.logger.warn({ err: error }, 'no call fetched')
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  /** Occupies one slot with a job, and with those its completion claims. */
  private async runOn(first: ClaimedJob): Promise<void> {
    this.slots--
    try {
      for (let job: ClaimedJob | undefined = first; job; ) job = await this.runOne(job)
    } finally {
      this.slots++
      this.freed.emit('slot')
    }
  }

  private async runOne(job: ClaimedJob): Promise<ClaimedJob | undefined> {
    const callId = job.id as CallId
    const { logger, clock } = this.options
    // BullMQ notes the time before it asks for the lock.
    const lock: Lock = { callId, renewedAt: job.processedOn ?? clock() }
    this.locks.set(callId, lock)
    const claim: Claim = { number: job.attemptsStarted, isHeld: () => this.isHeld(lock) }
    try {
      const result = this.stopping ? 'hand-back' : await runCall(job.data, claim, this.options)
      if (result === 'lost') return undefined
      if (result === 'hand-back') {
        await job.moveToWait(this.token)
        return undefined
      }
      return await this.worker.complete(job, this.token, !this.stopping)
    } catch (error) {
      // The job keeps its claim until the lock runs out, then another worker takes it over.
      logger.error({ err: error, callId }, 'call not completed')
      return undefined
    } finally {
      // This worker may have lost the call and claimed it again: that claim is not ours to end.
      if (this.locks.get(callId) === lock) this.locks.delete(callId)
    }
  }

  private async renew(): Promise<void> {
    const locks = [...this.locks.values()]
    if (locks.length === 0) return
    try {
      for (const { callId } of await this.extend(locks)) {
        this.options.logger.warn({ callId }, 'claim lost to another worker')
        this.options.calls.abort(callId as CallId, 'claim-lost')
      }
    } catch (error) {
      this.options.logger.warn({ err: error, calls: locks.length }, 'claims not renewed')
    }
  }

  /** Renews locks; returns those that are lost and not given up since. */
  private async extend(locks: Lock[]): Promise<Lock[]> {
    const askedAt = this.options.clock()
    const ids = locks.map(({ callId }) => callId)
    const tokens = ids.map(() => this.token)
    const lost = new Set(await this.worker.extendJobLocks(ids, tokens, this.options.lockMs))
    for (const lock of locks) if (!lost.has(lock.callId)) lock.renewedAt = askedAt
    return locks.filter((lock) => lost.has(lock.callId) && this.locks.get(lock.callId) === lock)
  }

  /** Whether a claim still stands. Asks Redis only when this process may have slept through a renewal. */
  private async isHeld(lock: Lock): Promise<boolean> {
    const { clock, lockMs } = this.options
    if (clock() - lock.renewedAt > lockMs * TRUSTED_LOCK_PART && (await this.extend([lock])).length > 0)
      return false
    return this.locks.get(lock.callId) === lock
  }

  private async drained(): Promise<void> {
    while (this.slots < this.options.concurrency) await once(this.freed, 'slot')
  }
}

/** BullMQ's worker without its loop. */
class ManualWorker extends Worker<CallJob> {
  /** Completes a job and, in the same script, claims the next. */
  async complete(job: ClaimedJob, token: string, fetchNext: boolean): Promise<ClaimedJob | undefined> {
    const next = await job.moveToCompleted(undefined as never, token, fetchNext)
    if (!Array.isArray(next)) return undefined
    const [data, id] = next
    return this.nextJobFromJobData(data, id, token)
  }
}
