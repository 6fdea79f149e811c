import { randomBytes } from 'node:crypto'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import { charsOf, type Frame, type FrameBody, type FrameError, sizeOf } from '../../core/calls/frames.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { FramePublisher } from './frame-publisher.ts'

/** Bytes of frames kept per call for resending, or up to twice as many: half a minute of a fast stream. */
const KEPT_BYTES = 256 * 1024
const FRAME_OVERHEAD_BYTES = 64
/** An API instance that lives has passed a frame on to its client by then. */
const PASSED_ON_MS = 500
/** Some seconds of marks: as long as it takes to be certain that an API instance is gone. */
const KEPT_MARKS = 12
/** Repeats that may wait for a call at the same time. */
const REPEATS_MAX = 16

/** A call has few runs: enough that no two of them have the same name. */
const RUN_BYTES = 4

interface Receiver {
  channel: string
  /** The id under which the receiver knows the call. */
  label: CallId
}

interface CallOutboxOptions {
  publisher: FramePublisher
  callId: CallId
  channel: string
  generation: number
  /** About how many bytes of the answer are kept from its first frame on, for repeats; 0: none will come. */
  wholeUpToBytes: number
}

/**
 * The numbered frames of one claim of one call. The last of them are kept for resending, or all of them
 * where the whole answer is kept for repeats and is not too long.
 */
export class CallOutbox {
  readonly callId: CallId
  readonly channel: string
  readonly generation: number
  /** Tells its frames from those of any other run of the call. */
  readonly run = randomBytes(RUN_BYTES).toString('base64url')
  private readonly publisher: FramePublisher
  private readonly kept: FrameBody[] = []
  private readonly receivers: Receiver[]
  private readonly wholeUpToBytes: number
  /** Of the kept frames as JSON. */
  private jsonBytes = 0
  private firstKept = 0
  private next = 0
  private sentChars = 0
  /** What of that went out while somebody listened; null: all of it. */
  private heardChars: number | null = null
  /** How much had been sent by when, oldest first. */
  private readonly marks: Array<{ at: number; chars: number }> = []

  constructor({ publisher, callId, channel, generation, wholeUpToBytes }: CallOutboxOptions) {
    this.publisher = publisher
    this.callId = callId
    this.channel = channel
    this.generation = generation
    this.wholeUpToBytes = wholeUpToBytes
    this.receivers = [{ channel, label: callId }]
  }

  /** Whether anything was sent: a call that sent nothing may run elsewhere without a trace. */
  get used(): boolean {
    return this.next > 0
  }

  /** Every frame so far; null where they are kept no longer. */
  get frames(): readonly FrameBody[] | null {
    return this.firstKept === 0 ? this.kept : null
  }

  /** About how many bytes of memory the kept frames take; never 0. */
  get keptBytes(): number {
    return this.jsonBytes + (this.kept.length + 1) * FRAME_OVERHEAD_BYTES
  }

  /** Characters of the answer that were sent to whoever waits for it, as far as is known. */
  get deliveredChars(): number {
    return this.heardChars ?? this.sentChars
  }

  /** Notes how much has been sent by now; called a few times a second. */
  mark(at: number): void {
    this.marks.push({ at, chars: this.sentChars })
    if (this.marks.length > KEPT_MARKS) this.marks.shift()
  }

  /**
   * Characters of the answer that an API instance passed on which was heard for the last time at `heardAt`. What was
   * sent shortly before may have died with it; it does not count.
   */
  passedOnChars(heardAt: number): number {
    const mark = this.marks.findLast(({ at }) => at <= heardAt - PASSED_ON_MS)
    return Math.min(mark?.chars ?? 0, this.deliveredChars)
  }

  /** How much of what was sent its client is known to have taken: what was sent half a second ago, or up to twice that. */
  get takenPart(): number {
    const chars = Math.min(this.marks.at(-2)?.chars ?? 0, this.deliveredChars)
    return chars === 0 ? 0 : chars / this.sentChars
  }

  /** Nobody listened when frames from a number on were sent. */
  noteUnheard(from: number): void {
    if (from < 0) return
    let chars = this.sentChars
    for (let sequence = from; sequence < this.next; sequence++) {
      const body = this.kept[sequence - this.firstKept]
      if (body) chars -= charsOf(body)
    }
    this.heardChars = Math.max(0, Math.min(chars, this.deliveredChars))
  }

  /** Sends one frame under the next number. */
  send(body: FrameBody): void {
    this.keep(body)
    this.sentChars += charsOf(body)
    for (const receiver of this.receivers) this.publish(receiver, this.next, body)
    this.next++
  }

  /** The last frame as its own API instance gets it: whoever finishes the call sends it. */
  lastFrame(body: FrameBody): Frame {
    return [this.callId, this.generation, this.next, body, this.run]
  }

  /** The last frame was sent to its own API instance; repeats get it now. */
  ended(body: FrameBody): void {
    this.keep(body)
    for (const receiver of this.receivers.slice(1)) this.publish(receiver, this.next, body)
    this.next++
  }

  /** Asks the API instance what the client has received by an earlier claim. */
  askDelivered(): void {
    this.publisher.send(this.channel, this.callId, this.generation, -1, ['takeover'], this.run)
  }

  /**
   * Sends its own API instance the kept frames from a number on, and says when that is done. One that is kept no
   * longer cannot be sent again: whoever waits gives up, and says how much it had.
   */
  resend(from: number): void {
    if (from >= this.firstKept) {
      this.heardChars = null
      this.marks.length = 0
      this.replay(this.receivers[0]!, from)
    }
    this.publisher.send(this.channel, this.callId, this.generation, -1, ['caught-up'], this.run)
  }

  /** Adds the receiver of a repeat and sends it the frames from a number on; a second time only sends again. */
  attach(channel: string, label: CallId, from: number): void {
    const receiver = { channel, label }
    const isKnown = this.receivers.some((known) => known.label === label)
    if (!isKnown && this.receivers.length > REPEATS_MAX)
      return this.refuse(receiver, from, CALL_ERRORS.tooManyRepeats)
    if (from < this.firstKept) return this.refuse(receiver, from, CALL_ERRORS.tooLongToRepeat)
    if (!isKnown) this.receivers.push(receiver)
    this.replay(receiver, from)
  }

  /** Sends the repeats that `gone` names nothing more. The call's own API instance stays: it may ask for a resend. */
  detach(gone: (receiver: Receiver) => boolean): void {
    for (let index = this.receivers.length - 1; index > 0; index--)
      if (gone(this.receivers[index]!)) this.receivers.splice(index, 1)
  }

  private keep(body: FrameBody): void {
    this.kept.push(body)
    this.jsonBytes += sizeOf(body)
    if (this.firstKept === 0 && this.jsonBytes <= this.wholeUpToBytes) return
    if (this.keptBytes > 2 * KEPT_BYTES) this.dropOldest()
  }

  /** The newest frame stays, however long it is. */
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
    this.detach(({ label }) => label === receiver.label)
    this.publish(receiver, sequence, ['error', error])
  }

  private replay(receiver: Receiver, from: number): void {
    for (let sequence = from; sequence < this.next; sequence++)
      this.publish(receiver, sequence, this.kept[sequence - this.firstKept]!)
  }

  private publish({ channel, label }: Receiver, sequence: number, body: FrameBody): void {
    this.publisher.send(channel, label, this.generation, sequence, body, this.run)
  }
}
