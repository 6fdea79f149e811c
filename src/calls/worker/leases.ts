import type { CallEnvelope, CallJob } from '../../core/calls/call-job.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Retaken } from '../../platform/queues/call-jobs.ts'
import { isRefusedWrite } from '../../platform/redis/redis.ts'
import type { EpochWatch } from '../../platform/redis/redis-epoch.ts'
import type { RunningCalls } from './running-calls.ts'

/** The lock of a claimed call as this worker knows it. */
export interface HeldLease {
  job: CallJob
  /** Counts the leases of this call, from 1. */
  generation: number
  /** Counts the claims of its job, from 1. */
  number: number
  /** When the lock was last taken or renewed for certain, unix ms. */
  renewedAt: number
  /** The epoch of Redis's data in which that was. */
  epoch: string
  /** Redis lost the job; a delayed one stands for it, whose delay is the lock. */
  isRevived: boolean
}

/** Which claim of its job a lease has by now, as a step that ends the call names it. */
export const claimOf = ({ isRevived, number }: HeldLease): number | 'revived' =>
  isRevived ? 'revived' : number

interface LeasesOptions {
  calls: RunningCalls
  epoch: Pick<EpochWatch, 'current' | 'check'>
  /** How long a lease holds without renewal. */
  lockMs: number
  logger: Logger
  clock: () => number
  /** Renews locks for `lockMs`; returns the calls whose lock is no longer ours. */
  extend(callIds: string[]): Promise<string[]>
  /** Takes a claim again whose lock is gone while nobody else claimed the call; `number` counts the claims of this job. */
  retake(callId: string, number: number): Promise<Retaken>
  /** Puts a call back whose job Redis lost; false when somebody else has it. */
  revive(job: CallJob): Promise<boolean>
  /** Renews a revived call; false when another worker claimed it. */
  keepRevived(callId: string): Promise<boolean>
  /** Takes a revived call off the queue: it has ended. */
  removeRevived(callId: string): Promise<unknown>
}

/** A lock whose renewal is older than this part of its life is not trusted without asking. */
const TRUSTED_LOCK_PART = 2 / 3

/**
 * The calls one worker has claimed. States of a lease: held (a lock in Redis, renewed) → lost (another worker
 * has the call: its run here ends, and settles nothing), or → revived. A lock that lapsed while nobody else
 * claimed the call is taken again: this worker or Redis stood still, or Redis lost its last moments. A lock whose job
 * went with them, or with all of Redis's data, is not lost either: nobody else can have the call, so it runs on, and is
 * put back into the queue.
 */
export class Leases {
  private readonly held = new Map<string, HeldLease>()
  private readonly options: LeasesOptions
  private renewing: Promise<void> = Promise.resolve()

  constructor(options: LeasesOptions) {
    this.options = options
  }

  add(job: CallJob, generation: number, renewedAt: number): HeldLease {
    const epoch = this.options.epoch.current()
    const number = generation - (job.claims ?? 0)
    const lease: HeldLease = { job, generation, number, renewedAt, epoch, isRevived: false }
    this.held.set(job.envelope.id, lease)
    return lease
  }

  /**
   * Whether a claim is of a call that runs here all along, and nobody else had since: its lock had lapsed and the stalled
   * check had put it back; or Redis has forgotten the claim before, and counts from an earlier one. It runs on under the
   * new claim.
   */
  adopt(callId: string, number: number, claimedAt: number): boolean {
    const lease = this.held.get(callId)
    if (!lease || lease.isRevived || number > lease.number + 1) return false
    // A renewal that took the forgotten claim again is the later of the two.
    Object.assign(lease, { number: Math.max(number, lease.number), renewedAt: claimedAt })
    return true
  }

  /** Gives a lease up. This worker may have lost the call and claimed it again: that lease stays. */
  remove(lease: HeldLease): void {
    const { id } = lease.job.envelope
    if (this.held.get(id) === lease) this.held.delete(id)
  }

  /** The calls that run here, with the generation of their lease. */
  *running(): Iterable<{ envelope: CallEnvelope; generation: number }> {
    for (const { job, generation } of this.held.values()) yield { envelope: job.envelope, generation }
  }

  /** Whether a lease still holds. Asks Redis only when this process may have slept through a renewal. */
  async isHeld(lease: HeldLease): Promise<boolean> {
    const { clock, lockMs } = this.options
    if (clock() - lease.renewedAt > lockMs * TRUSTED_LOCK_PART)
      await this.renewSome([lease]).catch((error) => {
        // Where nothing can be written nobody can claim.
        if (!isRefusedWrite(error)) throw error
      })
    return this.isOurs(lease)
  }

  /**
   * Whether a lease holds that Redis does not know under its number: one that it forgot is taken again, and of a call
   * that this worker claimed again meanwhile the number is learnt.
   */
  async reclaim(lease: HeldLease): Promise<boolean> {
    await this.inTurn(async () => {
      if (this.isOurs(lease)) await this.decide([lease], await this.options.epoch.check())
    })
    return this.isOurs(lease)
  }

  /** Renews every lease; ends the runs of those that are lost, and revives those that Redis lost. Never rejects. */
  async renew(): Promise<void> {
    const leases = [...this.held.values()]
    if (leases.length === 0) return
    try {
      await this.renewSome(leases)
    } catch (error) {
      this.options.logger.warn({ err: error, calls: leases.length }, 'leases not renewed')
    }
  }

  /** One renewal after another: a lease that one of them revives would look lost to the other. */
  private renewSome(leases: HeldLease[]): Promise<void> {
    return this.inTurn(() => this.renewNow(leases))
  }

  private inTurn(renew: () => Promise<void>): Promise<void> {
    const renewal = this.renewing.then(renew)
    this.renewing = renewal.catch(() => undefined)
    return renewal
  }

  private async renewNow(leases: HeldLease[]): Promise<void> {
    const { clock, epoch, extend, keepRevived } = this.options
    const [askedAt, epochThen] = [clock(), epoch.current()]
    const locked = leases.filter((lease) => !lease.isRevived)
    const gone = new Set(locked.length === 0 ? [] : await extend(locked.map(callIdOf)))
    const revived = leases.filter((lease) => lease.isRevived)
    const kept = await Promise.all(revived.map((lease) => keepRevived(callIdOf(lease))))
    for (const [index, lease] of revived.entries()) if (!kept[index]) gone.add(callIdOf(lease))
    for (const lease of leases) {
      if (!gone.has(callIdOf(lease))) Object.assign(lease, { renewedAt: askedAt, epoch: epochThen })
    }
    const missed = leases.filter((lease) => gone.has(callIdOf(lease)) && this.isOurs(lease))
    if (missed.length > 0) await this.decide(missed, await epoch.check())
  }

  /** Whether locks that are gone lapsed, were forgotten, were lost to another worker, or went with Redis. */
  private async decide(missed: HeldLease[], epochNow: string): Promise<void> {
    const { calls, logger } = this.options
    await Promise.all(
      missed.map(async (lease) => {
        if ((await this.restore(lease, epochNow)) || !this.isOurs(lease)) return
        const callId = callIdOf(lease)
        logger.warn({ callId }, 'lease lost to another worker')
        this.held.delete(callId)
        calls.abort(callId as CallId, 'lease-lost')
      }),
    )
  }

  /** Lets a lease stand again that Redis does not know any more, unless another worker has the call or has finished it. */
  private async restore(lease: HeldLease, epochNow: string): Promise<boolean> {
    const { clock, lockMs, retake, revive, removeRevived } = this.options
    const callId = callIdOf(lease)
    const askedAt = clock()
    const isOrphan = lease.epoch !== epochNow
    if (!isOrphan && !lease.isRevived) {
      const retaken = await retake(callId, lease.number)
      if (retaken === 'lost') return false
      if (retaken !== 'missing') {
        Object.assign(lease, { number: retaken, renewedAt: askedAt })
        return true
      }
      if (!this.isOurs(lease)) return false
    }
    // Nobody else can have finished a call whose lock cannot have lapsed yet: Redis lost its job.
    const mayBeFinished = !isOrphan && askedAt - lease.renewedAt > lockMs * TRUSTED_LOCK_PART
    if (mayBeFinished || !(await revive({ ...lease.job, claims: lease.generation }))) return false
    Object.assign(lease, { isRevived: true, epoch: epochNow, renewedAt: askedAt })
    // It ended meanwhile, and could not know that there was something to remove.
    if (!this.isOurs(lease)) await removeRevived(callId)
    return true
  }

  private isOurs(lease: HeldLease): boolean {
    return this.held.get(callIdOf(lease)) === lease
  }
}

const callIdOf = ({ job }: HeldLease): string => job.envelope.id
