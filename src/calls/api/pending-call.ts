import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import { deltaText, isDelta } from '../../core/calls/completion.ts'
import {
  type ControlMessage,
  type DeliveredPrefix,
  type EarlyEnd,
  endsCall,
  type FrameBody,
  type FrameError,
  isSameRun,
  type RunOfCall,
} from '../../core/calls/frames.ts'

/** Who waits for a call: writes what arrives to a client. Each frame comes once and in order. */
export interface CallSink {
  frame(body: FrameBody): void
  /** After the last frame of a message from Redis: the moment to write. */
  flush(): void
  /** About ten times a second, for keep-alives. */
  tick(nowMs: number): void
}

export interface PendingCallOptions {
  envelope: ResponseEnvelope
  sink: CallSink
  /** Tells one worker; where none is named, the one that was heard of last, or all. */
  control: (message: ControlMessage, worker?: string) => void
  /** Frames may be missing: the call waits for its turn to ask (see `askResend`). May be called again. */
  wantsResend: () => void
  /** Called when nothing was heard of the call for long: is it still there? May be called again. */
  overdue: () => void
  /** Called when the sink was told that the gateway failed the call, with the text that it had been delivered before. */
  told?: ((error: FrameError, deliveredText: string) => void) | undefined
  /** Called once when the call has ended for everybody: its client, and the worker as far as it is heard of. */
  over?: (() => void) | undefined
  nowMs: number
}

/** A run as an API instance hears it. */
interface HeardRun extends RunOfCall {
  /** The worker that sent a frame; absent where it comes from a kept answer. */
  worker?: string | undefined
}

const RESEND_AFTER_MS = 200
/** A gap is asked for so often, for three seconds or more; an instance that was frozen itself gives nothing up for it. */
const GAP_ASKS_MAX = 12
const PROBE_AFTER_MS = 5_000
const DEADLINE_GRACE_MS = 5_000
const OVERDUE_AGAIN_MS = 5_000
/** How long a lost end that was asked for may take. */
const MISSING_AGAIN_MS = 1_250
/** How long after its deadline a call that its worker never ended is remembered, for a worker that takes it over. */
const LINGER_MS = 60_000
/** A cancel is said again until its worker has ended the call, less and less often. */
const CANCEL_AGAIN_MS = 1_000
const CANCEL_AGAIN_MAX_MS = 5_000
/** Silence between frames after which the call is looked after. */
const SILENT_FOR_MS = 10_000
/** How often a run is told that another has begun the answer, while it sends on. */
const TELL_AGAIN_MS = 500

/**
 * One call an API instance waits for. States: waiting (no frame yet) → open (content delivered) → ended (an
 * ending frame, or given up). A call whose client left lingers as `abandoned` until its worker has ended
 * it, so that a worker that takes it over can still learn what had been delivered.
 *
 * Frames are numbered per run. A gap holds back what follows and asks for a resend; silence is probed the same way,
 * since the lost frame may have been the last. A cancel may be lost as well.
 *
 * The run that delivered the first content is the only one whose frames continue it. Any other may but end the call:
 * only the run that has the job can. `generation` does not tell them apart, since a Redis that lost its last second
 * gives numbers of claims away again.
 */
export class PendingCall {
  readonly envelope: ResponseEnvelope
  ended = false
  private readonly options: PendingCallOptions
  /** Who ended the call before its answer did. */
  private ending: EarlyEnd | null = null
  /** Set while its worker may still say how it ended, after it was asked to end it. */
  private stopping: { error: FrameError; untilMs: number } | null = null
  /** The run whose frames are delivered. */
  private run: HeardRun = { generation: 0 }
  private next = 0
  /** Set while a frame is missing: how often it was asked for. */
  private gap: { asks: number } | null = null
  /** When a frame last came or was last asked for. */
  private askedAtMs: number
  private overdueAtMs: number
  private deliveredText = ''
  private candidate: number | null = null
  /** When a run that cannot continue the answer may be told so again. */
  private tellAtMs = 0
  private cancelAtMs: number | null = null
  private cancelEveryMs = CANCEL_AGAIN_MS

  constructor(options: PendingCallOptions) {
    this.options = options
    this.envelope = options.envelope
    this.askedAtMs = options.nowMs
    this.overdueAtMs = options.envelope.queueDeadlineAt
  }

  /** Takes one frame of a run as it came off the channel from a worker. */
  accept(run: HeardRun, sequence: number, body: FrameBody, nowMs: number): void {
    if (this.ended || body[0] === 'caught-up') return
    if (body[0] === 'takeover') return this.answerTakeover(run)
    if (!isSameRun(run, this.run) && !this.follows(run, body, nowMs)) return
    if (sequence < this.next) return
    if (sequence > this.next) {
      if (this.gap) return
      this.gap = { asks: 0 }
      return this.options.wantsResend()
    }
    this.next++
    this.gap = null
    this.askedAtMs = nowMs
    this.overdueAtMs = nowMs + SILENT_FOR_MS
    this.deliver(body)
  }

  /** Whether the frames of another run than before are delivered from now on. */
  private follows(run: HeardRun, body: FrameBody, nowMs: number): boolean {
    if (this.candidate === null) {
      // An older claim is a lost one, unless it could end the call.
      if (run.generation < this.run.generation && !endsCall(body)) return false
      this.follow(run)
      return true
    }
    if (endsCall(body)) this.endedBy(body)
    else if (nowMs >= this.tellAtMs) {
      this.tellAtMs = nowMs + TELL_AGAIN_MS
      this.tellDelivered(run)
    }
    return false
  }

  private follow(run: HeardRun): void {
    this.run = run
    this.next = 0
    this.gap = null
  }

  /**
   * Another run than the one that began the answer has ended the call: the rest of that one does not come. Should the
   * other be charged for more than was delivered, its caller was told a failure.
   */
  private endedBy(body: FrameBody): void {
    this.endAsLost(this.stopping?.error ?? (body[0] === 'error' ? body[1] : CALL_ERRORS.partLost))
  }

  /** The call is waited for no more. */
  forgotten(): void {
    const { over } = this.options
    delete this.options.over
    over?.()
  }

  /** The client left: abort the upstream, keep only what a takeover needs. */
  abandon(): void {
    this.stopping = null
    this.endEarly({ by: 'client' })
  }

  /** Ends the call from this side: the sink gets the error, the worker a cancel. */
  fail(error: FrameError): void {
    if (this.ended) return
    this.deliverToSink(['error', error])
    this.options.sink.flush()
    if (!this.abandoned) this.options.told?.(error, this.deliveredText)
    this.stopping = null
    this.endEarly({ by: 'gateway', code: error.code, deliveredChars: this.deliveredText.length })
  }

  /**
   * Asks the worker to end the call, and lets it say how it ended: an answer that it has settled by then is delivered whole.
   * The sink gets the error otherwise, at `untilMs` at the latest.
   */
  stop(error: FrameError, untilMs: number): void {
    // One that runs on for a repeat is not ended by its worker.
    if (this.envelope.idempotencyRecord !== null) return this.fail(error)
    if (this.ended || this.ending) return
    this.stopping = { error, untilMs }
    this.endEarly({ by: 'gateway', code: error.code, deliveredChars: this.deliveredText.length })
    // The end may have been lost on its way.
    this.probe()
  }

  private endEarly(ending: EarlyEnd): void {
    if (this.ended || this.ending) return
    this.ending = ending
    this.cancel()
  }

  private get abandoned(): boolean {
    return this.ending !== null && this.stopping === null
  }

  /** Whether its worker was told to end it and has not done so yet, as far as is known. */
  get isCancelling(): boolean {
    // A call with an Idempotency-Key runs on: a repeat may come for its answer.
    return this.ending !== null && !this.ended && this.envelope.idempotencyRecord === null
  }

  /** The worker that was heard of last. */
  get worker(): string | null {
    return this.run.worker ?? null
  }

  /** Whether its client has received a part of the answer, and waits for more. */
  get isDelivered(): boolean {
    return this.candidate !== null && !this.abandoned
  }

  /** Whether a worker was heard of. */
  get isHeard(): boolean {
    return this.run.generation > 0
  }

  /** Ends a call that no worker has. */
  end(error: FrameError): void {
    if (this.ended) return
    this.deliverToSink(['error', error])
    this.options.sink.flush()
    this.ended = true
  }

  /** Ends a call whose end was lost: should it be charged all the same, its caller was told a failure. */
  endAsLost(error: FrameError): void {
    if (!this.ended && !this.abandoned) this.options.told?.(error, this.deliveredText)
    this.end(error)
  }

  flush(): void {
    if (!this.abandoned) this.options.sink.flush()
  }

  /** Frames may have been lost: ask for everything from the next on. */
  probe(): void {
    if (!this.ended) this.options.wantsResend()
  }

  /** The connection was gone: what was said or sent meanwhile is lost, and what was asked for proves nothing. */
  reconnected(): void {
    if (this.gap) this.gap.asks = 0
    this.cancel()
    this.probe()
  }

  /** It is its turn: asks for every frame from the next on. */
  askResend(nowMs: number): void {
    this.askedAtMs = nowMs
    if (this.gap) this.gap.asks++
    this.options.control({
      kind: 'resend',
      callId: this.envelope.id,
      generation: this.run.generation,
      run: this.run.run,
      sequence: this.next,
    })
  }

  /** Its job is gone, so its end was sent: asks for it, and soon again whether the call is still there. */
  endIsMissing(): void {
    this.overdueAtMs -= OVERDUE_AGAIN_MS - MISSING_AGAIN_MS
    this.probe()
  }

  /** Asks at the next tick whether the call is still there. */
  checkLiveness(): void {
    this.overdueAtMs = 0
  }

  tick(nowMs: number): void {
    if (this.isCancelling) this.cancelAgain(nowMs)
    if (this.stopping && nowMs >= this.stopping.untilMs) this.fail(this.stopping.error)
    if (nowMs > this.envelope.callDeadlineAt + DEADLINE_GRACE_MS) {
      if (!this.abandoned) this.fail(CALL_ERRORS.tooLate)
      if (nowMs > this.envelope.callDeadlineAt + DEADLINE_GRACE_MS + LINGER_MS) this.ended = true
      return
    }
    const patience = this.gap === null ? PROBE_AFTER_MS : RESEND_AFTER_MS
    if (nowMs - this.askedAtMs > patience) {
      if (this.gap && this.gap.asks >= GAP_ASKS_MAX) return this.fail(CALL_ERRORS.partLost)
      this.options.wantsResend()
    }
    if (nowMs > this.overdueAtMs) {
      this.overdueAtMs = nowMs + OVERDUE_AGAIN_MS
      this.options.overdue()
    }
    if (!this.abandoned) this.options.sink.tick(nowMs)
  }

  private cancel(): void {
    if (!this.isCancelling || this.ending === null) return
    this.options.control({ kind: 'cancel', callId: this.envelope.id, ending: this.ending })
  }

  private cancelAgain(nowMs: number): void {
    if (this.cancelAtMs !== null && nowMs >= this.cancelAtMs) {
      this.cancel()
      this.cancelEveryMs = Math.min(2 * this.cancelEveryMs, CANCEL_AGAIN_MAX_MS)
      this.cancelAtMs = null
    }
    this.cancelAtMs ??= nowMs + this.cancelEveryMs
  }

  private deliver(body: FrameBody): void {
    if (!this.abandoned) this.note(body)
    const isEnded = this.stopping !== null && body[0] === 'error'
    this.deliverToSink(isEnded ? ['error', this.stopping!.error] : body)
    if (endsCall(body)) this.ended = true
  }

  /** Remembers what the client is being delivered. */
  private note(body: FrameBody): void {
    if (body[0] === 'open') this.candidate = body[1]
    else if (isDelta(body)) this.deliveredText += deltaText(body)
  }

  private deliverToSink(body: FrameBody): void {
    if (!this.abandoned) this.options.sink.frame(body)
  }

  private answerTakeover(run: HeardRun): void {
    // Asked again: the first answer may have been lost. Once frames of that run are here it has one.
    if (run.generation < this.run.generation || (isSameRun(run, this.run) && this.next > 0)) return
    this.follow(run)
    this.tellDelivered(run)
  }

  /** Tells a run what the client has received of others. */
  private tellDelivered({ worker, ...run }: HeardRun): void {
    const nothingDelivered = this.candidate === null && this.ending === null
    const delivered: DeliveredPrefix | null = nothingDelivered
      ? null
      : {
          text: this.deliveredText,
          candidate: this.candidate,
          finished: false,
          ...(this.ending && { ending: this.ending }),
        }
    this.options.control({ kind: 'delivered', callId: this.envelope.id, ...run, delivered }, worker)
  }
}
