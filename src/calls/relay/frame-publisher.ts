import { encodeFrames, type Frame, type FrameBody, sizeOf } from '../../core/calls/frames.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Redis } from '../../platform/redis/redis.ts'

/** How long a channel may be without a listener before its calls are aborted: longer than a reconnect. */
const UNHEARD_GRACE_MS = 2_000
/** How often silent channels with open calls are pinged: none is silent for twice as long. */
const PING_MS = 500
/** A message carries no more, unless it is one frame: of text a quarter of a megabyte at the most. */
export const MESSAGE_CHARS = 64 * 1024
/** What the numbers of a frame take there. */
const NUMBERS_CHARS = 48
const NO_FRAMES: readonly Frame[] = []

export interface FramePublisherOptions {
  /** The id of this worker, named in every message. */
  worker: string
  redis: Redis
  logger: Logger
  /** Nobody listened when these frames were published. They are sent again if their API instance comes back. */
  onLost: (frames: readonly Frame[]) => void
  /** Nobody listens on this channel any more: its API instance is gone. `heardAt`: when somebody last did, 0 for never. */
  onUnheard: (channel: string, heardAt: number) => void
  /** Channels with open calls, pinged while nothing is said on them. */
  openChannels: () => Iterable<string>
  /** Called with every round of pings, whether or not there are any to send. */
  onRound: () => void
  /** Unix milliseconds. */
  clock: () => number
}

/**
 * Publishes frames, once per event-loop turn and channel: whatever came in one turn, of however many calls,
 * travels as one message, or as some of bounded length. Nothing it does throws or rejects.
 */
export class FramePublisher {
  private readonly options: FramePublisherOptions
  private readonly waiting = new Map<string, Frame[]>()
  /** Channels published on since the last ping. */
  private readonly used = new Set<string>()
  /** When somebody was last known to listen, by channel. */
  private readonly heardAt = new Map<string, number>()
  private readonly asking = new Map<string, Promise<void>>()
  private readonly suspicions = new Map<string, Suspicion>()
  private readonly pings: NodeJS.Timeout
  private scheduled = false

  constructor(options: FramePublisherOptions) {
    this.options = options
    this.pings = setInterval(() => this.pingSilent(), PING_MS)
  }

  /** Queues one frame for this turn's message. */
  send(channel: string, callId: CallId, generation: number, sequence: number, body: FrameBody): void {
    const frame: Frame = [callId, generation, sequence, body]
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
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const [channel, frames] of waiting) {
      for (const some of inPieces(frames)) void this.publish(channel, some)
    }
  }

  /**
   * Resolves once it is certain whether somebody listens on a channel, after one question for all calls that ask.
   * `onUnheard` has been called by then if nobody does.
   */
  async certain(channel: string): Promise<void> {
    if (!this.suspicions.has(channel)) await this.ask(channel)
    await this.suspicions.get(channel)?.settled
  }

  stop(): void {
    this.flush()
    clearInterval(this.pings)
    for (const channel of [...this.suspicions.keys()]) this.settle(channel)
  }

  private ask(channel: string): Promise<void> {
    const asked = this.asking.get(channel)
    if (asked) return asked
    const asking = this.publish(channel, NO_FRAMES).finally(() => this.asking.delete(channel))
    this.asking.set(channel, asking)
    return asking
  }

  private publish(channel: string, frames: readonly Frame[]): Promise<void> {
    return this.publishAndListen(channel, frames).catch((error) => {
      this.options.logger.error({ err: error, channel }, 'what became of frames was not dealt with')
    })
  }

  private async publishAndListen(channel: string, frames: readonly Frame[]): Promise<void> {
    this.used.add(channel)
    const listeners = await this.tryPublish(channel, frames)
    if (listeners === null) return this.options.onLost(frames)
    if (listeners > 0) {
      this.heardAt.set(channel, this.options.clock())
      this.settle(channel)
      return
    }
    const heardAt = this.heardAt.get(channel) ?? 0
    this.heardAt.delete(channel)
    this.options.onLost(frames)
    if (!this.suspicions.has(channel)) this.suspicions.set(channel, this.suspect(channel, heardAt))
  }

  /** How many heard a message; null when it could not be sent. */
  private async tryPublish(channel: string, frames: readonly Frame[]): Promise<number | null> {
    const { redis, worker, logger } = this.options
    try {
      return await redis.publish(channel, encodeFrames(worker, frames))
    } catch (error) {
      logger.warn({ err: error, channel }, 'frames not published')
      return null
    }
  }

  private suspect(channel: string, heardAt: number): Suspicion {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(() => void this.confirmUnheard(channel, heardAt), UNHEARD_GRACE_MS)
    return { settled: promise, resolve, timer }
  }

  /** Asks once more, after time enough to reconnect. Its frames are resent on the API's own request. */
  private async confirmUnheard(channel: string, heardAt: number): Promise<void> {
    const listeners = await this.tryPublish(channel, NO_FRAMES)
    if (listeners === 0) this.options.onUnheard(channel, heardAt)
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
    for (const channel of this.heardAt.keys()) if (!open.has(channel)) this.heardAt.delete(channel)
    this.options.onRound()
  }
}

/** Frames of one channel, in their order, as messages of bounded length. */
function* inPieces(frames: readonly Frame[]): Iterable<readonly Frame[]> {
  let [from, chars] = [0, 0]
  for (const [index, [, , , body]] of frames.entries()) {
    const size = sizeOf(body) + NUMBERS_CHARS
    if (chars > 0 && chars + size > MESSAGE_CHARS) {
      yield frames.slice(from, index)
      from = index
      chars = 0
    }
    chars += size
  }
  yield from === 0 ? frames : frames.slice(from)
}

/** A channel that nobody listened on a moment ago. */
interface Suspicion {
  settled: Promise<void>
  resolve: () => void
  timer: NodeJS.Timeout
}
