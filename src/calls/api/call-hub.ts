import { LRUCache } from 'lru-cache'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import {
  type ControlMessage,
  type DeliveredPrefix,
  decodeFrames,
  type EarlyEnd,
  encodeFrames,
  endsCall,
  type Frame,
  type FrameError,
} from '../../core/calls/frames.ts'
import type { SharedRoom } from '../../core/kernel/shared-room.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { controlChannel, replyChannel } from '../../platform/redis/redis-keys.ts'
import { publishTo, subscribeTo, unsubscribeFrom } from '../../platform/redis/relay-channel.ts'
import { ChannelCheck } from './channel-check.ts'
import { EndAcknowledgements } from './end-acknowledgements.ts'
import { type CallSink, PendingCall, type PendingCallOptions } from './pending-call.ts'
import { ResendQueue } from './resend-queue.ts'
import { WorkerHeartbeats } from './worker-heartbeats.ts'

const TICK_MS = 100
/** Time for workers to report their calls after a reconnect. */
const RECONNECTED_GRACE_MS = 2_000

/** Ids of fully delivered calls: those of the last half minute at 1,500 calls a second. */
const ENDED_REMEMBERED = 50_000

/** A Redis that lost its last writes lost no acknowledgement of an end before. */
const ACKNOWLEDGED_AGAIN_MS = 60_000

/** Time for workers to report the end of calls that must stop, before clients get an error. */
const SAY_WITHIN_MS = 1_000
/** Time for workers to learn of ended calls when this instance stops. */
const STOP_WITHIN_MS = 2_000

const DELIVERED_WHOLE: DeliveredPrefix = { text: '', candidate: null, finished: true }
const NO_CLIENT: EarlyEnd = { by: 'gateway', code: 'internal_error', deliveredChars: 0 }

export interface CallHubOptions {
  /** Identifies this API instance's channel. */
  apiId: string
  /** The shard of its calls. */
  shard: number
  /** A separate connection: it is put into subscriber mode. */
  subscriber: Redis
  publisher: Redis
  /** How often delivered ends are acknowledged. Absent: each second. */
  acknowledgeEveryMs?: number | undefined
  logger: Logger
  clock: () => number
  /** Counts the calls of an account among the places of this instance. */
  places: Pick<SharedRoom, 'add'>
}

/**
 * The calls of one shard that an API instance waits for. Its one channel is subscribed at boot, before any job can name it, and all
 * frames of all calls arrive there. A worker that stays silent is lost: its clients keep the delivered part of a
 * completion. Calls without delivered content wait for the worker that takes them over.
 */
export class CallHub {
  readonly channel: string
  private readonly calls = new Map<string, PendingCall>()
  /** Frames of expected calls that arrived before they were registered. */
  private readonly early = new Map<string, Array<[worker: string, frame: Frame]>>()
  /** Fully delivered calls, oldest first. */
  private readonly ended = new LRUCache<string, { by: string | undefined; atMs: number }>({
    maxSize: ENDED_REMEMBERED,
    sizeCalculation: () => 1,
  })
  private readonly options: CallHubOptions
  private readonly resends = new ResendQueue()
  private readonly acknowledgements: EndAcknowledgements
  private readonly heartbeats: WorkerHeartbeats
  private readonly check: ChannelCheck
  private timer: NodeJS.Timeout | undefined
  private isStopped = false
  private reconnectedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: CallHubOptions) {
    this.options = options
    this.channel = replyChannel(options.apiId, options.shard)
    this.acknowledgements = new EndAcknowledgements({
      redis: options.publisher,
      channel: this.channel,
      everyMs: options.acknowledgeEveryMs,
      logger: options.logger,
    })
    const echo = (number: number) =>
      publishTo(options.publisher, this.channel, encodeFrames(options.apiId, [], number))
    // Its numbers are negative, those of heartbeats are not. One that is not sent does not arrive.
    this.check = new ChannelCheck({ sendProbe: (number) => void echo(-1 - number).catch(() => undefined) })
    this.heartbeats = new WorkerHeartbeats({
      sendEcho: (number) => this.sent(echo(number)),
      onSuspect: (worker) => this.probeWorker(worker),
      onLost: (worker) => this.lose(worker),
    })
  }

  /** Subscribes the channel; resolves when Redis has confirmed. */
  async start(): Promise<void> {
    const { subscriber, publisher } = this.options
    await subscribeTo(subscriber, this.channel, (message) => this.read(message))
    subscriber.on('close', () => this.check.interrupted())
    publisher.on('ready', () => this.check.interrupted())
    // Messages during the disconnection are lost: probes every call and repeats its messages.
    subscriber.on('ready', () => {
      this.reconnectedAtMs = this.options.clock()
      this.heartbeats.reconnected()
      for (const call of this.calls.values()) call.reconnected()
    })
  }

  /**
   * Resolves once frames that are published where calls are admitted reach this instance: at once, but after a reconnect.
   * Rejects with a RedisAwayError if they do not for two seconds.
   */
  untilReceiving(): Promise<void> {
    return this.check.untilReceiving()
  }

  /** Calls in flight or lingering. */
  get size(): number {
    return this.calls.size
  }

  /**
   * Keeps the frames of a call until it is registered or forgotten. Call it before its job is enqueued, unless the call
   * is registered by then.
   */
  expect(callId: string): void {
    this.early.set(callId, [])
  }

  /**
   * Waits for a call, and delivers the frames since it was expected. `send`: sends its messages to the worker that has it;
   * absent: as they are. While its worker is unknown, the call is looked up instead.
   */
  register(
    envelope: ResponseEnvelope,
    sink: CallSink,
    look: () => void,
    {
      send = (message, worker) => this.tellWorker(worker, message),
      ...options
    }: Partial<
      Pick<PendingCallOptions, 'errorSent' | 'over' | 'silentForMs' | 'clientLeft' | 'responseLost'>
    > & {
      send?: (message: ControlMessage, worker: string) => void
    } = {},
  ): PendingCall {
    const nowMs = this.options.clock()
    const call: PendingCall = new PendingCall({
      envelope,
      sink,
      look,
      control: (message, worker = call.addressee ?? undefined) =>
        worker === undefined ? call.lookNow() : send(message, worker),
      wantsResend: () =>
        call.addressee === null ? call.lookNow() : this.resends.want(call, this.options.clock()),
      ...options,
      nowMs,
    })
    if (!this.calls.has(envelope.id)) this.options.places.add(envelope.accountId, 1)
    this.calls.set(envelope.id, call)
    this.startTicking()
    const early = this.early.get(envelope.id)
    this.early.delete(envelope.id)
    for (const [worker, frame] of early ?? []) this.accept(call, frame, worker, nowMs)
    if (early?.length) this.written(call)
    return call
  }

  /** Forgets a call that has ended, or that no worker will send frames of. */
  forget(callId: string): void {
    this.early.delete(callId)
    const call = this.calls.get(callId)
    if (!call) return
    call.forgotten()
    this.calls.delete(callId)
    this.options.places.add(call.envelope.accountId, -1)
  }

  /** The worker that published the end of a call, until this instance acknowledges the end; null: none did. */
  endedBy(callId: string): Promise<string | null> {
    return this.acknowledgements.workerOf(callId)
  }

  /** Whether Redis was away recently: its state of a call may be older than that of the call's worker. */
  isReconnecting(nowMs: number): boolean {
    return nowMs < this.reconnectedAtMs + RECONNECTED_GRACE_MS
  }

  /** Redis lost its data, possibly also that a run of a waiting call finished. */
  dataLost(): void {
    for (const call of this.calls.values()) call.redisLostWrites = true
  }

  /** Redis may have lost the last acknowledgements, but not the ends: they are acknowledged again. */
  acknowledgeAgain(): void {
    const sinceMs = this.options.clock() - ACKNOWLEDGED_AGAIN_MS
    // The newest come first.
    for (const [callId, { atMs }] of this.ended.entries()) {
      if (atMs < sinceMs) break
      this.acknowledge(callId)
    }
  }

  /** After a loss of Redis's data: every waiting call may have lost its job, and is looked up now. */
  lookForAll(): void {
    for (const call of this.calls.values()) call.lookNow()
  }

  /** Whether calls of an account run. */
  hasCallsOf(accountId: string): boolean {
    return [...this.calls.values()].some((call) => call.envelope.accountId === accountId)
  }

  /** Ends every call of an account. */
  failAccount(accountId: string, error: FrameError): void {
    for (const call of this.calls.values()) if (call.envelope.accountId === accountId) call.fail(error)
  }

  /** Ends every call, because this instance stops before they finish. Their workers have a second to report how they ended. */
  failAll(): void {
    const untilMs = this.options.clock() + SAY_WITHIN_MS
    for (const call of this.calls.values()) call.stop(CALL_ERRORS.stopping, untilMs)
  }

  /** Repeats unacknowledged cancels for up to 2 s. */
  async stop(): Promise<void> {
    const { clock } = this.options
    const untilMs = clock() + STOP_WITHIN_MS
    const isCancelling = () => [...this.calls.values()].some((call) => call.isCancelling)
    while (clock() < untilMs && isCancelling()) await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    this.isStopped = true
    this.stopTicking()
    this.check.stop()
    this.ended.clear()
    await this.acknowledgements.close()
    await unsubscribeFrom(this.options.subscriber, this.channel)
  }

  private read(message: string): void {
    const { from, number, frames } = decodeFrames(message)
    if (from !== this.options.apiId) this.receive(from, frames)
    else if (number < 0) this.check.arrived(-1 - number)
    else this.heartbeats.echoed(number, this.options.clock())
  }

  /** Receives frames of calls from a worker, in sending order. */
  receive(from: string, frames: readonly Frame[]): void {
    const nowMs = this.options.clock()
    this.heartbeats.received(from)
    const touched = new Set<PendingCall>()
    for (const frame of frames) {
      const call = this.calls.get(frame[0])
      if (call) {
        this.guard(call, () => this.accept(call, frame, from, nowMs))
        touched.add(call)
      } else if (this.early.has(frame[0])) this.early.get(frame[0])!.push([from, frame])
      else this.replyToUnknown(frame, from)
    }
    for (const call of touched) this.guard(call, () => this.written(call))
  }

  /**
   * An error in one step of a call, such as an illegal transition, fails that call alone: its worker ends it, and charges
   * only what was delivered.
   */
  private guard(call: PendingCall, step: () => void): void {
    try {
      step()
    } catch (error) {
      const { id: callId } = call.envelope
      this.options.logger.error({ err: error, callId }, 'pending call failed')
      this.forget(callId)
      call.fail(CALL_ERRORS.failedInside)
    }
  }

  private accept(
    call: PendingCall,
    [, generation, sequence, body, run]: Frame,
    worker: string,
    nowMs: number,
  ): void {
    call.accept({ generation, run, worker }, sequence, body, nowMs)
    if (body[0] === 'caught-up') this.resends.replied(call, nowMs)
  }

  /** After the last frame of a call in a message: writes it, and forgets the call if it has ended. */
  private written(call: PendingCall): void {
    call.flush()
    if (!call.ended) return
    const { id } = call.envelope
    this.ended.set(id, { by: call.endingRun, atMs: this.options.clock() })
    if (call.endWritten) void call.endWritten.then(() => this.acknowledge(id))
    else this.acknowledge(id)
    this.forget(id)
  }

  private acknowledge(callId: string): void {
    if (this.isStopped) return
    this.acknowledgements.add(callId)
    this.startTicking()
  }

  /** The worker has been silent: probe it. Possibly only the ends of its calls were lost. */
  private probeWorker(worker: string): void {
    for (const call of this.calls.values()) {
      if (call.worker !== worker) continue
      call.probe()
      call.lookNow()
    }
  }

  private lose(worker: string): void {
    const delivered = [...this.calls.values()].filter((call) => call.worker === worker && call.isDelivered)
    if (delivered.length === 0) return
    this.options.logger.warn({ worker, calls: delivered.length }, 'worker lost, ending its streams')
    for (const call of delivered) call.fail(CALL_ERRORS.brokeOff)
  }

  private replyToUnknown([callId, generation, , body, run]: Frame, worker: string): void {
    const known = this.ended.get(callId)
    // Redis forgot that the call was finished, and its worker finished it again.
    if (endsCall(body) && known && known.by === run) return this.acknowledge(callId)
    if (body[0] === 'takeover' || body[0] === 'was-ended') {
      // Neither finished nor known: no client waits for it, and its worker settles it.
      const end = this.ended.get(callId)
      const delivered = end
        ? { ...DELIVERED_WHOLE, endedBy: end.by }
        : { ...DELIVERED_WHOLE, finished: false, ending: NO_CLIENT }
      this.tellWorker(worker, { kind: 'delivered', callId, generation, run, delivered })
    } else if (body[0] === 'open') this.tellWorker(worker, { kind: 'cancel', callId, ending: NO_CLIENT })
  }

  /** Ticks while there are calls; without calls the state of workers does not matter. */
  private startTicking(): void {
    if (this.timer !== undefined) return
    this.heartbeats.resumed()
    this.timer = setInterval(() => this.tick(), TICK_MS)
  }

  private stopTicking(): void {
    clearInterval(this.timer)
    this.timer = undefined
  }

  private tick(): void {
    const nowMs = this.options.clock()
    this.heartbeats.tick(nowMs)
    this.resends.tick(nowMs)
    this.acknowledgements.tick(nowMs)
    for (const call of this.calls.values()) {
      this.guard(call, () => call.tick(nowMs))
      if (call.ended) this.forget(call.envelope.id)
    }
    if (this.calls.size === 0 && this.acknowledgements.isEmpty) this.stopTicking()
  }

  tellWorker(worker: string, message: ControlMessage): void {
    const { kind, callId } = message
    const { publisher, shard } = this.options
    this.sent(publisher.publish(controlChannel(worker, shard), JSON.stringify(message)), { kind, callId })
  }

  private sent(publishing: Promise<unknown>, what: object = {}): void {
    publishing.catch((error) => {
      this.options.logger.warn({ err: error, ...what }, 'message to a worker not sent')
    })
  }
}
