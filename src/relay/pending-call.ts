import type { CallEnvelope } from '../core/call-job.ts'
import {
  type ControlMessage,
  endsCall,
  type FrameBody,
  type FrameError,
  type ShownSoFar,
} from '../core/frames.ts'

/** Who waits for a call: writes what arrives to a client. Each frame comes once and in order. */
export interface CallSink {
  frame(body: FrameBody): void
  /** After the last frame of a message from Redis: the moment to write. */
  flush(): void
  /** About ten times a second, for keep-alives. */
  tick(nowMs: number): void
}

export interface PendingCallOptions {
  envelope: CallEnvelope
  sink: CallSink
  control: (message: ControlMessage) => void
  /** Called when nothing was heard of the call for long: is it still there? May be called again. */
  overdue: () => void
  nowMs: number
}

const RESEND_AFTER_MS = 200
const GAP_GIVE_UP_MS = 3_000
const PROBE_AFTER_MS = 5_000
const DEADLINE_GRACE_MS = 5_000
const OVERDUE_AGAIN_MS = 5_000
/** Silence between frames after which the call is looked after. */
const SILENT_FOR_MS = 10_000

const LOST: FrameError = {
  code: 'internal_error',
  message: 'Part of the answer was lost inside the gateway. Retry the request.',
}
const TOO_LATE: FrameError = {
  code: 'upstream_timeout',
  message: 'The answer did not finish in time. Retry, or ask for a shorter answer.',
}

/**
 * One call an API instance waits for. States: waiting (no frame yet) → open (content shown) → ended (an
 * ending frame, or given up). A call whose client left lingers as `abandoned` until its worker has ended
 * it, so that a worker that takes it over can still learn what had been shown.
 *
 * Frames are numbered per claim (`fence`). A gap holds back what follows and asks for a resend; silence is
 * probed the same way, since the lost frame may have been the last.
 */
export class PendingCall {
  readonly envelope: CallEnvelope
  ended = false
  private readonly options: PendingCallOptions
  private abandoned = false
  private fence = 0
  private next = 0
  private gapSinceMs: number | null = null
  /** When a frame last came or was last asked for. */
  private askedAtMs: number
  private overdueAtMs: number
  private shownText = ''
  private candidate: number | null = null

  constructor(options: PendingCallOptions) {
    this.options = options
    this.envelope = options.envelope
    this.askedAtMs = options.nowMs
    this.overdueAtMs = options.envelope.queueDeadlineAt
  }

  /** Takes one frame as it came off the channel. */
  accept(fence: number, sequence: number, body: FrameBody, nowMs: number): void {
    if (fence < this.fence || this.ended) return
    if (body[0] === 'takeover') return this.answerTakeover(fence)
    if (fence > this.fence) {
      // Another claim must ask before it may follow upon content; one that did not would repeat it.
      if (this.candidate !== null) return this.fail(LOST)
      this.fence = fence
      this.next = 0
    }
    if (sequence < this.next) return
    if (sequence > this.next) {
      if (this.gapSinceMs === null) {
        this.gapSinceMs = nowMs
        this.requestResend(nowMs)
      }
      return
    }
    this.next++
    this.gapSinceMs = null
    this.askedAtMs = nowMs
    this.overdueAtMs = nowMs + SILENT_FOR_MS
    this.deliver(body)
  }

  /** The client left, or the sink gave up: abort the upstream, keep only what a takeover needs. */
  abandon(): void {
    if (this.ended || this.abandoned) return
    this.abandoned = true
    // A call with an Idempotency-Key runs on: a repeat may come for its answer.
    if (this.envelope.idempotencyRecord === null)
      this.options.control({ kind: 'cancel', callId: this.envelope.id })
  }

  /** Ends the call from this side: the sink gets the error, the worker a cancel. */
  fail(error: FrameError): void {
    if (this.ended) return
    this.deliverToSink(['error', error])
    this.options.sink.flush()
    this.abandon()
  }

  /** Whether a worker was heard of. */
  get isHeard(): boolean {
    return this.fence > 0
  }

  /** Ends a call that no worker has. One whose end came after all has it. */
  end(error: FrameError): void {
    if (this.ended) return
    this.deliverToSink(['error', error])
    this.options.sink.flush()
    this.ended = true
  }

  flush(): void {
    if (!this.abandoned) this.options.sink.flush()
  }

  /** Frames may have been lost: ask for everything from the next on. */
  probe(nowMs: number): void {
    if (!this.ended) this.requestResend(nowMs)
  }

  /** Asks at the next tick whether the call is still there. */
  lookAfter(): void {
    this.overdueAtMs = 0
  }

  tick(nowMs: number): void {
    if (nowMs > this.envelope.callDeadlineAt + DEADLINE_GRACE_MS) {
      if (this.abandoned) this.ended = true
      else this.fail(TOO_LATE)
      return
    }
    if (this.gapSinceMs !== null && nowMs - this.gapSinceMs > GAP_GIVE_UP_MS) return this.fail(LOST)
    const patience = this.gapSinceMs === null ? PROBE_AFTER_MS : RESEND_AFTER_MS
    if (nowMs - this.askedAtMs > patience) this.requestResend(nowMs)
    if (nowMs > this.overdueAtMs) {
      this.overdueAtMs = nowMs + OVERDUE_AGAIN_MS
      this.options.overdue()
    }
    if (!this.abandoned) this.options.sink.tick(nowMs)
  }

  private deliver(body: FrameBody): void {
    if (!this.abandoned) this.note(body)
    this.deliverToSink(body)
    if (endsCall(body)) this.ended = true
  }

  /** Remembers what the client is being shown. */
  private note(body: FrameBody): void {
    if (body[0] === 'open') this.candidate = body[1]
    else if (body[0] === 'text' || body[0] === 'refusal') this.shownText += body[1]
    else if (body[0] === 'tool-calls')
      this.shownText += body[1].map((delta) => delta.function?.arguments ?? '').join('')
  }

  private deliverToSink(body: FrameBody): void {
    if (!this.abandoned) this.options.sink.frame(body)
  }

  private answerTakeover(fence: number): void {
    // Asked again: the first answer may have been lost. Once frames of that claim are here it has one.
    if (fence < this.fence || (fence === this.fence && this.next > 0)) return
    this.fence = fence
    this.next = 0
    this.gapSinceMs = null
    const nothingShown = this.candidate === null && !this.abandoned
    const shown: ShownSoFar | null = nothingShown
      ? null
      : { text: this.shownText, candidate: this.candidate, finished: false }
    this.options.control({ kind: 'shown', callId: this.envelope.id, fence, shown })
  }

  private requestResend(nowMs: number): void {
    this.askedAtMs = nowMs
    this.options.control({ kind: 'resend', callId: this.envelope.id, fence: this.fence, sequence: this.next })
  }
}
