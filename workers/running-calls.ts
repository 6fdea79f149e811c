import type { ControlMessage, ShownSoFar } from '../src/core/frames.ts'
import type { CallId } from '../src/core/ids.ts'
import type { CallOutbox } from '../src/relay/call-outbox.ts'

/** Why a running call is aborted. */
export type AbortReason =
  /** Its client hung up, or its API instance is gone. */
  | 'client-gone'
  /** Another worker claimed it: this one must touch it no more. */
  | 'claim-lost'
  /** The worker stops. */
  | 'shutdown'

/** One call this worker runs. */
export interface RunningCall {
  outbox: CallOutbox
  controller: AbortController
  /** Runs to its end whoever listens: its answer is kept for repeats. */
  runsOn: boolean
  /** Set while the call asks what an earlier claim had shown. */
  onShown: ((shown: ShownSoFar | null) => void) | null
}

/** Ended calls whose frames are kept for a resend, and cancels kept for calls not claimed yet. */
const KEPT_OUTBOXES = 2_000
const KEPT_CANCELS = 10_000

/** The calls one worker runs, and what API instances ask of them. */
export class RunningCalls {
  private readonly running = new Map<CallId, RunningCall>()
  private readonly ended = new Map<CallId, CallOutbox>()
  private readonly cancelled = new Set<CallId>()

  get size(): number {
    return this.running.size
  }

  /**
   * Adds a call; one whose cancel overtook its job starts out aborted. A call that runs here already was
   * lost and claimed again by this same worker: the older run ends.
   */
  add(callId: CallId, outbox: CallOutbox, runsOn: boolean): RunningCall {
    this.abort(callId, 'claim-lost')
    const call: RunningCall = { outbox, controller: new AbortController(), runsOn, onShown: null }
    this.running.set(callId, call)
    if (this.cancelled.delete(callId)) call.controller.abort('client-gone' satisfies AbortReason)
    return call
  }

  /** Ends a call; its frames stay for a resend until newer ones push them out. */
  remove(call: RunningCall): void {
    const { callId } = call.outbox
    if (this.running.get(callId) !== call) return
    this.running.delete(callId)
    keep(this.ended, KEPT_OUTBOXES)
    this.ended.set(callId, call.outbox)
  }

  abort(callId: CallId, reason: AbortReason): void {
    this.running.get(callId)?.controller.abort(reason)
  }

  abortAll(reason: AbortReason): void {
    for (const { controller } of this.running.values()) controller.abort(reason)
  }

  /** Nobody listens on a channel any more. */
  abortChannel(channel: string): void {
    for (const { outbox, controller, runsOn } of this.running.values()) {
      if (outbox.channel === channel && !runsOn) controller.abort('client-gone' satisfies AbortReason)
    }
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
        if (call) return call.controller.abort('client-gone' satisfies AbortReason)
        keep(this.cancelled, KEPT_CANCELS)
        this.cancelled.add(callId)
        return
      case 'resend':
        return this.resend(call?.outbox ?? this.ended.get(callId), message.fence, message.sequence)
      case 'attach':
        return call?.outbox.attach(message.channel, message.label)
      case 'shown':
        if (call?.outbox.fence === message.fence) call.onShown?.(message.shown)
        return
      default:
        return message satisfies never
    }
  }

  private resend(outbox: CallOutbox | undefined, fence: number, sequence: number): void {
    // Fence 0: the API instance has heard nothing yet, not even which claim runs.
    if (!outbox || (fence !== 0 && fence !== outbox.fence)) return
    if (!outbox.resend(sequence)) this.abort(outbox.callId, 'client-gone')
  }
}

/** Makes room for one more by dropping the oldest. */
function keep(collection: Map<CallId, unknown> | Set<CallId>, max: number): void {
  if (collection.size < max) return
  const [oldest] = collection.keys()
  if (oldest !== undefined) collection.delete(oldest)
}
