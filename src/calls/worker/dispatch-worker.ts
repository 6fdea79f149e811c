import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { type CallEnvelope, type CallJob, startingWith } from '../../core/calls/call-job.ts'
import { laneOf } from '../../core/calls/fair-queue.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import type { CallJobs } from '../../platform/queues/call-jobs.ts'
import type { ClaimedJob, ClaimedJobs, ClaimKind } from '../../platform/queues/claimed-jobs.ts'
import { type DispatchQueue, extendRequeued, requeueCall } from '../../platform/queues/queues.ts'
import type { FleetTime } from '../../platform/redis/fleet-clock.ts'
import type { EpochWatch } from '../../platform/redis/redis-epoch.ts'
import { type CleanupTasks, createCleanupTasks } from '../cleanup-tasks.ts'
import type { TakenSlot } from '../in-process-link.ts'
import type { HeldBodies } from '../protocol/call-bodies.ts'
import { type ClaimedCall, Leases } from './leases.ts'
import { runningHold } from './restored-holds.ts'
import { type CallRunnerDependencies, runCall } from './run-call.ts'
import { type SlotPool, WorkerSlots } from './worker-slots.ts'

export interface DispatchWorkerOptions extends Omit<CallRunnerDependencies, 'leases'> {
  bodies: HeldBodies
  jobs: ClaimedJobs<CallJob>
  /** The same queue, for calls whose job Redis lost. */
  dispatchQueue: DispatchQueue
  callJobs: CallJobs
  epoch: EpochWatch
  holds: Pick<HoldStore, 'restore'>
  concurrency: number
  /** The slots that it shares with workers of other shards in its process. */
  pool: SlotPool
  /** Lifetime of a claim without renewal. */
  lockMs: number
  /** How long running calls may continue after `stop`. */
  graceMs: number
  logger: Logger
  /** The clock of call deadlines; `clock` only measures what this worker does. */
  fleetClock: FleetTime
}

/** Exceeds the wait for calls. */
const STOP_WAITING_MS = 2_000

/**
 * Claims jobs itself and runs many at once: one script claims all waiting calls, and each starts at once. BullMQ's loop
 * fetches one job after another until the queue is empty before it starts the first.
 */
export class DispatchWorker {
  private readonly jobs: ClaimedJobs<CallJob>
  private readonly options: DispatchWorkerOptions
  private readonly runner: CallRunnerDependencies
  /** The calls of this worker. */
  readonly leases: Leases
  private readonly renewal: NodeJS.Timeout
  private readonly slots: WorkerSlots<ClaimedCall>
  private readonly cleanup: CleanupTasks
  private stopping = false
  private hasStopped = false

  constructor(options: DispatchWorkerOptions) {
    this.options = options
    this.cleanup = createCleanupTasks(options.logger)
    this.slots = new WorkerSlots({
      ...options,
      isFlex: ({ job }) => laneOf(job.envelope.candidates) === 'flex',
      claim: (most, kind) => this.claim(most, kind),
      waitAndClaim: () => this.waitAndClaim(),
      run: (call) => this.run(call),
    })
    this.jobs = options.jobs
    this.leases = new Leases({
      ...options,
      loseCall: (callId) => options.calls.abort(callId, 'lease-lost'),
      extend: (callIds) => this.jobs.extendLocks(callIds),
      requeue: (job) =>
        requeueCall(options.dispatchQueue, { ...job, worker: options.jobs.token }, options.lockMs),
      extendRequeued: (callId) => extendRequeued(options.dispatchQueue, callId, options.lockMs),
      dropRequeued: (callId) => options.callJobs.dropRequeued(callId),
      reclaim: (callId, number) =>
        options.callJobs.reclaim(callId, { token: options.jobs.token, number, lockMs: options.lockMs }),
    })
    this.runner = { ...options, leases: this.leases, clock: options.fleetClock }
    this.renewal = setInterval(() => void this.leases.renew(), options.lockMs / 3)
  }

  async start(): Promise<void> {
    await this.jobs.start()
    this.slots.start()
  }

  /** Takes no more calls, lets running ones finish for a while, then returns or ends the rest. */
  async stop(): Promise<void> {
    this.stopping = true
    const drained = this.slots.drain()
    const timer = setTimeout(() => this.options.calls.abortAll('shutdown'), this.options.graceMs)
    await drained
    clearTimeout(timer)
    clearInterval(this.renewal)
    // An abandoned claim would last until its lock ends, so the claimed calls are returned.
    this.jobs.wake()
    const handedBack = this.slots.ended().then(() => this.slots.drain())
    await withTimeout(handedBack, STOP_WAITING_MS, undefined)
    await this.jobs.close()
    await this.slots.ended()
    this.hasStopped = true
  }

  /** Takes a slot for a call that the API instance of this process admits. */
  takeSlot(): TakenSlot | null {
    if (!this.slots.take()) return null
    const claimedAt = this.options.clock()
    return {
      token: this.jobs.token,
      lockMs: this.options.lockMs,
      run: (data, content) => {
        const job = { id: data.envelope.id, data, attemptsStarted: 1, stalls: 0 }
        this.slots.run({ ...this.claimed(job, claimedAt), content })
      },
      giveBack: () => this.slots.giveBack(),
    }
  }

  private async claim(most: number, kind: ClaimKind): Promise<ClaimedCall[]> {
    const claimedAt = this.options.clock()
    const jobs = await this.jobs.claim(most, kind)
    return jobs.map((job) => this.claimed(job, claimedAt))
  }

  private async waitAndClaim(): Promise<{ job: ClaimedCall | null; isMore: boolean }> {
    const claimedAt = this.options.clock()
    const { job, isMore } = await this.jobs.waitAndClaim()
    return { job: job && this.claimed(job, claimedAt), isMore }
  }

  /** A claim counts from the time of its request. */
  private claimed(claim: ClaimedJob<CallJob>, claimedAt: number): ClaimedCall {
    const { data, body, attemptsStarted, stalls } = claim
    const { first = 0, ...job } = data
    return {
      job: { ...job, envelope: startingWith(job.envelope, first), ...(body && { sealedBody: body }) },
      // A revived call counts its earlier claims.
      generation: attemptsStarted + (data.claims ?? 0),
      number: attemptsStarted,
      stalls,
      renewedAt: claimedAt,
      epoch: this.options.epoch.current(),
      state: 'held',
    }
  }

  private async run(call: ClaimedCall): Promise<void> {
    const { job, generation } = call
    const { id: callId } = job.envelope
    const { callJobs, logger } = this.options
    if (this.leases.adopt(call)) return
    this.leases.add(call)
    if (generation === 1) this.restoreHold(job.envelope)
    try {
      const remainder = this.stopping ? 'hand-back' : await runCall(call, this.runner)
      if (remainder === 'leave') return
      if (remainder === 'hand-back') return await this.handBack(call)
      // Also a job that was revived while the call was finished without one.
      if (call.state === 'requeued') await callJobs.dropRequeued(callId)
      else if (remainder === 'complete') await this.complete(callId)
      this.dropBody(call)
    } catch (error) {
      // The job keeps its claim until the lock expires, then another worker takes it over.
      logger.error({ err: error, callId }, 'call not completed')
    } finally {
      this.options.bodies.release(callId)
      this.leases.drop(call)
    }
  }

  /** Removes a call from the queue that settles nothing; finish-calls.ts completes the others. */
  private async complete(callId: CallId): Promise<void> {
    const [kept] = await this.jobs.complete([callId])
    if (kept !== undefined) throw new Error('the lock of the call belongs to another worker')
  }

  private async handBack(call: ClaimedCall): Promise<void> {
    const { id: callId } = call.job.envelope
    if (call.state === 'requeued')
      return void (await (await this.options.dispatchQueue.getJob(callId))?.promote())
    // Must come first: a renewal would restore the claim.
    this.leases.drop(call)
    await this.jobs.handBack(callId)
  }

  /**
   * Only once the job is gone, because another worker might have taken the call over until then. Maintenance deletes
   * what is left when the process ends.
   */
  private dropBody({ job: { envelope, sealedBody }, content }: ClaimedCall): void {
    const { id } = envelope
    if (sealedBody === null && !content)
      this.cleanup.add(async () => this.hasStopped || (await this.options.bodies.drop(id)))
  }

  /** Redis may have lost a call's hold after it was taken and before its job was enqueued. */
  private restoreHold(envelope: CallEnvelope): void {
    const { epoch, holds, logger } = this.options
    if (envelope.epoch === undefined || envelope.epoch === epoch.current()) return
    holds.restore(runningHold(envelope)).catch((error: unknown) => {
      logger.warn({ err: error, callId: envelope.id }, 'hold not restored')
    })
  }
}
