import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { type Job, Worker } from 'bullmq'
import type { HoldGate } from '../src/billing/hold-gate.ts'
import type { CallEnvelope, CallJob } from '../src/core/call-job.ts'
import type { CallId } from '../src/core/ids.ts'
import type { Logger } from '../src/platform/logger.ts'
import { DISPATCH_QUEUE, type DispatchQueue, keepRevived, reviveCall } from '../src/platform/queues.ts'
import type { Redis } from '../src/platform/redis.ts'
import type { EpochWatch } from '../src/platform/redis-epoch.ts'
import { QUEUE_PREFIX } from '../src/platform/redis-keys.ts'
import { type CallRunnerDependencies, type Claim, runCall } from './call-runner.ts'
import { Claims } from './claims.ts'
import { restoredHold } from './restored-hold.ts'

export interface DispatchWorkerOptions extends CallRunnerDependencies {
  jobs: DispatchJobs
  /** The same queue, for calls whose job Redis lost. */
  dispatchQueue: DispatchQueue
  epoch: EpochWatch
  gate: Pick<HoldGate, 'endCall' | 'restore'>
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
/** Calls looked for at the same time. */
const MAX_LOOKS = 32
/** An idle worker looks for calls this often: a worker that hangs may have swallowed the wake-up. */
const BLOCK_SECONDS = 1

type ClaimedJob = Pick<Job<CallJob>, 'id' | 'data' | 'attemptsStarted' | 'processedOn' | 'moveToWait'>

/** The dispatch queue as a worker sees it that fetches by hand. */
export interface DispatchJobs {
  /** Begins to look for jobs whose worker died. */
  start(): Promise<void>
  /** Claims a job; with `block`, waits a while for one. */
  getNextJob(token: string, options: { block: boolean }): Promise<ClaimedJob | undefined>
  /** Completes a job and, in the same step, claims the next if told to. */
  complete(job: ClaimedJob, token: string, fetchNext: boolean): Promise<ClaimedJob | undefined>
  /** Renews locks; returns the jobs whose lock another has, or nobody. */
  extendJobLocks(jobIds: string[], tokens: string[], durationMs: number): Promise<string[]>
  close(): Promise<void>
}

/** The queue over BullMQ. `connection` is a client in mode `wait`. */
export function openDispatchJobs(connection: Redis, lockMs: number, logger: Logger): DispatchJobs {
  const worker = new ManualWorker(DISPATCH_QUEUE, null, {
    connection,
    prefix: QUEUE_PREFIX,
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    maxStalledCount: NEVER,
    drainDelay: BLOCK_SECONDS,
  })
  worker.on('error', (error) => logger.warn({ err: error }, 'dispatch queue'))
  worker.on('stalled', (callId) => logger.warn({ callId }, 'call lost its worker; back in the queue'))
  return {
    async start() {
      await worker.waitUntilReady()
      await worker.startStalledCheckTimer()
    },
    getNextJob: (token, options) => worker.getNextJob(token, options),
    complete: (job, token, fetchNext) => worker.complete(job as Job<CallJob>, token, fetchNext),
    extendJobLocks: (jobIds, tokens, durationMs) => worker.extendJobLocks(jobIds, tokens, durationMs),
    close: () => worker.close(true),
  }
}

/**
 * Fetches calls by hand and runs many at once. BullMQ's own loop fetches one job after another until the
 * queue is empty before it starts the first; this one starts each as it comes, and completing a job claims
 * the next in the same script.
 */
export class DispatchWorker {
  private readonly jobs: DispatchJobs
  private readonly options: DispatchWorkerOptions
  private readonly token = randomUUID()
  /** The calls this worker has. */
  readonly claims: Claims
  private readonly renewal: NodeJS.Timeout
  private slots: number
  private readonly freed = new EventEmitter()
  private stopping = false
  private loop: Promise<void> = Promise.resolve()

  constructor(options: DispatchWorkerOptions) {
    this.options = options
    this.slots = options.concurrency
    this.jobs = options.jobs
    this.claims = new Claims({
      ...options,
      extend: (callIds) =>
        this.jobs.extendJobLocks(
          callIds,
          callIds.map(() => this.token),
          options.lockMs,
        ),
      revive: (job) => reviveCall(options.dispatchQueue, job, options.lockMs),
      keepRevived: (callId) => keepRevived(options.dispatchQueue, callId, options.lockMs),
      removeRevived: async (callId) => void (await options.dispatchQueue.remove(callId)),
    })
    this.renewal = setInterval(() => void this.claims.renew(), options.lockMs / 3)
  }

  async start(): Promise<void> {
    await this.jobs.start()
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
    await this.jobs.close()
    await this.loop
  }

  /**
   * Looks for calls, one at a time while there are few. Twice as many at once whenever all looks found one:
   * one round trip a call would be the slowest part of a busy gateway.
   */
  private async fetch(): Promise<void> {
    let looks = 1
    while (!this.stopping) {
      if (this.slots === 0) {
        await once(this.freed, 'slot')
        continue
      }
      try {
        const width = Math.min(looks, this.slots)
        const found = await Promise.all(Array.from({ length: width }, () => this.look(width === 1)))
        looks = found.every(Boolean) ? Math.min(width * 2, MAX_LOOKS) : 1
      } catch (error) {
        if (this.stopping) return
        this.options.logger.warn({ err: error }, 'no call fetched')
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  /** Claims a call and starts it; says whether there was one. Only a lone look waits for one to come. */
  private async look(block: boolean): Promise<boolean> {
    const job = await this.jobs.getNextJob(this.token, { block })
    if (job) void this.runOn(job)
    return job !== undefined
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
    // A call that was revived counts its claims from before.
    const number = job.attemptsStarted + (job.data.claims ?? 0)
    // BullMQ notes the time before it asks for the lock.
    const held = this.claims.add(job.data, number, job.processedOn ?? clock())
    if (number === 1) this.restoreHold(job.data.envelope)
    const claim: Claim = { number, isHeld: () => this.claims.isHeld(held) }
    try {
      const result = this.stopping ? 'hand-back' : await runCall(job.data, claim, this.options)
      if (result === 'lost') return undefined
      if (held.isRevived) return await this.endRevived(callId, result)
      if (result === 'hand-back') {
        await job.moveToWait(this.token)
        return undefined
      }
      return await this.jobs.complete(job, this.token, !this.stopping)
    } catch (error) {
      // The job keeps its claim until the lock runs out, then another worker takes it over.
      logger.error({ err: error, callId }, 'call not completed')
      return undefined
    } finally {
      this.claims.remove(held)
    }
  }

  /** Redis may have lost a call's hold after it was taken and before its job was enqueued. */
  private restoreHold(envelope: CallEnvelope): void {
    const { epoch, gate, logger } = this.options
    if (envelope.epoch === undefined || envelope.epoch === epoch.current()) return
    gate.restore(restoredHold(envelope, true)).catch((error: unknown) => {
      logger.warn({ err: error, callId: envelope.id }, 'hold not restored')
    })
  }

  private async endRevived(callId: CallId, result: 'done' | 'hand-back'): Promise<undefined> {
    const { dispatchQueue } = this.options
    if (result === 'done') await dispatchQueue.remove(callId)
    else await (await dispatchQueue.getJob(callId))?.promote()
  }

  private async drained(): Promise<void> {
    while (this.slots < this.options.concurrency) await once(this.freed, 'slot')
  }
}

/** BullMQ's worker without its loop. */
class ManualWorker extends Worker<CallJob> {
  /** Completes a job and, in the same script, claims the next. */
  async complete(job: Job<CallJob>, token: string, fetchNext: boolean): Promise<Job<CallJob> | undefined> {
    const next = await job.moveToCompleted(undefined as never, token, fetchNext)
    if (!Array.isArray(next)) return undefined
    const [data, id] = next
    return this.nextJobFromJobData(data, id, token)
  }
}
