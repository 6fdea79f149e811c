import type { Frame, FrameBody } from '../core/frames.ts'
import type { CallId } from '../core/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { Redis } from '../platform/redis.ts'

/** How long a channel may be without a listener before its calls are aborted: longer than a reconnect. */
const UNHEARD_GRACE_MS = 2_000
const PING_MS = 2_000
const NO_FRAMES = '[]'

export interface FramePublisherOptions {
  redis: Redis
  logger: Logger
  /** Nobody listens on this channel any more: its API instance is gone. */
  onUnheard: (channel: string) => void
  /** Channels with open calls, pinged while nothing is said on them. */
  openChannels: () => Iterable<string>
}

/**
 * Publishes frames, once per event-loop turn and channel: whatever came in one turn, of however many calls,
 * travels as one message.
 */
export class FramePublisher {
  private readonly options: FramePublisherOptions
  private readonly waiting = new Map<string, Frame[]>()
  private readonly heard = new Set<string>()
  private readonly suspects = new Map<string, NodeJS.Timeout>()
  private readonly pings: NodeJS.Timeout
  private scheduled = false

  constructor(options: FramePublisherOptions) {
    this.options = options
    this.pings = setInterval(() => this.pingSilent(), PING_MS)
  }

  /** Queues one frame for this turn's message. */
  send(channel: string, callId: CallId, fence: number, sequence: number, body: FrameBody): void {
    const frame: Frame = [callId, fence, sequence, body]
    const frames = this.waiting.get(channel)
    if (frames) frames.push(frame)
    else this.waiting.set(channel, [frame])
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(() => this.flush())
  }

  /** Sends what waits, now. */
  flush(): void {
    this.scheduled = false
    for (const [channel, frames] of this.waiting) this.publish(channel, JSON.stringify(frames))
    this.waiting.clear()
  }

  stop(): void {
    this.flush()
    clearInterval(this.pings)
    for (const timer of this.suspects.values()) clearTimeout(timer)
  }

  private publish(channel: string, message: string): void {
    this.heard.add(channel)
    this.options.redis.publish(channel, message).then(
      (listeners) => this.noteListeners(channel, listeners),
      (error) => this.options.logger.warn({ err: error, channel }, 'frames not published'),
    )
  }

  private noteListeners(channel: string, listeners: number): void {
    const suspicion = this.suspects.get(channel)
    if (listeners > 0) {
      if (suspicion === undefined) return
      clearTimeout(suspicion)
      this.suspects.delete(channel)
    } else if (suspicion === undefined) {
      this.suspects.set(
        channel,
        setTimeout(() => this.confirmUnheard(channel), UNHEARD_GRACE_MS),
      )
    }
  }

  /** Asks once more, after time enough to reconnect. Its frames are resent on the API's own request. */
  private confirmUnheard(channel: string): void {
    this.options.redis.publish(channel, NO_FRAMES).then(
      (listeners) => {
        this.suspects.delete(channel)
        if (listeners === 0) this.options.onUnheard(channel)
      },
      (error) => {
        this.suspects.delete(channel)
        this.options.logger.warn({ err: error, channel }, 'could not tell whether the channel is heard')
      },
    )
  }

  private pingSilent(): void {
    for (const channel of new Set(this.options.openChannels())) {
      if (!this.heard.has(channel)) this.publish(channel, NO_FRAMES)
    }
    this.heard.clear()
  }
}
