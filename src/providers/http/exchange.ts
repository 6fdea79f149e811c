import type { Readable } from 'node:stream'
import type { ReadingTurns } from './reading-turns.ts'
import { type ContentDecoder, createContentDecoder } from './sse-decoder.ts'

/** The ways in which an exchange can end early. */
export type TransportFailureKind = Expiry | 'reset' | 'unreadable' | 'cancelled'

export interface TransportFailure {
  kind: TransportFailureKind
  /** For logs; never text of the response. */
  internal: string
  /** A limit passed while this process was stopped: the provider may have responded in time. */
  isLate: boolean
}

/** Receives a response as it arrives. Exactly one of `end`, `failure` and `crash` is called, last, unless drained. */
export interface ResponseReceiver {
  head(status: number, headers: Record<string, string | string[] | undefined>): void
  data(chunk: Buffer): void
  end(): void
  failure(failure: TransportFailure): void
  /** A receiver method threw: an error of the gateway, not of the provider. */
  crash(error: unknown): void
}

export interface TransportRequest {
  url: string
  /** Names and values alternate. */
  headers: string[]
  body: string | Buffer | Readable
  /** The maximum length of the response, in bytes; by default that of a completion. */
  responseBytesMax?: number
  limits: AttemptLimits
  signal: AbortSignal
  /** The account of the call; its responses share the event loop with those of other accounts. */
  accountId: string
}

/** How an exchange is sent, once more if its first connection turns out to be stale. */
interface ExchangeLink {
  /** Whether the request was sent on a connection that had carried another one. */
  isReused(): boolean
  /** Sends the request on a new connection. */
  resend(): void
}

/** The HTTP client's control of a request. */
interface DispatchController {
  abort(reason: Error): void
  /** Called while data is delivered: stops delivery until `resume`. */
  pause(): void
  resume(): void
}

/** The maximum length of a completion, in bytes. */
export const COMPLETION_MAX_BYTES = 16 * 1024 * 1024
const DRAIN_MS = 1_000
const DRAIN_MAX_BYTES = 64 * 1024

/**
 * One request and its response. States: open (the receiver is called), draining (the receiver is not called, but the
 * connection is read to the end of the response), closed.
 */
export class Exchange {
  #state: 'open' | 'draining' | 'closed' = 'open'
  #controller: DispatchController | undefined
  #decoder: ContentDecoder | undefined
  #bytes = 0
  readonly #receiver: ResponseReceiver
  readonly #signal: AbortSignal
  readonly #deadline: AttemptDeadline
  readonly #accountId: string
  readonly #turns: ReadingTurns
  readonly #bytesMax: number
  #isHeld = false
  #hasResponse = false
  /** Null where the request cannot be sent again. */
  #link: ExchangeLink | null = null
  readonly #resume = () => {
    if (!this.#isHeld) this.#controller?.resume()
  }
  readonly #cancel = () => this.#fail('cancelled', 'cancelled')

  constructor(
    { limits, signal, accountId, responseBytesMax = COMPLETION_MAX_BYTES }: TransportRequest,
    receive: (exchange: Exchange) => ResponseReceiver,
    turns: ReadingTurns,
  ) {
    this.#accountId = accountId
    this.#bytesMax = responseBytesMax
    this.#turns = turns
    this.#signal = signal
    this.#deadline = new AttemptDeadline(limits, (what) => this.#fail(what, `limit passed: ${what}`))
    this.#receiver = receive(this)
    if (signal.aborted) queueMicrotask(this.#cancel)
    else signal.addEventListener('abort', this.#cancel, { once: true })
  }

  /** Lets a request be sent again whose kept connection its provider had closed. */
  link(link: ExchangeLink): void {
    this.#link = link
  }

  get isOpen(): boolean {
    return this.#state === 'open' && !this.#signal.aborted
  }

  /** Milliseconds since the last token; 0 before the first. */
  get silentMs(): number {
    return this.#deadline.silentMs
  }

  /** Notes a token: from now on the limit between tokens applies. */
  token(): void {
    this.#deadline.token()
  }

  /** Ends with `cut-short` after at most `ms`. */
  cutShort(ms: number): void {
    if (this.#state === 'open') this.#deadline.cutShort(ms)
  }

  /** Ends with `cut-short` after `ms`; another call restarts the time. */
  endAfter(ms: number): void {
    if (this.#state === 'open') this.#deadline.endAfter(ms)
  }

  /** Stops reading until it is released. Called while data is delivered. */
  hold(): void {
    this.#isHeld = true
    this.#controller?.pause()
  }

  release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#resume()
  }

  /** Ignores the rest of the response. The connection is kept if the rest arrives soon. */
  drain(): void {
    if (this.#state !== 'open') return
    this.#state = 'draining'
    this.#bytes = 0
    this.#decoder?.destroy()
    this.#signal.removeEventListener('abort', this.#cancel)
    // The end of the response is mostly among the bytes that are being read, and then needs no deadline.
    queueMicrotask(() => {
      if (this.#state === 'draining') this.#deadline.cutShort(DRAIN_MS)
    })
  }

  /** Closes the connection, so that the provider stops. No receiver method is called after this. */
  abort(): void {
    this.#close()
    this.#stop()
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    this.#deadline.connected()
    if (this.#state === 'closed') this.#stop()
  }

  onResponseStart(
    _controller: DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#hasResponse = true
    if (status < 200 || this.#state !== 'open') return
    const encoding = headers['content-encoding']
    const decoder = createContentDecoder(Array.isArray(encoding) ? encoding.join(',') : encoding, {
      data: (chunk) => this.#deliver(chunk),
      end: () => this.#end(),
      failure: () => this.#fail('unreadable', 'the body does not decompress'),
    })
    if (decoder === 'unsupported') {
      this.#fail('unreadable', 'unsupported content-encoding')
    } else {
      if (decoder !== 'identity') this.#decoder = decoder
      this.#call(() => this.#receiver.head(status, headers))
    }
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#state === 'open') {
      if (this.#decoder) this.#decoder.write(chunk)
      else this.#deliver(chunk)
      // What is over waits for no turn: its connection would be closed if many wait before it.
      const resume = this.isOpen ? this.#resume : null
      if (!this.#turns.read(this.#accountId, chunk.length, resume)) controller.pause()
      return
    }
    this.#bytes += chunk.length
    if (this.#bytes > DRAIN_MAX_BYTES) this.abort()
  }

  onResponseEnd(): void {
    if (this.#state === 'open' && this.#decoder) this.#decoder.end()
    else this.#end()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    const link = this.#link
    this.#link = null
    // The provider closed an idle connection as the request was sent: it never saw it, and has not failed.
    if (link && this.isOpen && !this.#hasResponse && link.isReused()) return link.resend()
    this.#fail(transportErrorKind(error, this.#controller !== undefined), describeTransportError(error))
  }

  #deliver(chunk: Buffer): void {
    if (this.#state !== 'open') return
    this.#bytes += chunk.length
    if (this.#bytes > this.#bytesMax) {
      this.#fail('unreadable', 'the body is too large')
      return
    }
    try {
      this.#receiver.data(chunk)
    } catch (error) {
      this.#crash(error)
    }
  }

  #end(): void {
    const wasOpen = this.#state === 'open'
    this.#close()
    if (wasOpen) this.#call(() => this.#receiver.end())
  }

  #fail(kind: TransportFailureKind, internal: string): void {
    const wasOpen = this.#state === 'open'
    this.#close()
    this.#stop()
    const { isLate } = this.#deadline
    if (wasOpen) this.#call(() => this.#receiver.failure({ kind, internal, isLate }))
  }

  #crash(error: unknown): void {
    this.abort()
    this.#receiver.crash(error)
  }

  #call(method: () => void): void {
    try {
      method()
    } catch (error) {
      this.#crash(error)
    }
  }

  #close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#deadline.stop()
    this.#decoder?.destroy()
    this.#signal.removeEventListener('abort', this.#cancel)
  }

  /** Closes the connection, so that the provider stops. Does nothing after the end of the response. */
  #stop(): void {
    this.#controller?.abort(new Error('no longer wanted'))
  }
}

/** Maps an error of the HTTP client to its kind; `sent` if the request had a connection. */
function transportErrorKind(error: Error, sent: boolean): TransportFailureKind {
  const code = errorCode(error)
  if (
    code.startsWith('HPE_') ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
  ) {
    return 'unreadable'
  }
  return sent ? 'reset' : 'connect'
}

/** The error's code, for logs; it contains neither a prompt nor a key. */
function describeTransportError(error: Error): string {
  return errorCode(error) || error.name
}

function errorCode(error: Error): string {
  const { code, cause } = error as Error & { code?: unknown }
  if (typeof code === 'string') return code
  return cause instanceof Error ? errorCode(cause) : ''
}

/** How long an attempt may be silent, in ms. Every limit starts with the attempt. */
interface AttemptLimits {
  connectMs: number
  /** Until the first token. */
  firstTokenMs: number
  /** Between tokens. */
  idleMs: number
  /** The remaining time of the whole call. */
  totalMs: number
}

type Expiry = 'connect' | 'first-token' | 'idle' | 'total' | 'cut-short'

/** A timer that is this much late shows that the process was stopped meanwhile. */
const LATE_MS = 500
/** How long a process that was stopped reads pending data before it applies a limit to the provider. */
const READING_MS = 1_000

/**
 * Applies every limit of one attempt with one timer. A token only stores the time; when the timer fires, it checks
 * whether a limit has passed, and is set for the next one.
 *
 * Timers run before input: in a process that was stopped (a paused machine, or one without CPU time) they fire before
 * the sockets are read. A limit therefore expires only after one more read of the event loop, and after a second of
 * reading if the timer was late.
 */
class AttemptDeadline {
  readonly #limits: AttemptLimits
  readonly #expired: (what: Expiry) => void
  readonly #startedAt: number
  #connected = false
  /** Monotonic ms of the last token; 0 before the first. */
  #lastTokenAt = 0
  #cutShortAt = Number.POSITIVE_INFINITY
  #firesAt = 0
  #timer: NodeJS.Timeout | undefined
  /** The limit expires after the next read, unless data has arrived by then. */
  #lastRead: NodeJS.Immediate | undefined
  #isLate = false

  constructor(limits: AttemptLimits, expired: (what: Expiry) => void) {
    this.#limits = limits
    this.#expired = expired
    this.#startedAt = performance.now()
    this.#arm(this.#startedAt)
  }

  get silentMs(): number {
    return this.#lastTokenAt === 0 ? 0 : performance.now() - this.#lastTokenAt
  }

  /** A limit passed while the process was stopped, and no data has arrived since. */
  get isLate(): boolean {
    return this.#isLate
  }

  connected(): void {
    this.#connected = true
  }

  token(): void {
    const isFirst = this.#lastTokenAt === 0
    this.#lastTokenAt = performance.now()
    if (isFirst && this.#lastTokenAt + this.#limits.idleMs < this.#firesAt) this.#rearm(this.#lastTokenAt)
  }

  cutShort(ms: number): void {
    const now = performance.now()
    this.#cutShortAt = Math.min(this.#cutShortAt, now + ms)
    this.#rearm(now)
  }

  endAfter(ms: number): void {
    const now = performance.now()
    this.#cutShortAt = now + ms
    this.#rearm(now)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#lastRead)
  }

  #rearm(now: number): void {
    this.stop()
    this.#arm(now)
  }

  #arm(now: number): void {
    const { at } = this.#next()
    this.#firesAt = at
    this.#isLate = false
    // Node rounds timers down; one more millisecond avoids a second timer.
    this.#timer = setTimeout(() => this.#fire(), Math.max(1, Math.ceil(at - now) + 1))
  }

  #fire(): void {
    const now = performance.now()
    if (now < this.#next().at) return this.#arm(now)
    this.#isLate = now - this.#firesAt > LATE_MS
    if (this.#isLate) this.#timer = setTimeout(() => this.#expire(), READING_MS)
    else this.#lastRead = setImmediate(() => this.#expire())
  }

  #expire(): void {
    const now = performance.now()
    const { what, at } = this.#next()
    if (now < at) this.#arm(now)
    else this.#expired(what)
  }

  /** The limit that passes next if no data arrives. */
  #next(): { what: Expiry; at: number } {
    const { connectMs, firstTokenMs, idleMs, totalMs } = this.#limits
    let what: Expiry = 'total'
    let at = this.#startedAt + totalMs
    const sooner = (other: Expiry, otherAt: number) => {
      if (otherAt < at) [what, at] = [other, otherAt]
    }
    if (this.#lastTokenAt > 0) sooner('idle', this.#lastTokenAt + idleMs)
    else sooner('first-token', this.#startedAt + firstTokenMs)
    if (!this.#connected) sooner('connect', this.#startedAt + connectMs)
    sooner('cut-short', this.#cutShortAt)
    return { what, at }
  }
}
