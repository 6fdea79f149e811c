import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import {
  type ControlMessage,
  type DeliveredPrefix,
  type EarlyEnd,
  endsCall,
  type FrameBody,
  type FrameError,
  frameText,
  isSameRun,
  type RunOfCall,
} from '../../core/calls/frames.ts'
import { transition } from '../../core/kernel/transition.ts'

/** Writes the frames of a call to a client. Each frame comes once and in order. */
export interface CallSink {
  /** Returns a promise for an end that is written later: it resolves once it was, and never rejects. */
  frame(body: FrameBody): void | Promise<void>
  /** Called after the last frame of a message from Redis: the time to write. */
  flush(): void
  /** Called about ten times a second, for keep-alives. */
  tick(nowMs: number): void
}

export interface PendingCallOptions {
  envelope: ResponseEnvelope
  sink: CallSink
  /** Sends to one worker; without a name, to the one that has the call (see `addressee`). */
  control: (message: ControlMessage, worker?: string) => void
  /** Frames may be missing: the call waits for its turn to ask (see `askResend`). May be called again. */
  wantsResend: () => void
  /** Called after a silence: look up where the call is. May be called again. */
  look: () => void
  /** Silence after which the call is looked up, ms. Absent: `SILENT_FOR_MS`. */
  silentForMs?: number | undefined
  /**
   * Called when the sink received an error, with the text that was delivered before. `isSettled`: the run that ended the
   * call has settled it so. Otherwise an error of the gateway, or Redis was away, and may have forgotten an earlier run.
   */
  errorSent?: ((error: FrameError, deliveredText: string, isSettled: boolean) => void) | undefined
  /** Called once when the call has ended for its client and, as far as is known, its worker. */
  over?: (() => void) | undefined
  clientLeft?: (() => void) | undefined
  /** Called when the response could not be delivered to the client, which gets an error and must not pay. */
  responseLost?: (() => void) | undefined
  nowMs: number
}

/** A run as known to an API instance. */
interface KnownRun extends RunOfCall {
  /** The worker that sent a frame; absent for a kept response. */
  worker?: string | undefined
}

const RESEND_AFTER_MS = 200
/** Maximum requests for a gap, over three seconds or more; a blocked instance does not give up because of its own pause. */
const GAP_ASKS_MAX = 12
const DEADLINE_GRACE_MS = 5_000
/** Maximum time for a requested lost end. */
const MISSING_AGAIN_MS = 1_250
/** How long after its deadline an unfinished call is remembered, for a worker that takes it over. */
const LINGER_MS = 60_000
/** A cancel is repeated until its worker has ended the call, with increasing intervals. */
const CANCEL_AGAIN_MS = 1_000
const CANCEL_AGAIN_MAX_MS = 5_000
/** Silence after which a call is looked up, and the interval while the silence lasts. */
const SILENT_FOR_MS = 5_000
const TRANSITIONS = {
  waiting: ['open', 'stopping', 'abandoned', 'ended'],
  open: ['stopping', 'abandoned', 'ended'],
  stopping: ['abandoned', 'ended'],
  abandoned: ['ended'],
  ended: [],
} as const
/** How often a run is notified that another has started the response, while it continues sending. */
const TELL_AGAIN_MS = 500

/**
 * One call that an API instance waits for. States:
 *
 *   waiting    no frame yet
 *   open       content was delivered
 *   stopping   its worker was asked to end it, and may still report how it ended; its client waits for that
 *   abandoned  its client left, or received an error. The call lingers until its worker has ended it, so that a worker that
 *              takes it over can still learn what was delivered
 *   ended      a last frame, or given up
 *
 *   waiting → open                          a run delivered the first content
 *   waiting, open → stopping                this instance stops
 *   waiting, open, stopping → abandoned     the client left, or this side gave up: a deadline, frames that stay missing, a lost
 *                                           worker, a suspended account, no last frame in time after `stopping`
 *   waiting, open, stopping, abandoned → ended  the last frame of a run came, no worker has the call any more, or it has
 *                                           lingered for a minute
 *
 * Frames are numbered per run. A gap delays the following frames and causes a resend request. A silent call is looked
 * up (see where-is.ts), since the lost frame may have been the last. A cancel may be lost as well.
 *
 * Only the run that delivered the first content may continue it. Other runs can only end the call, which only the run
 * with the job can do. `generation` does not distinguish runs, since a Redis that lost its last second reuses numbers
 * of claims.
 */
export class PendingCall {
  readonly envelope: ResponseEnvelope
  private state: keyof typeof TRANSITIONS = 'waiting'
  private readonly options: PendingCallOptions
  /** Who ended the call before its completion. */
  private ending: EarlyEnd | null = null
  /** Set while its worker may still report how it ended, after it was asked to end it. */
  private stopping: { error: FrameError; untilMs: number } | null = null
  /** The run whose frames are delivered. */
  private run: KnownRun = { generation: 0 }
  /** Redis may have forgotten that an earlier run finished the call. */
  redisLostWrites = false
  /** The worker that has the call according to Redis, if no frame has come since it was looked up. */
  private holder: string | null = null
  /** The name of the run whose end was received; absent if this side ended the call. */
  endingRun?: string | undefined
  /** Resolves once the end is written; absent: it was, by the flush after it. */
  endWritten?: Promise<void> | undefined
  private next = 0
  /** Set while frames are missing: the number of requests for them, and the last frame that came out of order. */
  private gap: { asks: number; until: number } | null = null
  /** When a frame last came or was last requested. */
  private progressAtMs: number
  private lookAtMs: number
  private deliveredText = ''
  private candidate: number | null = null
  /** When a run that cannot continue the response may be notified again. */
  private tellAtMs = 0
  private cancelAtMs: number | null = null
  private cancelEveryMs = CANCEL_AGAIN_MS

  constructor(options: PendingCallOptions) {
    this.options = options
    this.envelope = options.envelope
    this.progressAtMs = options.nowMs
    this.lookAtMs = this.nextLook(options.nowMs)
  }

  /** Accepts one frame of a run, as received on the channel from a worker. */
  accept(run: KnownRun, sequence: number, body: FrameBody, nowMs: number): void {
    if (this.ended || body[0] === 'caught-up' || body[0] === 'was-ended') return
    if (body[0] === 'takeover') return this.replyToTakeover(run)
    if (!isSameRun(run, this.run) && !this.follows(run, body, nowMs)) return
    if (sequence < this.next) return
    if (sequence > this.next) {
      if (this.gap) {
        this.gap.until = Math.max(this.gap.until, sequence)
        return
      }
      this.gap = { asks: 0, until: sequence }
      return this.options.wantsResend()
    }
    this.next++
    // A worker cannot send again yet a last frame that it is still publishing.
    if (this.gap) this.gap = this.next > this.gap.until ? null : { ...this.gap, asks: 0 }
    this.holder = null
    this.progressAtMs = nowMs
    this.lookAtMs = this.nextLook(nowMs)
    this.deliver(body)
  }

  /** Whether frames of a different run are delivered from now on. */
  private follows(run: KnownRun, body: FrameBody, nowMs: number): boolean {
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

  private follow(run: KnownRun): void {
    this.run = run
    this.next = 0
    this.gap = null
  }

  /**
   * Another run than the one that started the response has ended the call, so the rest of the response will not come.
   * If the other run is charged for more than was delivered, the error to the client is recorded.
   */
  private endedBy(body: FrameBody): void {
    this.endAsLost(this.stopping?.error ?? (body[0] === 'error' ? body[1] : CALL_ERRORS.partLost))
  }

  /** The call is no longer waited for. */
  forgotten(): void {
    const { over } = this.options
    delete this.options.over
    if (over && this.endWritten) void this.endWritten.then(over)
    else over?.()
  }

  /** The client left: aborts the upstream request, keeps only what a takeover needs. */
  abandon(): void {
    this.leave({ by: 'client' })
    this.options.clientLeft?.()
  }

  /** Its response could not be delivered to the client. */
  lost(): void {
    this.options.responseLost?.()
  }

  /** Ends the call from this side: the sink gets the error, the worker a cancel. */
  fail(error: FrameError): void {
    if (this.ended) return
    this.deliverToSink(['error', error])
    this.options.sink.flush()
    if (!this.abandoned) this.options.errorSent?.(error, this.deliveredText, false)
    this.leave({ by: 'gateway', code: error.code, deliveredChars: this.deliveredText.length })
  }

  /**
   * Asks the worker to end the call, and lets it report how it ended: a completion that it has settled by then is
   * delivered. Otherwise the sink gets the error, at `untilMs` at the latest.
   */
  stop(error: FrameError, untilMs: number): void {
    // The worker does not end a call that continues for a repeat.
    if (this.envelope.idempotencyRecord !== null) return this.fail(error)
    if (this.ended || this.ending) return
    this.stopping = { error, untilMs }
    this.enter('stopping')
    this.endEarly({ by: 'gateway', code: error.code, deliveredChars: this.deliveredText.length })
    // The end may have been lost.
    this.probe()
  }

  /** Nothing is delivered to the client any more. */
  private leave(ending: EarlyEnd): void {
    if (this.ended || this.abandoned) return
    this.enter('abandoned')
    this.stopping = null
    this.endEarly(ending)
  }

  private endEarly(ending: EarlyEnd): void {
    if (this.ending) return
    this.ending = ending
    this.cancel()
  }

  private enter(state: keyof typeof TRANSITIONS): void {
    this.state = transition(TRANSITIONS, this.state, state, `pending call ${this.envelope.id}`)
  }

  get ended(): boolean {
    return this.state === 'ended'
  }

  private get abandoned(): boolean {
    return this.state === 'abandoned'
  }

  /** Whether its worker was asked to end it and has not done so yet, as far as is known. */
  get isCancelling(): boolean {
    // A call with an Idempotency-Key continues, since a repeat may request its response.
    return this.ending !== null && !this.ended && this.envelope.idempotencyRecord === null
  }

  /** The worker whose frames are delivered; null before the first. */
  get worker(): string | null {
    return this.run.worker ?? null
  }

  /** The worker that has the call, as far as is known. */
  get addressee(): string | null {
    return this.holder ?? this.worker
  }

  /** Whether its client has received part of the response, and waits for more. */
  get isDelivered(): boolean {
    return this.candidate !== null && !this.abandoned
  }

  /** Whether a worker has sent a frame. */
  get hasFrames(): boolean {
    return this.run.generation > 0
  }

  /** Ends a call that no worker has. */
  end(error: FrameError): void {
    if (this.ended) return
    this.deliverToSink(['error', error])
    this.options.sink.flush()
    this.enter('ended')
  }

  /** Ends a call whose end was lost. In case it is charged, the error to the client is recorded. */
  endAsLost(error: FrameError): void {
    if (!this.ended && !this.abandoned) this.options.errorSent?.(error, this.deliveredText, false)
    this.end(error)
  }

  flush(): void {
    if (!this.abandoned) this.options.sink.flush()
  }

  /** Frames may have been lost: requests all from the next on. */
  probe(): void {
    if (!this.ended) this.options.wantsResend()
  }

  /** The connection was interrupted: messages in between are lost, and unanswered requests prove nothing. */
  reconnected(): void {
    this.redisLostWrites = true
    if (this.gap) this.gap.asks = 0
    this.cancel()
    this.probe()
  }

  /** Its turn in the resend queue: requests all frames from the next on. */
  askResend(nowMs: number): void {
    this.progressAtMs = nowMs
    if (this.gap) this.gap.asks++
    this.options.control({
      kind: 'resend',
      callId: this.envelope.id,
      generation: this.run.generation,
      run: this.run.run,
      sequence: this.next,
    })
  }

  /** It runs, according to Redis. `worker` has it; null if its claim has expired, so that another worker will have it. */
  foundRunning(worker: string | null): void {
    if (worker === null) return
    this.holder = worker
    this.cancel()
    this.probe()
  }

  /**
   * Its job is gone, so its end was sent: requests it from the worker that sent it, if that is known, and soon checks again
   * whether the call exists.
   */
  endIsMissing(nowMs: number, worker: string | null): void {
    this.lookAtMs = nowMs + MISSING_AGAIN_MS
    if (worker !== null) this.holder = worker
    if (this.addressee !== null) this.probe()
  }

  /** Looks the call up at the next tick. */
  lookNow(): void {
    this.lookAtMs = 0
  }

  /** A call that no worker has claimed is looked up at its queue deadline, too. */
  private nextLook(nowMs: number): number {
    const { silentForMs = SILENT_FOR_MS, envelope } = this.options
    const afterMs = nowMs + silentForMs
    const { queueDeadlineAt } = envelope
    return !this.hasFrames && queueDeadlineAt > nowMs ? Math.min(afterMs, queueDeadlineAt) : afterMs
  }

  tick(nowMs: number): void {
    if (this.isCancelling) this.cancelAgain(nowMs)
    if (this.stopping && nowMs >= this.stopping.untilMs) this.fail(this.stopping.error)
    if (nowMs > this.envelope.callDeadlineAt + DEADLINE_GRACE_MS) {
      if (!this.abandoned) this.fail(CALL_ERRORS.tooLate)
      if (nowMs > this.envelope.callDeadlineAt + DEADLINE_GRACE_MS + LINGER_MS && !this.ended)
        this.enter('ended')
      return
    }
    if (this.gap && nowMs - this.progressAtMs > RESEND_AFTER_MS) {
      if (this.gap.asks >= GAP_ASKS_MAX) return this.fail(CALL_ERRORS.partLost)
      this.options.wantsResend()
    }
    if (nowMs > this.lookAtMs) {
      this.lookAtMs = this.nextLook(nowMs)
      this.options.look()
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
    const written = this.deliverToSink(isEnded ? ['error', this.stopping!.error] : body)
    if (!endsCall(body)) return
    this.endWritten = written ?? undefined
    if (body[0] === 'error' && !this.abandoned)
      this.options.errorSent?.(this.stopping?.error ?? body[1], this.deliveredText, !this.redisLostWrites)
    this.endingRun = this.run.run
    this.enter('ended')
  }

  /** Records the delivered content. */
  private note(body: FrameBody): void {
    if (body[0] === 'open') {
      this.candidate = body[1]
      if (this.state === 'waiting') this.enter('open')
    } else this.deliveredText += frameText(body)
  }

  private deliverToSink(body: FrameBody): void | Promise<void> {
    if (this.abandoned) return
    const { sink } = this.options
    if (body[0] !== 'texts') return sink.frame(body)
    for (const text of body[1]) void sink.frame(['text', text])
  }

  private replyToTakeover(run: KnownRun): void {
    // A repeated question, whose first response may have been lost. A run that sends frames has it.
    if (run.generation < this.run.generation || (isSameRun(run, this.run) && this.next > 0)) return
    this.follow(run)
    this.tellDelivered(run)
  }

  /** Notifies a run of what the client has received of others. */
  private tellDelivered({ worker, ...run }: KnownRun): void {
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
