import type { FrameBody } from '../core/frames.ts'
import type { CallId } from '../core/ids.ts'
import type { FramePublisher } from './frame-publisher.ts'

/** Frames kept per call for resending: some seconds of a fast stream. */
const KEPT_FRAMES = 1_024

/** The numbered frames of one claim of one call, with the last of them kept for resending. */
export class CallOutbox {
  readonly callId: CallId
  readonly channel: string
  readonly fence: number
  private readonly publisher: FramePublisher
  private readonly kept: FrameBody[] = []
  private next = 0

  constructor(publisher: FramePublisher, callId: CallId, channel: string, fence: number) {
    this.publisher = publisher
    this.callId = callId
    this.channel = channel
    this.fence = fence
  }

  /** Sends one frame under the next number. */
  send(body: FrameBody): void {
    this.kept[this.next % KEPT_FRAMES] = body
    this.publisher.send(this.channel, this.callId, this.fence, this.next++, body)
  }

  /** Whether anything was sent: a call that sent nothing may run elsewhere without a trace. */
  get used(): boolean {
    return this.next > 0
  }

  /** Asks the API instance what the client was shown by an earlier claim. */
  askShown(): void {
    this.publisher.send(this.channel, this.callId, this.fence, -1, ['takeover'])
  }

  /** Sends the kept frames from a number on; false when that one is kept no longer. */
  resend(from: number): boolean {
    if (from < this.next - KEPT_FRAMES) return false
    for (let sequence = from; sequence < this.next; sequence++) {
      this.publisher.send(this.channel, this.callId, this.fence, sequence, this.kept[sequence % KEPT_FRAMES]!)
    }
    return true
  }
}
