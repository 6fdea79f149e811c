/** Maximum calls with concurrent resend requests to one worker, which limits what it sends again. */
const AT_ONCE = 16
/** Maximum wait for a response. */
const REPLY_WITHIN_MS = 250

/** A call that requests frames again from its worker. */
export interface ResendingCall {
  readonly ended: boolean
  /** The worker that it requests them from. */
  readonly addressee: string | null
  /** Its turn: sends the request. */
  askResend(nowMs: number): void
}

interface Lane {
  waiting: Set<ResendingCall>
  /** Calls with an open request, by time. */
  requested: Map<ResendingCall, number>
}

/**
 * The order in which calls request frames again. After a stall or a reconnect every call of an API instance has a gap.
 * If all were filled at once, they would exceed Redis's buffer for a subscriber, which would disconnect it again.
 */
export class ResendQueue {
  private readonly lanes = new Map<string | null, Lane>()

  /** Requests frames for a call, now or when it is its turn. Repeatable. */
  want(call: ResendingCall, nowMs: number): void {
    const lane = this.laneOf(call.addressee)
    if (lane.requested.has(call)) return
    lane.waiting.add(call)
    advance(lane, nowMs)
  }

  /** All requested frames of a call have been sent. */
  replied(call: ResendingCall, nowMs: number): void {
    for (const lane of this.lanes.values()) if (lane.requested.delete(call)) advance(lane, nowMs)
  }

  /** Call it some times a second, so that a missing response does not delay others for long. */
  tick(nowMs: number): void {
    for (const [worker, lane] of this.lanes) {
      for (const [call, requestedAtMs] of lane.requested) {
        if (call.ended || nowMs - requestedAtMs > REPLY_WITHIN_MS) lane.requested.delete(call)
      }
      advance(lane, nowMs)
      if (lane.requested.size + lane.waiting.size === 0) this.lanes.delete(worker)
    }
  }

  private laneOf(worker: string | null): Lane {
    let lane = this.lanes.get(worker)
    if (lane === undefined) {
      lane = { waiting: new Set(), requested: new Map() }
      this.lanes.set(worker, lane)
    }
    return lane
  }
}

function advance({ waiting, requested }: Lane, nowMs: number): void {
  for (const call of waiting) {
    if (requested.size >= AT_ONCE) return
    waiting.delete(call)
    if (call.ended) continue
    requested.set(call, nowMs)
    call.askResend(nowMs)
  }
}
