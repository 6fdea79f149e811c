import { encodeFrames, type Frame, inPieces } from '../../core/calls/frames.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { tickEvery } from '../../platform/process/coalesced-timers.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { publishTo } from '../../platform/redis/relay-channel.ts'
import type { LocalHub } from '../in-process-link.ts'

/** How long a channel may have no subscriber before its calls are aborted: longer than a reconnect. */
const UNACKNOWLEDGED_GRACE_MS = 2_000
/** Ping interval of silent channels with open calls; none is silent for twice as long. */
const PING_MS = 500
const NO_FRAMES: readonly Frame[] = []

interface FramePublisherOptions {
  /** The id of this worker, named in every message. */
  worker: string
  redis: Redis
  /** The hub of the API instance in this process, while one runs. */
  localHub?: (() => LocalHub | null) | undefined
  logger: Logger
  /** Called with frames that were published without a subscriber. They are sent again if their API instance comes back. */
  onLost: (frames: readonly Frame[]) => void
  /** Called for a channel without a subscriber, whose API instance is gone. `subscribedAt`: when it last had one, 0 for never. */
  onUnacknowledged: (channel: string, subscribedAt: number) => void
  /** Channels with open calls, pinged while they are silent. */
  openChannels: () => Iterable<string>
  /** Called in every ping round, whether or not there are pings. */
  onRound: () => void
  clock: () => number
}

/**
 * Publishes frames once per event-loop turn and channel: the frames of one turn, of any number of calls, are sent as
 * one message, or as some of bounded length. Never throws or rejects.
 */
export class FramePublisher {
  private readonly options: FramePublisherOptions
  private readonly waiting = new Map<string, Frame[]>()
  /** Channels published on since the last ping. */
  private readonly used = new Set<string>()
  /** When each channel was last known to have a subscriber. */
  private readonly subscribedAt = new Map<string, number>()
  private readonly asking = createSingleFlight()
  /** Channels that had no subscriber a moment ago. */
  private readonly suspicions = new Map<string, PromiseWithResolvers<void> & { timer: NodeJS.Timeout }>()
  private readonly stopPinging: () => void
  private scheduled = false
  private flushes = 0

  constructor(options: FramePublisherOptions) {
    this.options = options
    this.stopPinging = tickEvery(PING_MS, () => this.pingSilent())
  }

  /** Whether the API instance of a channel shares this process: its frames are passed to it directly. */
  isColocated(channel: string): boolean {
    return this.hubOf(channel) !== null
  }

  private hubOf(channel: string) {
    const hub = this.options.localHub?.()
    return hub?.channel === channel ? hub : null
  }

  /** The number of the message that waits to be sent: frames of the same turn have the same. */
  get turn(): number {
    return this.flushes
  }

  /** Queues one frame for this turn's message. */
  send(channel: string, ...frame: Frame): void {
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
    this.flushes++
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const [channel, frames] of waiting)
      for (const some of inPieces(frames)) void this.publish(channel, some)
  }

  /**
   * Resolves once it is certain whether a channel has a subscriber, with one check for all waiting calls. `onUnacknowledged`
   * has been called by then if it has none.
   */
  async certain(channel: string): Promise<void> {
    if (!this.suspicions.has(channel)) await this.asking(channel, () => this.publish(channel, NO_FRAMES))
    await this.suspicions.get(channel)?.promise
  }

  stop(): void {
    this.flush()
    this.stopPinging()
    for (const channel of [...this.suspicions.keys()]) this.settle(channel)
  }

  private async publish(channel: string, frames: readonly Frame[]): Promise<void> {
    try {
      this.used.add(channel)
      const hub = this.hubOf(channel)
      if (hub) return hub.receive(this.options.worker, frames)
      const listeners = await this.tryPublish(channel, frames)
      if (listeners === null) return this.options.onLost(frames)
      if (listeners > 0) {
        this.subscribedAt.set(channel, this.options.clock())
        return this.settle(channel)
      }
      const subscribedAt = this.subscribedAt.get(channel) ?? 0
      this.subscribedAt.delete(channel)
      this.options.onLost(frames)
      if (this.suspicions.has(channel)) return
      const timer = setTimeout(
        () => void this.confirmUnacknowledged(channel, subscribedAt),
        UNACKNOWLEDGED_GRACE_MS,
      )
      this.suspicions.set(channel, { ...Promise.withResolvers<void>(), timer })
    } catch (error) {
      this.options.logger.error({ err: error, channel }, 'frame delivery failed unexpectedly')
    }
  }

  /** The number of receivers of a message; null if it could not be sent. */
  private async tryPublish(channel: string, frames: readonly Frame[]): Promise<number | null> {
    const { redis, worker, logger } = this.options
    try {
      return await publishTo(redis, channel, encodeFrames(worker, frames))
    } catch (error) {
      logger.warn({ err: error, channel }, 'frames not published')
      return null
    }
  }

  /** Checks again after the time of a reconnect. Its frames are resent on the API's request. */
  private async confirmUnacknowledged(channel: string, subscribedAt: number): Promise<void> {
    const listeners = await this.tryPublish(channel, NO_FRAMES)
    if (listeners === 0) this.options.onUnacknowledged(channel, subscribedAt)
    this.settle(channel)
  }

  private settle(channel: string): void {
    const suspicion = this.suspicions.get(channel)
    if (suspicion === undefined) return
    clearTimeout(suspicion.timer)
    this.suspicions.delete(channel)
    suspicion.resolve()
  }

  private pingSilent(): void {
    const open = new Set(this.options.openChannels())
    for (const channel of open) if (!this.used.has(channel)) void this.publish(channel, NO_FRAMES)
    this.used.clear()
    for (const channel of this.subscribedAt.keys()) if (!open.has(channel)) this.subscribedAt.delete(channel)
    this.options.onRound()
  }
}
