import type { CallEnvelope } from '../core/call-job.ts'
import type { ControlMessage, Frame, FrameError } from '../core/frames.ts'
import type { Logger } from '../platform/logger.ts'
import type { Redis } from '../platform/redis.ts'
import { CONTROL_CHANNEL, replyChannel } from '../platform/redis-keys.ts'
import { type CallSink, PendingCall } from './pending-call.ts'

const TICK_MS = 100

const STOPPING: FrameError = {
  code: 'overloaded',
  message: 'This gateway instance is stopping. Retry the request.',
  retryAfterSeconds: 1,
}

export interface ReplyHubOptions {
  /** Names this API instance's channel. */
  apiId: string
  /** A connection of its own: it is put into subscriber mode. */
  subscriber: Redis
  publisher: Redis
  logger: Logger
  clock: () => number
}

/**
 * The calls one API instance waits for. Its one channel is subscribed at boot, before any job can name it,
 * and every frame of every call arrives there.
 */
export class ReplyHub {
  readonly channel: string
  private readonly calls = new Map<string, PendingCall>()
  private readonly options: ReplyHubOptions
  private timer: NodeJS.Timeout | undefined

  constructor(options: ReplyHubOptions) {
    this.options = options
    this.channel = replyChannel(options.apiId)
  }

  /** Subscribes the channel; resolves when Redis has confirmed. */
  async start(): Promise<void> {
    const { subscriber } = this.options
    subscriber.on('message', (channel, message) => {
      if (channel === this.channel) this.receive(message)
    })
    await subscriber.subscribe(this.channel)
    // Whatever was published while the connection was gone is lost: ask again, for every call.
    subscriber.on('ready', () => this.probeAll())
    this.timer = setInterval(() => this.tick(), TICK_MS)
  }

  /** Calls in flight or lingering. */
  get size(): number {
    return this.calls.size
  }

  /** Waits for a call. To be called before its job is enqueued. */
  register(envelope: CallEnvelope, sink: CallSink, overdue: () => void): PendingCall {
    const call = new PendingCall({
      envelope,
      sink,
      overdue,
      control: (message) => this.tellWorkers(message),
      nowMs: this.options.clock(),
    })
    this.calls.set(envelope.id, call)
    return call
  }

  /** Forgets a call that no worker will hear of. */
  forget(callId: string): void {
    this.calls.delete(callId)
  }

  /** Redis lost its data: every call that waits may have lost its job, and looks after it now. */
  lookAfterAll(): void {
    for (const call of this.calls.values()) call.lookAfter()
  }

  /** Ends every call truthfully: this instance stops before they could finish. */
  failAll(): void {
    for (const call of this.calls.values()) call.fail(STOPPING)
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    await this.options.subscriber.unsubscribe(this.channel)
  }

  private receive(message: string): void {
    const nowMs = this.options.clock()
    const frames = JSON.parse(message) as Frame[]
    const touched = new Set<PendingCall>()
    for (const [callId, fence, sequence, body] of frames) {
      const call = this.calls.get(callId)
      if (call) {
        call.accept(fence, sequence, body, nowMs)
        touched.add(call)
      } else this.answerForUnknown(callId, fence, body)
    }
    for (const call of touched) {
      call.flush()
      if (call.ended) this.calls.delete(call.envelope.id)
    }
  }

  private answerForUnknown(callId: Frame[0], fence: number, body: Frame[3]): void {
    // A call this instance no longer knows was shown to its end.
    if (body[0] === 'takeover') {
      this.tellWorkers({ kind: 'shown', callId, fence, shown: { text: '', candidate: null, finished: true } })
    } else if (body[0] === 'open') this.tellWorkers({ kind: 'cancel', callId })
  }

  private tick(): void {
    const nowMs = this.options.clock()
    for (const call of this.calls.values()) {
      call.tick(nowMs)
      if (call.ended) this.calls.delete(call.envelope.id)
    }
  }

  private probeAll(): void {
    const nowMs = this.options.clock()
    for (const call of this.calls.values()) call.probe(nowMs)
  }

  /** Sends one message to every dispatch worker. */
  tellWorkers(message: ControlMessage): void {
    this.options.publisher.publish(CONTROL_CHANNEL, JSON.stringify(message)).catch((error) => {
      this.options.logger.warn(
        { err: error, kind: message.kind, callId: message.callId },
        'control message not sent',
      )
    })
  }
}
