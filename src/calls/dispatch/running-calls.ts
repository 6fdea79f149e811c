import { LRUCache } from 'lru-cache'
import type { CallEnvelope, CallJob } from '../../core/calls/call-job.ts'
import {
  type ControlMessage,
  type DeliveredPrefix,
  type EarlyEnd,
  type Frame,
  type GatewayFailure,
  isSameRun,
} from '../../core/calls/frames.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Retaken } from '../../platform/queues/call-jobs.ts'
import { isRefusedWrite, type Redis } from '../../platform/redis/redis.ts'
import type { EpochWatch } from '../../platform/redis/redis-epoch.ts'
import { CONTROL_CHANNEL, controlChannel } from '../../platform/redis/redis-keys.ts'
import type { CallOutbox } from '../relay/call-outbox.ts'

/** Why a running call is aborted. */
export type AbortReason =
  /** Its client hung up. */
  | 'client-gone'
  /** Its API instance stops, lost part of the answer, or is gone. */
  | 'gateway-failed'
  /** Another worker claimed it: this one must touch it no more. */
  | 'lease-lost'
  /** Its client has a part of another run's answer, upon which this one cannot follow. */
  | 'begun-elsewhere'
  /** The worker stops. */
  | 'shutdown'

/** One call this worker runs. */
export interface RunningCall {
  outbox: CallOutbox
  /** Set when the gateway failed the call. */
  failure: GatewayFailure | null
  controller: AbortController
  /** Aborted with it, except by a client that left: for what a provider is let finish once it was asked. */
  upstream: AbortController
  /** Runs to its end whoever listens: its answer is kept for repeats. */
  runsOn: boolean
  /** Set while the call asks what an earlier claim had delivered. */
  onDelivered: ((delivered: DeliveredPrefix | null) => void) | null
  /** What its client was delivered by another run, where that was told to this one without its asking. */
  begunElsewhere: DeliveredPrefix | null
}

/** Ended calls whose frames are kept for a resend, and cancels kept for calls not claimed yet. */
const KEPT_OUTBOXES = 2_000
const KEPT_OUTBOX_BYTES = 64 * 1024 * 1024
const KEPT_CANCELS = 10_000

/** The calls one worker runs, and what API instances ask of them. */
export class RunningCalls {
  private readonly running = new Map<CallId, RunningCall>()
  private readonly ended: LRUCache<CallId, CallOutbox>
  private readonly cancelled = new Map<CallId, EarlyEnd>()

  /** `keptBytes` bounds the frames of ended calls together. */
  constructor(keptBytes = KEPT_OUTBOX_BYTES) {
    this.ended = new LRUCache({
      max: KEPT_OUTBOXES,
      maxSize: keptBytes,
      sizeCalculation: (outbox) => outbox.keptBytes,
    })
  }

  get size(): number {
    return this.running.size
  }

  /**
   * Adds a call; one whose cancel overtook its job starts out aborted. A call that runs here already was
   * lost and claimed again by this same worker: the older run ends.
   */
  add(callId: CallId, outbox: CallOutbox, runsOn: boolean): RunningCall {
    this.abort(callId, 'lease-lost')
    const call: RunningCall = {
      outbox,
      failure: null,
      controller: new AbortController(),
      upstream: new AbortController(),
      runsOn,
      onDelivered: null,
      begunElsewhere: null,
    }
    this.running.set(callId, call)
    const ending = this.cancelled.get(callId)
    if (ending) endEarly(call, ending)
    this.cancelled.delete(callId)
    return call
  }

  /** Ends a call; its frames stay for a resend until newer ones push them out. */
  remove(call: RunningCall): void {
    const { callId } = call.outbox
    if (this.running.get(callId) !== call) return
    this.running.delete(callId)
    this.ended.set(callId, call.outbox)
  }

  abort(callId: CallId, reason: AbortReason): void {
    const call = this.running.get(callId)
    if (call) abort(call, reason)
  }

  abortAll(reason: AbortReason): void {
    for (const call of this.running.values()) abort(call, reason)
  }

  /** Nobody listens on a channel any more: its API instance is gone. It was heard for the last time at `heardAt`. */
  abortChannel(channel: string, heardAt: number): void {
    for (const call of this.running.values()) {
      const { outbox, runsOn } = call
      outbox.detach((receiver) => receiver.channel === channel)
      if (outbox.channel !== channel || runsOn) continue
      const deliveredChars = outbox.passedOnChars(heardAt)
      endEarly(call, { by: 'gateway', code: 'internal_error', deliveredChars })
    }
  }

  /** Nobody listened when these frames were sent. */
  noteLost(frames: readonly Frame[]): void {
    for (const [callId, generation, sequence, , run] of frames) {
      const outbox = this.running.get(callId)?.outbox
      if (outbox && isSameRun(outbox, { generation, run })) outbox.noteUnheard(sequence)
    }
  }

  /** Notes how much of each answer has been sent by now. */
  markSent(at: number): void {
    for (const { outbox } of this.running.values()) outbox.mark(at)
  }

  *channels(): Iterable<string> {
    for (const { outbox } of this.running.values()) yield outbox.channel
  }

  /** Carries out what an API instance says; calls of other workers are none of ours. */
  control(message: ControlMessage): void {
    const { callId } = message
    const call = this.running.get(callId)
    switch (message.kind) {
      case 'cancel':
        if (call) return endEarly(call, message.ending)
        keep(this.cancelled, KEPT_CANCELS)
        this.cancelled.set(callId, message.ending)
        return
      case 'resend':
        return this.resend(message)
      case 'attach':
        return attach(call?.outbox ?? this.ended.get(callId), message)
      case 'detach':
        return call?.outbox.detach(({ label }) => label === message.label)
      case 'delivered':
        if (call && isSameRun(call.outbox, message)) hearDelivered(call, message.delivered)
        return
      default:
        return message satisfies never
    }
  }

  private resend(message: Extract<ControlMessage, { kind: 'resend' }>): void {
    const outboxes = [this.running.get(message.callId)?.outbox, this.ended.get(message.callId)]
    // Generation 0: the API instance has heard nothing yet, not even which claim runs.
    const asked = outboxes.find(
      (outbox) => outbox && (message.generation === 0 || isSameRun(outbox, message)),
    )
    asked?.resend(message.sequence)
  }
}

/** Hears what the client was delivered, asked for or not. A run that may still serve its client hears it only if it asks. */
function hearDelivered(call: RunningCall, delivered: DeliveredPrefix | null): void {
  if (call.onDelivered) return call.onDelivered(delivered)
  if (delivered === null || delivered.candidate === null || call.controller.signal.aborted) return
  call.begunElsewhere = delivered
  abort(call, 'begun-elsewhere')
}

/** Ends a call before its answer did. Who was first to end it did; a worker that stops has not. */
function endEarly(call: RunningCall, ending: EarlyEnd): void {
  if (call.failure || reasonOf(call) === 'client-gone') return
  if (ending.by === 'gateway') call.failure = { code: ending.code, deliveredChars: ending.deliveredChars }
  abort(call, ending.by === 'gateway' ? 'gateway-failed' : 'client-gone')
}

/** Why a call was aborted; undefined where it was not. */
export const reasonOf = ({ controller }: Pick<RunningCall, 'controller'>) =>
  controller.signal.reason as AbortReason | undefined

function abort({ controller, upstream }: RunningCall, reason: AbortReason): void {
  controller.abort(reason)
  if (reason !== 'client-gone') upstream.abort(reason)
}

/** Frames of another run than the one heard so far are sent from the first. */
function attach(outbox: CallOutbox | undefined, message: Extract<ControlMessage, { kind: 'attach' }>): void {
  outbox?.attach(message.channel, message.label, isSameRun(outbox, message) ? message.sequence : 0)
}

/** Makes room for one more by dropping the oldest. */
function keep(collection: Map<CallId, unknown>, max: number): void {
  if (collection.size < max) return
  const [oldest] = collection.keys()
  if (oldest !== undefined) collection.delete(oldest)
}

/** Hears what API instances tell all workers, and this one. `subscriber` is a connection of its own. */
export async function listenForControl(
  subscriber: Redis,
  workerId: string,
  onMessage: (message: ControlMessage) => void,
): Promise<void> {
  const channels = [CONTROL_CHANNEL, controlChannel(workerId)]
  subscriber.on('message', (channel, message) => {
    if (channels.includes(channel)) onMessage(JSON.parse(message) as ControlMessage)
  })
  await subscriber.subscribe(...channels)
}

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
