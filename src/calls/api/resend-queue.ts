/** Calls of one worker that may be asked of it at the same time: what it sends again for them is bounded so. */
const AT_ONCE = 16
/** Calls of which no worker was heard yet: most wait in the queue, and nobody will answer for them. */
const AT_ONCE_UNKNOWN = 256
/** An answer that takes longer is waited for no more. */
const ANSWER_WITHIN_MS = 250

/** Who asks its worker to send frames again. */
export interface Asker {
  readonly ended: boolean
  /** The worker that was heard of last; null while none was. */
  readonly worker: string | null
  /** It is its turn: sends the request. */
  askResend(nowMs: number): void
}

interface Lane {
  waiting: Set<Asker>
  /** Who has asked, and when. */
  asked: Map<Asker, number>
  atOnce: number
}

/**
 * Whose turn it is to ask for frames again. After a stall or a reconnect every call of an API instance has a gap:
 * answered all at once they would be more than Redis keeps for a subscriber, which would cut it off again.
 */
export class ResendQueue {
  private readonly lanes = new Map<string | null, Lane>()

  /** Asks for a call, now or when it is its turn. Repeatable. */
  want(call: Asker, nowMs: number): void {
    const lane = this.laneOf(call.worker)
    if (lane.asked.has(call)) return
    lane.waiting.add(call)
    advance(lane, nowMs)
  }

  /** Everything that a call asked for has been sent. */
  answered(call: Asker, nowMs: number): void {
    for (const lane of this.lanes.values()) if (lane.asked.delete(call)) advance(lane, nowMs)
  }

  /** To be called some times a second: no answer keeps the others waiting for long. */
  tick(nowMs: number): void {
    for (const [worker, lane] of this.lanes) {
      for (const [call, askedAtMs] of lane.asked) {
        if (call.ended || nowMs - askedAtMs > ANSWER_WITHIN_MS) lane.asked.delete(call)
      }
      advance(lane, nowMs)
      if (lane.asked.size + lane.waiting.size === 0) this.lanes.delete(worker)
    }
  }

  private laneOf(worker: string | null): Lane {
    let lane = this.lanes.get(worker)
    if (lane === undefined) {
      const atOnce = worker === null ? AT_ONCE_UNKNOWN : AT_ONCE
      lane = { waiting: new Set(), asked: new Map(), atOnce }
      this.lanes.set(worker, lane)
    }
    return lane
  }
}

function advance({ waiting, asked, atOnce }: Lane, nowMs: number): void {
  for (const call of waiting) {
    if (asked.size >= atOnce) return
    waiting.delete(call)
    if (call.ended) continue
    asked.set(call, nowMs)
    call.askResend(nowMs)
  }
}
