import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import {
  endsCall,
  type Frame,
  type FrameBody,
  type FrameError,
  frameText,
  sizeOf,
  TEXT_CHARS,
} from '../../core/calls/frames.ts'
import { type CallId, randomName } from '../../core/kernel/ids.ts'
import { transition } from '../../core/kernel/transition.ts'
import type { FramePublisher } from './frame-publisher.ts'

/** Bytes of frames kept per call for resending, or up to twice as many: half a minute of a fast stream. */
const KEPT_BYTES = 256 * 1024
const FRAME_OVERHEAD_BYTES = 64
/** A living API instance has passed a frame on to its client after this time. */
const PASSED_ON_MS = 500
/** Some seconds of marks: the time to be certain that an API instance is gone. */
const KEPT_MARKS = 12
/** Maximum characters of several texts in one frame. */
const BATCH_CHARS = 4 * 1024
/** Maximum repeats that wait for a call. */
const REPEATS_MAX = 16

const TRANSITIONS = { unused: ['sending', 'ended'], sending: ['ended'], ended: [] } as const

/** Enough for unique names, because a call has few runs. */
const RUN_BYTES = 4

interface Receiver {
  channel: string
  /** The id that the receiver uses for the call. */
  listenerId: CallId
}

interface CallOutboxOptions {
  publisher: FramePublisher
  callId: CallId
  channel: string
  generation: number
  /** Approximate bytes of the response to keep from its first frame, for repeats; 0: no repeats. */
  wholeUpToBytes: number
}

/**
 * The numbered frames of one claim of one call. The last ones are kept for resending, or all of them if the whole
 * response is kept for repeats and is not too long. States:
 *
 *   unused → sending         the first frame was sent
 *   unused, sending → ended  the last frame was sent, by this outbox or by the step that finishes the call; the kept frames are
 *                            only sent again
 */
export class CallOutbox {
  readonly callId: CallId
  readonly channel: string
  readonly generation: number
  /** Distinguishes its frames from those of any other run of the call. */
  readonly run = randomName(RUN_BYTES)
  private readonly publisher: FramePublisher
  private readonly kept: FrameBody[] = []
  private readonly receivers: Receiver[]
  private readonly wholeUpToBytes: number
  /** The texts of the last frame, to which this turn's are added. */
  private batch: { turn: number; texts: string[]; chars: number } | null = null
  /** Size of the kept frames as JSON. */
  private jsonBytes = 0
  private firstKept = 0
  private next = 0
  private state: keyof typeof TRANSITIONS = 'unused'
  private sentChars = 0
  /** The sent characters while the channel had a subscriber; null: all of them. */
  private reportedChars: number | null = null
  /** The sent characters by time, oldest first. */
  private readonly marks: Array<{ at: number; chars: number }> = []

  constructor({ publisher, callId, channel, generation, ...options }: CallOutboxOptions) {
    this.publisher = publisher
    this.callId = callId
    this.channel = channel
    this.generation = generation
    this.wholeUpToBytes = options.wholeUpToBytes
    this.receivers = [{ channel, listenerId: callId }]
  }

  /** Whether anything was sent: a call that sent nothing may run elsewhere without a trace. */
  get used(): boolean {
    return this.next > 0
  }

  /** All frames so far; null if some are no longer kept. */
  get frames(): readonly FrameBody[] | null {
    return this.firstKept === 0 ? this.kept : null
  }

  /** Approximate memory of the kept frames; never 0. */
  get keptBytes(): number {
    return this.jsonBytes + (this.kept.length + 1) * FRAME_OVERHEAD_BYTES
  }

  /** Characters of the completion that were delivered, as far as is known. */
  get deliveredChars(): number {
    return this.reportedChars ?? this.sentChars
  }

  /** Records how much has been sent; called a few times a second. */
  mark(at: number): void {
    this.marks.push({ at, chars: this.sentChars })
    if (this.marks.length > KEPT_MARKS) this.marks.shift()
  }

  /**
   * Characters of the completion that an API instance passed on, which was last known to live at `subscribedAt`. Text sent
   * shortly before may have been lost with it and does not count.
   */
  passedOnChars(subscribedAt: number): number {
    const mark = this.marks.findLast(({ at }) => at <= subscribedAt - PASSED_ON_MS)
    return Math.min(mark?.chars ?? 0, this.deliveredChars)
  }

  /** The part that the client certainly received: what was sent half a second ago, or up to twice that. */
  get takenPart(): number {
    const chars = Math.min(this.marks.at(-2)?.chars ?? 0, this.deliveredChars)
    return chars === 0 ? 0 : chars / this.sentChars
  }

  /** Records that frames from a number on were sent without a subscriber. */
  noteUnacknowledged(from: number): void {
    if (from < 0) return
    let chars = this.sentChars
    for (let sequence = from; sequence < this.next; sequence++) {
      const body = this.kept[sequence - this.firstKept]
      if (body) chars -= frameText(body).length
    }
    this.reportedChars = Math.max(0, Math.min(chars, this.deliveredChars))
  }

  /** Sends one frame under the next number, or adds a text to the last one, which is not sent yet. */
  send(body: FrameBody): void {
    if (body[0] === 'text') this.sendText(body[1])
    else this.sendFrame(body)
  }

  private sendText(text: string): void {
    const { turn } = this.publisher
    const { batch } = this
    const chars = text.length + TEXT_CHARS
    if (batch?.turn !== turn || batch.chars + chars > BATCH_CHARS) {
      const texts = [text]
      this.sendFrame(['texts', texts])
      this.batch = { turn, texts, chars }
      return
    }
    batch.texts.push(text)
    batch.chars += chars
    this.jsonBytes += chars
    this.sentChars += text.length
  }

  private sendFrame(body: FrameBody): void {
    if (endsCall(body)) this.enter('ended')
    else if (this.state !== 'sending') this.enter('sending')
    this.keep(body)
    this.sentChars += frameText(body).length
    for (const receiver of this.receivers) this.publish(receiver, this.next, body)
    this.next++
  }

  /** The last frame for the call's own API instance; the script that finishes the call sends it. */
  lastFrame(body: FrameBody): Frame {
    return [this.callId, this.generation, this.next, body, this.run]
  }

  /** The last frame was sent to its own API instance; repeats get it now. */
  ended(body: FrameBody): void {
    this.enter('ended')
    this.keep(body)
    for (const receiver of this.receivers.slice(1)) this.publish(receiver, this.next, body)
    this.next++
  }

  /** Asks the API instance what the client has received: from an earlier claim, or of the end by this run. */
  ask(question: 'takeover' | 'was-ended'): void {
    this.publisher.send(this.channel, this.callId, this.generation, -1, [question], this.run)
  }

  /**
   * Sends its own API instance the kept frames from a number on, and reports when that is done. A frame that is no
   * longer kept cannot be sent again: the instance gives up, and reports how much it had.
   */
  resend(from: number): void {
    if (from >= this.firstKept) {
      this.reportedChars = null
      this.marks.length = 0
      this.replay(this.receivers[0]!, from)
    }
    this.publisher.send(this.channel, this.callId, this.generation, -1, ['caught-up'], this.run)
  }

  /** Adds the receiver of a repeat and sends it the frames from a number on; a second call only sends again. */
  attach(channel: string, listenerId: CallId, from: number): void {
    const receiver = { channel, listenerId }
    const isKnown = this.receivers.some((known) => known.listenerId === listenerId)
    if (!isKnown && this.receivers.length > REPEATS_MAX)
      return this.refuse(receiver, from, CALL_ERRORS.tooManyRepeats)
    if (from < this.firstKept) return this.refuse(receiver, from, CALL_ERRORS.tooLongToRepeat)
    if (!isKnown) this.receivers.push(receiver)
    this.replay(receiver, from)
  }

  /** Stops sending to the repeats that `gone` matches. The call's own API instance stays, because it may ask for a resend. */
  detach(gone: (receiver: Receiver) => boolean): void {
    for (let index = this.receivers.length - 1; index > 0; index--)
      if (gone(this.receivers[index]!)) this.receivers.splice(index, 1)
  }

  private enter(state: keyof typeof TRANSITIONS): void {
    this.state = transition(TRANSITIONS, this.state, state, `outbox of ${this.callId}`)
  }

  private keep(body: FrameBody): void {
    this.batch = null
    this.kept.push(body)
    this.jsonBytes += sizeOf(body)
    if (this.firstKept === 0 && this.jsonBytes <= this.wholeUpToBytes) return
    if (this.keptBytes > 2 * KEPT_BYTES) this.dropOldest()
  }

  /** The newest frame is kept, however long it is. */
  private dropOldest(): void {
    let [dropped, bytes] = [0, this.keptBytes]
    while (bytes > KEPT_BYTES && dropped < this.kept.length - 1) {
      const size = sizeOf(this.kept[dropped]!)
      this.jsonBytes -= size
      bytes -= size + FRAME_OVERHEAD_BYTES
      dropped++
    }
    this.kept.splice(0, dropped)
    this.firstKept += dropped
  }

  private refuse(receiver: Receiver, sequence: number, error: FrameError): void {
    this.detach(({ listenerId }) => listenerId === receiver.listenerId)
    this.publish(receiver, sequence, ['error', error])
  }

  private replay(receiver: Receiver, from: number): void {
    for (let sequence = from; sequence < this.next; sequence++)
      this.publish(receiver, sequence, this.kept[sequence - this.firstKept]!)
  }

  private publish({ channel, listenerId }: Receiver, sequence: number, body: FrameBody): void {
    this.publisher.send(channel, listenerId, this.generation, sequence, body, this.run)
  }
}
