import type { CallEnvelope, CallJob } from '../../core/calls/call-job.ts'
import type { CallContent } from '../../core/calls/kinds/call-kinds.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { transition } from '../../core/kernel/transition.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Reclaimed } from '../../platform/queues/call-jobs.ts'
import { isRefusedWrite } from '../../platform/redis/redis.ts'
import type { EpochWatch } from '../../platform/redis/redis-epoch.ts'

/** A call that this worker has claimed, and its lease: the lock of its job, as this worker knows it. */
export interface ClaimedCall {
  job: CallJob
  /** The content of a call that this process admitted, which its job lacks. Absent: the job has its body. */
  content?: CallContent
  /** Number of leases of this call, from 1. */
  generation: number
  /** Number of claims of its job, from 1. */
  number: number
  /** How often the call stalled before: its worker died, or stood still. */
  stalls: number
  /** When the lock was last certainly taken or renewed, unix ms. */
  renewedAt: number
  /** The epoch of Redis's data at that time. */
  epoch: string
  state: keyof typeof TRANSITIONS
}

const TRANSITIONS = { held: ['requeued', 'over'], requeued: ['over'], over: [] } as const

function enter(lease: ClaimedCall, state: keyof typeof TRANSITIONS): void {
  lease.state = transition(TRANSITIONS, lease.state, state, `lease of ${callIdOf(lease)}`)
}

/** Which claim of its job a lease has by now, as a step that ends the call names it. */
export const claimOf = ({ state, number }: ClaimedCall): number | 'revived' =>
  state === 'requeued' ? 'revived' : number

interface LeasesOptions {
  /** Ends the run of a call that another worker has. */
  loseCall(callId: CallId): void
  epoch: Pick<EpochWatch, 'current' | 'check'>
  /** Lifetime of a lease without renewal. */
  lockMs: number
  logger: Logger
  clock: () => number
  /** Renews locks for `lockMs`; returns the calls whose lock this worker no longer holds. */
  extend(callIds: string[]): Promise<string[]>
  /** Restores a claim whose lock expired while no other worker claimed the call; `number` is the claim of this job. */
  reclaim(callId: string, number: number): Promise<Reclaimed>
  /** Returns a call to the queue whose job Redis lost; false if another worker has it. */
  requeue(job: CallJob): Promise<boolean>
  /** Renews a requeued call; false if another worker claimed it. */
  extendRequeued(callId: string): Promise<boolean>
  /** Removes a requeued call from the queue after its end. */
  dropRequeued(callId: string): Promise<unknown>
}

/** A lock whose renewal is older than this part of its lifetime is verified before it is trusted. */
const TRUSTED_LOCK_PART = 2 / 3

/**
 * The calls one worker has claimed. States of a lease:
 *
 *   held      a lock in Redis, renewed
 *   requeued  Redis lost the job; a delayed one replaces it, whose delay is the lock
 *   over      another worker has the call (its run here ends, and settles nothing), or the run has ended
 *
 *   held → requeued        a lock is missing, another epoch or a missing job says that Redis lost it, and the queue took the
 *                          call again: no other worker can have it
 *   held, requeued → over  another worker has claimed the call, its run here has ended, or this worker claimed it again
 *
 * A lock that expired while no other worker claimed the call is reclaimed: this worker or Redis was blocked, or Redis lost
 * its last writes. If its job was lost with them, or with all of Redis's data, the call is requeued: no other worker can have
 * it, so it continues here.
 */
export class Leases {
  private readonly held = new Map<string, ClaimedCall>()
  private readonly options: LeasesOptions
  private renewing: Promise<void> = Promise.resolve()

  constructor(options: LeasesOptions) {
    this.options = options
  }

  add(call: ClaimedCall): void {
    const { id } = call.job.envelope
    const before = this.held.get(id)
    if (before) enter(before, 'over')
    this.held.set(id, call)
  }

  /**
   * Whether a claim is of a call that already runs here, with no other worker in between: its lock had expired and the
   * stalled check had returned it to the queue; or Redis lost the earlier claim, and counts from an older one. The call
   * continues under the new claim.
   */
  adopt({ job, number, renewedAt }: ClaimedCall): boolean {
    const lease = this.held.get(job.envelope.id)
    if (!lease || lease.state === 'requeued' || number > lease.number + 1) return false
    // A renewal that restored the lost claim is the later of the two.
    Object.assign(lease, { number: Math.max(number, lease.number), renewedAt })
    return true
  }

  /** Drops a lease. If this worker lost the call and claimed it again, the new lease is kept. */
  drop(lease: ClaimedCall): void {
    const { id } = lease.job.envelope
    if (!this.isOurs(lease)) return
    enter(lease, 'over')
    this.held.delete(id)
  }

  /** The running calls, with the generation of their lease. */
  *running(): Iterable<{ envelope: CallEnvelope; generation: number }> {
    for (const { job, generation } of this.held.values()) yield { envelope: job.envelope, generation }
  }

  /** Whether a lease is still held. Asks Redis only if this process may have missed a renewal. */
  async isHeld(lease: ClaimedCall): Promise<boolean> {
    const { clock, lockMs } = this.options
    if (clock() - lease.renewedAt > lockMs * TRUSTED_LOCK_PART)
      await this.renewSome([lease]).catch((error) => {
        // Redis refuses writes, so no other worker can claim it either.
        if (!isRefusedWrite(error)) throw error
      })
    return this.isOurs(lease)
  }

  /**
   * Whether a lease is held that Redis does not know under its number: a lost claim is restored, and the number of a
   * call that this worker claimed again meanwhile is updated.
   */
  async reclaim(lease: ClaimedCall): Promise<boolean> {
    await this.inTurn(async () => {
      if (this.isOurs(lease)) await this.decide([lease], await this.options.epoch.check())
    })
    return this.isOurs(lease)
  }

  /** Renews every lease; ends the runs of lost ones, and revives those that Redis lost. Never rejects. */
  async renew(): Promise<void> {
    const leases = [...this.held.values()]
    if (leases.length === 0) return
    try {
      await this.renewSome(leases)
    } catch (error) {
      this.options.logger.warn({ err: error, calls: leases.length }, 'leases not renewed')
    }
  }

  /** Renewals run one after another: a lease that one of them revives would look lost to another. */
  private renewSome(leases: ClaimedCall[]): Promise<void> {
    return this.inTurn(() => this.renewNow(leases))
  }

  private inTurn(renew: () => Promise<void>): Promise<void> {
    const renewal = this.renewing.then(renew)
    this.renewing = renewal.catch(() => undefined)
    return renewal
  }

  private async renewNow(leases: ClaimedCall[]): Promise<void> {
    const { clock, epoch, extend, extendRequeued } = this.options
    const [sentAt, epochThen] = [clock(), epoch.current()]
    const locked = leases.filter((lease) => lease.state !== 'requeued')
    const gone = new Set(locked.length === 0 ? [] : await extend(locked.map(callIdOf)))
    const requeued = leases.filter((lease) => lease.state === 'requeued')
    const kept = await Promise.all(requeued.map((lease) => extendRequeued(callIdOf(lease))))
    for (const [index, lease] of requeued.entries()) if (!kept[index]) gone.add(callIdOf(lease))
    for (const lease of leases) {
      if (!gone.has(callIdOf(lease))) Object.assign(lease, { renewedAt: sentAt, epoch: epochThen })
    }
    const missed = leases.filter((lease) => gone.has(callIdOf(lease)) && this.isOurs(lease))
    if (missed.length > 0) await this.decide(missed, await epoch.check())
  }

  /** Decides whether missing locks expired, were lost with Redis's data, or were taken by another worker. */
  private async decide(missed: ClaimedCall[], epochNow: string): Promise<void> {
    const { loseCall, logger } = this.options
    await Promise.all(
      missed.map(async (lease) => {
        if ((await this.restore(lease, epochNow)) || !this.isOurs(lease)) return
        const callId = callIdOf(lease)
        logger.warn({ callId }, 'lease lost to another worker')
        enter(lease, 'over')
        this.held.delete(callId)
        loseCall(callId)
      }),
    )
  }

  /** Restores a lease that Redis does not know, unless another worker has the call or has finished it. */
  private async restore(lease: ClaimedCall, epochNow: string): Promise<boolean> {
    const { clock, lockMs, reclaim, requeue, dropRequeued } = this.options
    const callId = callIdOf(lease)
    const sentAt = clock()
    const isOrphan = lease.epoch !== epochNow
    if (!isOrphan && lease.state !== 'requeued') {
      const reclaimed = await reclaim(callId, lease.number)
      if (reclaimed === 'lost') return false
      if (reclaimed !== 'missing') {
        Object.assign(lease, { number: reclaimed, renewedAt: sentAt })
        return true
      }
      if (!this.isOurs(lease)) return false
    }
    // No other worker can have finished a call whose lock cannot have expired yet: Redis lost its job.
    const mayBeFinished = !isOrphan && sentAt - lease.renewedAt > lockMs * TRUSTED_LOCK_PART
    if (mayBeFinished || !(await requeue({ ...lease.job, claims: lease.generation }))) return false
    if (this.isOurs(lease)) {
      if (lease.state !== 'requeued') enter(lease, 'requeued')
      Object.assign(lease, { epoch: epochNow, renewedAt: sentAt })
    } else {
      // It ended in the meantime, and could not know that there was a job to remove.
      await dropRequeued(callId)
    }
    return true
  }

  private isOurs(lease: ClaimedCall): boolean {
    return this.held.get(callIdOf(lease)) === lease
  }
}

const callIdOf = ({ job }: ClaimedCall): CallId => job.envelope.id
