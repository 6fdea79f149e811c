import type { FrameBody } from '../core/frames.ts'
import type { CallId } from '../core/ids.ts'
import type { FramePublisher } from './frame-publisher.ts'

/** Frames kept per call for resending: some seconds of a fast stream. */
const KEPT_FRAMES = 1_024

interface Receiver {
  channel: string
  /** The id under which the receiver knows the call. */
  label: CallId
}

/**
 * The numbered frames of one claim of one call. The last of them are kept for resending, or all of them
 * where the whole answer is kept for repeats.
 */
export class CallOutbox {
  readonly callId: CallId
  readonly channel: string
  readonly fence: number
  private readonly publisher: FramePublisher
  private readonly capacity: number
  private readonly kept: FrameBody[] = []
  private readonly receivers: Receiver[]
  private next = 0

  constructor(publisher: FramePublisher, callId: CallId, channel: string, fence: number, keepAll: boolean) {
    this.publisher = publisher
    this.callId = callId
    this.channel = channel
    this.fence = fence
    this.capacity = keepAll ? Number.MAX_SAFE_INTEGER : KEPT_FRAMES
    this.receivers = [{ channel, label: callId }]
  }

  /** Whether anything was sent: a call that sent nothing may run elsewhere without a trace. */
  get used(): boolean {
    return this.next > 0
  }

  /** Every frame so far; whole only where all are kept. */
  get frames(): readonly FrameBody[] {
    return this.kept
  }

  /** Sends one frame under the next number. */
  send(body: FrameBody): void {
    this.kept[this.next % this.capacity] = body
    for (const receiver of this.receivers) this.publish(receiver, this.next, body)
    this.next++
  }

  /** Asks the API instance what the client was shown by an earlier claim. */
  askShown(): void {
    this.publisher.send(this.channel, this.callId, this.fence, -1, ['takeover'])
  }

  /** Sends the kept frames from a number on; false when that one is kept no longer. */
  resend(from: number): boolean {
    if (from < this.next - this.capacity) return false
    for (const receiver of this.receivers) this.replay(receiver, from)
    return true
  }

  /** Adds a receiver and sends it everything so far; a second time only sends again. */
  attach(channel: string, label: CallId): void {
    const known = this.receivers.find((receiver) => receiver.label === label)
    const receiver = known ?? { channel, label }
    if (!known) this.receivers.push(receiver)
    this.replay(receiver, 0)
  }

  private replay(receiver: Receiver, from: number): void {
    for (let sequence = from; sequence < this.next; sequence++) {
      this.publish(receiver, sequence, this.kept[sequence % this.capacity]!)
    }
  }

  private publish({ channel, label }: Receiver, sequence: number, body: FrameBody): void {
    this.publisher.send(channel, label, this.fence, sequence, body)
  }
}
