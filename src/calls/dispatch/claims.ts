import type { CallEnvelope, CallJob } from '../../core/calls/call-job.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { isRefusedWrite } from '../../platform/redis/redis.ts'
import type { EpochWatch } from '../../platform/redis/redis-epoch.ts'
import type { RunningCalls } from './running-calls.ts'

/** The lock of a claimed call as this worker knows it. */
export interface HeldClaim {
  job: CallJob
  /** Which claim of this call it is, from 1. */
  number: number
  /** When the lock was last taken or renewed for certain, unix ms. */
  renewedAt: number
  /** The epoch of Redis's data in which that was. */
  epoch: string
  /** Redis lost the job; a delayed one stands for it, whose delay is the lock. */
  isRevived: boolean
}

export interface ClaimsOptions {
  calls: RunningCalls
  epoch: Pick<EpochWatch, 'current' | 'check'>
  /** How long a claim stands without renewal. */
  lockMs: number
  logger: Logger
  clock: () => number
  /** Renews locks for `lockMs`; returns the calls whose lock is no longer ours. */
  extend(callIds: string[]): Promise<string[]>
  /** Renews a lock that lapsed while nobody else claimed the call; `number` counts the claims of this job. */
  retake(callId: string, number: number): Promise<boolean>
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
 * The calls one worker has claimed. States of a claim: held (a lock in Redis, renewed) → lost (another worker
 * has the call: its run here ends, and settles nothing), or → revived. A lock that lapsed while nobody else
 * claimed the call is taken again: this worker or Redis stood still. A lock that went with all of Redis's data is
 * not lost either: nobody else can have the call, so it runs on, and is put back into the queue.
 */
export class Claims {
  private readonly held = new Map<string, HeldClaim>()
  private readonly options: ClaimsOptions
  private renewing: Promise<void> = Promise.resolve()

  constructor(options: ClaimsOptions) {
    this.options = options
  }

  add(job: CallJob, number: number, renewedAt: number): HeldClaim {
    const epoch = this.options.epoch.current()
    const claim: HeldClaim = { job, number, renewedAt, epoch, isRevived: false }
    this.held.set(job.envelope.id, claim)
    return claim
  }

  /** Gives a claim up. This worker may have lost the call and claimed it again: that claim stays. */
  remove(claim: HeldClaim): void {
    const { id } = claim.job.envelope
    if (this.held.get(id) === claim) this.held.delete(id)
  }

  /** The calls that run here, with the number of their claim. */
  *running(): Iterable<{ envelope: CallEnvelope; number: number }> {
    for (const { job, number } of this.held.values()) yield { envelope: job.envelope, number }
  }

  /** Whether a claim still stands. Asks Redis only when this process may have slept through a renewal. */
  async isHeld(claim: HeldClaim): Promise<boolean> {
    const { clock, lockMs } = this.options
    if (clock() - claim.renewedAt > lockMs * TRUSTED_LOCK_PART)
      await this.renewSome([claim]).catch((error) => {
        // Where nothing can be written nobody can claim.
        if (!isRefusedWrite(error)) throw error
      })
    return this.isOurs(claim)
  }

  /** Resolves once a renewal under way, if any, has ended. */
  renewed(): Promise<void> {
    return this.renewing
  }

  /** Renews every claim; ends the runs of those that are lost, and revives those that Redis lost. Never rejects. */
  async renew(): Promise<void> {
    const claims = [...this.held.values()]
    if (claims.length === 0) return
    try {
      await this.renewSome(claims)
    } catch (error) {
      this.options.logger.warn({ err: error, calls: claims.length }, 'claims not renewed')
    }
  }

  /** One renewal after another: a claim that one of them revives would look lost to the other. */
  private renewSome(claims: HeldClaim[]): Promise<void> {
    const renewal = this.renewing.then(() => this.renewNow(claims))
    this.renewing = renewal.catch(() => undefined)
    return renewal
  }

  private async renewNow(claims: HeldClaim[]): Promise<void> {
    const { clock, epoch, extend, keepRevived } = this.options
    const [askedAt, epochThen] = [clock(), epoch.current()]
    const locked = claims.filter((claim) => !claim.isRevived)
    const gone = new Set(locked.length === 0 ? [] : await extend(locked.map(callIdOf)))
    const revived = claims.filter((claim) => claim.isRevived)
    const kept = await Promise.all(revived.map((claim) => keepRevived(callIdOf(claim))))
    for (const [index, claim] of revived.entries()) if (!kept[index]) gone.add(callIdOf(claim))
    for (const claim of claims) {
      if (!gone.has(callIdOf(claim))) Object.assign(claim, { renewedAt: askedAt, epoch: epochThen })
    }
    const missed = claims.filter((claim) => gone.has(callIdOf(claim)) && this.isOurs(claim))
    if (missed.length > 0) await this.decide(missed, await epoch.check())
  }

  /** Whether locks that are gone lapsed, were lost to another worker, or went with Redis. */
  private async decide(missed: HeldClaim[], epochNow: string): Promise<void> {
    const { calls, clock, logger, retake, revive, removeRevived } = this.options
    await Promise.all(
      missed.map(async (claim) => {
        const callId = callIdOf(claim)
        const askedAt = clock()
        const isOrphan = claim.epoch !== epochNow
        if (isOrphan && (await revive({ ...claim.job, claims: claim.number }))) {
          Object.assign(claim, { isRevived: true, epoch: epochNow, renewedAt: askedAt })
          // It ended meanwhile, and could not know that there was something to remove.
          if (!this.isOurs(claim)) await removeRevived(callId)
          return
        }
        if (!this.isOurs(claim)) return
        const ofThisJob = claim.number - (claim.job.claims ?? 0)
        if (!isOrphan && !claim.isRevived && (await retake(callId, ofThisJob))) {
          claim.renewedAt = askedAt
          return
        }
        if (!this.isOurs(claim)) return
        logger.warn({ callId }, 'claim lost to another worker')
        this.held.delete(callId)
        calls.abort(callId as CallId, 'claim-lost')
      }),
    )
  }

  private isOurs(claim: HeldClaim): boolean {
    return this.held.get(callIdOf(claim)) === claim
  }
}

const callIdOf = ({ job }: HeldClaim): string => job.envelope.id
