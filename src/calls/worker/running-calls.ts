import { LRUCache } from 'lru-cache'
import type { CallEnvelope } from '../../core/calls/call-job.ts'
import {
  type ControlMessage,
  type DeliveredPrefix,
  type EarlyEnd,
  type Frame,
  type GatewayFailure,
  isSameRun,
} from '../../core/calls/frames.ts'
import type { CallContent } from '../../core/calls/kinds/call-kinds.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { AttemptRequest } from '../../providers/wire.ts'
import type { CallOutbox } from './call-outbox.ts'
import type { ClaimedCall } from './leases.ts'

/** Why a running call is aborted. */
export type AbortReason =
  /** Its client hung up. */
  | 'client-gone'
  /** Its API instance stops, lost part of the completion, or is gone. */
  | 'gateway-failed'
  /** Another worker claimed it, so this one must not continue. */
  | 'lease-lost'
  /** Its client has part of another run's completion, which this one cannot continue. */
  | 'begun-elsewhere'
  /** The worker stops. */
  | 'shutdown'

/** One run of a call that this worker has claimed. */
export interface RunningCall<Content extends CallContent | null = CallContent | null> {
  claimed: ClaimedCall
  envelope: CallEnvelope
  /** Null until it is read. */
  content: Content
  outbox: CallOutbox
  /** Set when the gateway failed the call. */
  failure: GatewayFailure | null
  controller: AbortController
  /** Aborted with it, except when the client left: for requests that a provider may finish. */
  upstream: AbortController
  /** Continues to its end even without a client, because its response is kept for repeats. */
  runsOn: boolean
  /** See bounded-conversions.ts. Absent: conversions may take any time. */
  convert?: AttemptRequest['convert']
  /** Set while the call waits to learn what an earlier claim had delivered. */
  onDelivered: ((delivered: DeliveredPrefix | null) => void) | null
  /** What its client received from another run, if this run was notified without asking. */
  begunElsewhere: DeliveredPrefix | null
}

/** Ended calls whose frames are kept for a resend, and cancels kept for calls not claimed yet. */
const KEPT_OUTBOXES = 2_000
export const KEPT_OUTBOX_BYTES = 64 * 1024 * 1024
const KEPT_CANCELS = 10_000

/** The running calls of one worker, and the handling of control messages. */
export class RunningCalls {
  private readonly running = new Map<CallId, RunningCall>()
  private readonly ended: LRUCache<CallId, CallOutbox>
  private readonly cancelled = new Map<CallId, EarlyEnd>()

  /** `keptBytes` limits the frames of ended calls in total. */
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

  /** Whether a run of the call is not over here, even if its lease is lost. */
  has(callId: CallId): boolean {
    return this.running.has(callId)
  }

  /**
   * Adds a call. If its cancel overtook its job, it starts aborted. If it already runs here, it was lost and claimed
   * again by this worker, and the older run ends.
   */
  add(claimed: ClaimedCall, outbox: CallOutbox): RunningCall {
    const { envelope } = claimed.job
    const { id: callId } = envelope
    this.abort(callId, 'lease-lost')
    const call: RunningCall = {
      claimed,
      envelope,
      content: null,
      outbox,
      failure: null,
      controller: new AbortController(),
      upstream: new AbortController(),
      runsOn: envelope.idempotencyRecord !== null,
      onDelivered: null,
      begunElsewhere: null,
    }
    this.running.set(callId, call)
    const ending = this.cancelled.get(callId)
    if (ending) endEarly(call, ending)
    this.cancelled.delete(callId)
    return call
  }

  /** Removes an ended call; its frames are kept for a resend until newer ones replace them. */
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

  /**
   * Aborts the calls of a channel without a subscriber, whose API instance is gone. `subscribedAt`: when it was last known
   * to live.
   */
  abortChannel(channel: string, subscribedAt: number): void {
    for (const call of this.running.values()) {
      const { outbox, runsOn } = call
      outbox.detach((receiver) => receiver.channel === channel)
      if (outbox.channel !== channel || runsOn) continue
      const deliveredChars = outbox.passedOnChars(subscribedAt)
      endEarly(call, { by: 'gateway', code: 'internal_error', deliveredChars })
    }
  }

  /** Records that these frames were sent without a subscriber. */
  noteLost(frames: readonly Frame[]): void {
    for (const [callId, generation, sequence, , run] of frames) {
      const outbox = this.running.get(callId)?.outbox
      if (outbox && isSameRun(outbox, { generation, run })) outbox.noteUnacknowledged(sequence)
    }
  }

  /** Records how much of each completion has been sent. */
  markSent(at: number): void {
    for (const { outbox } of this.running.values()) outbox.mark(at)
  }

  *channels(): Iterable<string> {
    for (const { outbox } of this.running.values()) yield outbox.channel
  }

  /** Executes a control message of an API instance; messages for calls of other workers are ignored. */
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
        return call?.outbox.detach(({ listenerId }) => listenerId === message.label)
      case 'delivered':
        if (call && isSameRun(call.outbox, message)) noteDelivered(call, message.delivered)
        return
      default:
        return message satisfies never
    }
  }

  private resend(message: Extract<ControlMessage, { kind: 'resend' }>): void {
    const outboxes = [this.running.get(message.callId)?.outbox, this.ended.get(message.callId)]
    // Generation 0: the API instance has received no frame yet, so it does not know which claim runs.
    const wanted = outboxes.find(
      (outbox) => outbox && (message.generation === 0 || isSameRun(outbox, message)),
    )
    wanted?.resend(message.sequence)
  }
}

/**
 * Receives what the client was delivered, requested or not. A run that may still serve its client accepts it only if it
 * asked.
 */
function noteDelivered(call: RunningCall, delivered: DeliveredPrefix | null): void {
  if (call.onDelivered) return call.onDelivered(delivered)
  if (delivered === null || delivered.candidate === null || call.controller.signal.aborted) return
  call.begunElsewhere = delivered
  abort(call, 'begun-elsewhere')
}

/** Aborts a call. The first cause wins, except for a stopping worker. */
function endEarly(call: RunningCall, ending: EarlyEnd): void {
  if (call.failure || reasonOf(call) === 'client-gone') return
  if (ending.by === 'gateway') call.failure = { code: ending.code, deliveredChars: ending.deliveredChars }
  abort(call, ending.by === 'gateway' ? 'gateway-failed' : 'client-gone')
}

/** Why a call was aborted; undefined if it was not. */
export const reasonOf = ({ controller }: Pick<RunningCall, 'controller'>) =>
  controller.signal.reason as AbortReason | undefined

function abort({ controller, upstream }: RunningCall, reason: AbortReason): void {
  controller.abort(reason)
  if (reason !== 'client-gone') upstream.abort(reason)
}

/** Frames of another run than the one received so far are sent from the first. */
function attach(outbox: CallOutbox | undefined, message: Extract<ControlMessage, { kind: 'attach' }>): void {
  outbox?.attach(message.channel, message.label, isSameRun(outbox, message) ? message.sequence : 0)
}

/** Makes space for one more by dropping the oldest. */
function keep(collection: Map<CallId, unknown>, max: number): void {
  if (collection.size < max) return
  const [oldest] = collection.keys()
  if (oldest !== undefined) collection.delete(oldest)
}
