import { LRUCache } from 'lru-cache'
import {
  type ControlMessage,
  type DeliveredPrefix,
  type EarlyEnd,
  type Frame,
  type GatewayFailure,
  isSameRun,
} from '../../core/calls/frames.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { CallOutbox } from './call-outbox.ts'

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
