import { type AttemptFailure, attemptFailure, type FailureKind } from '../../src/core/attempt-failure.ts'
import type { CompletionEvent, FinishReason } from '../../src/core/completion.ts'
import type { Usage } from '../../src/core/pricing.ts'
import { parseRetryAfter } from '../../src/core/retry-after.ts'
import type { Exchange, ResponseReceiver, TransportFailure, TransportFailureKind } from './exchange.ts'
import type { AttemptEnd, AttemptResult, ContentListener } from './provider.ts'
import { SseDecoder } from './sse-decoder.ts'
import type { AnswerReader, WireMapping } from './wire-mapping.ts'

interface ReaderOptions {
  wire: WireMapping
  answer: AnswerReader
  listener: ContentListener
  /** Unix milliseconds. */
  now: () => number
  resolve: (end: AttemptEnd) => void
  reject: (error: unknown) => void
}

/** How long the usage of a finished answer is waited for; it usually comes right after the finish reason. */
const USAGE_WAIT_MS = 250
/** How long the end of a stream is waited for whose finish reason need not come last. */
const END_WAIT_MS = 5_000
/** How long the body of a refusal is waited for; its status is known already. */
const ERROR_BODY_WAIT_MS = 2_000
const ERROR_BODY_MAX_BYTES = 64 * 1024
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])
const OPENING_BRACE = 0x7b
const OPENING_BRACKET = 0x5b
const LESS_THAN = 0x3c

const FAILURE_OF: Record<Exclude<TransportFailureKind, 'cancelled' | 'cut-short'>, FailureKind> = {
  connect: 'connect',
  reset: 'reset',
  'first-token': 'silent',
  idle: 'stalled',
  total: 'call-timeout',
  unreadable: 'unreadable',
}

/**
 * Reads one answer, on whichever wire, and settles the attempt. What the body is, an event stream, a whole
 * reply or a page of HTML, is told by its first byte: content types are often wrong.
 */
export class ResponseReader implements ResponseReceiver {
  exchange: Exchange | undefined
  #mode: 'unknown' | 'events' | 'whole' | 'refusal' = 'unknown'
  #httpStatus: number | null = null
  #retryAfterMs: number | null = null
  #pieces: Buffer[] = []
  #pieceBytes = 0
  #finish: FinishReason | null = null
  #usage: Usage | null = null
  #usageIsFinal = false
  #firstTokenAt: number | null = null
  #malformedEvents = 0
  #settled = false
  #waitsForUsage = false
  readonly #options: ReaderOptions
  readonly #decoder = new SseDecoder((data) => this.#event(data))
  readonly #emit = (event: CompletionEvent) => this.#completionEvent(event)

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  head(status: number, headers: Record<string, string | string[] | undefined>): void {
    this.#httpStatus = status
    if (status >= 200 && status < 300) return
    this.#mode = 'refusal'
    const retryAfter = headers['retry-after']
    this.#retryAfterMs = parseRetryAfter(
      Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      this.#options.now(),
    )
    this.exchange?.cutShort(ERROR_BODY_WAIT_MS)
  }

  data(chunk: Buffer): void {
    if (this.#settled) return
    if (this.#mode === 'unknown') this.#sniff(chunk)
    else if (this.#mode === 'events') this.#events(chunk)
    else this.#keep(chunk)
  }

  end(): void {
    if (this.#settled) return
    switch (this.#mode) {
      case 'unknown':
        this.#fail(attemptFailure('broken-stream', 'empty body'))
        break
      case 'refusal':
        this.#refused()
        break
      case 'whole':
        this.#wholeReply()
        break
      case 'events':
        this.#decoder.end()
        this.#streamEnded()
        break
      default:
        this.#mode satisfies never
    }
  }

  failure(failure: TransportFailure): void {
    if (this.#settled) return
    if (failure.kind === 'cancelled') this.#settle({ kind: 'cancelled' })
    // After its finish reason an answer is whole, however the connection ends.
    else if (this.#finish !== null) this.#finished()
    else if (this.#mode === 'refusal' || failure.kind === 'cut-short') this.#refused()
    else {
      const kind = FAILURE_OF[failure.kind]
      const isCut = kind === 'reset' && this.#firstTokenAt !== null
      this.#fail(attemptFailure(isCut ? 'broken-stream' : kind, failure.internal))
    }
  }

  crash(error: unknown): void {
    this.#settled = true
    this.#options.reject(error)
  }

  /** Decides by the first byte that is neither space nor byte order mark. */
  #sniff(chunk: Buffer): void {
    this.#pieces.push(chunk)
    const first = chunk.find((byte) => !SPACES.has(byte))
    if (first === undefined) return
    if (first === LESS_THAN) {
      this.#giveUp('markup instead of an answer')
    } else if (first === OPENING_BRACE || first === OPENING_BRACKET) {
      this.#mode = 'whole'
    } else {
      this.#mode = 'events'
      const begun = Buffer.concat(this.#pieces)
      this.#pieces = []
      this.#events(begun)
    }
  }

  #giveUp(internal: string): void {
    this.#fail(attemptFailure('unreadable', internal))
    this.exchange?.abort()
  }

  #keep(chunk: Buffer): void {
    this.#pieceBytes += chunk.length
    if (this.#mode === 'refusal' && this.#pieceBytes > ERROR_BODY_MAX_BYTES) return
    this.#pieces.push(chunk)
  }

  #events(chunk: Buffer): void {
    const fits = this.#decoder.push(chunk)
    if (this.#settled) return
    if (!fits) {
      this.#giveUp('an event is too large')
    } else if (this.#finish !== null && this.#options.answer.endsWithStream) {
      this.exchange?.endAfter(END_WAIT_MS)
    } else if (this.#finish !== null && !this.#waitsForUsage) {
      this.#waitsForUsage = true
      this.exchange?.cutShort(USAGE_WAIT_MS)
    }
  }

  #event(data: string): void {
    if (this.#settled) return
    const { answer, wire } = this.#options
    const signal = answer.event(data, this.#emit)
    switch (signal) {
      case 'content':
      case 'thinking':
        this.exchange?.token()
        break
      case 'malformed':
        this.#malformedEvents++
        break
      case 'done':
        this.#streamEnded()
        break
      case 'other':
        break
      default:
        // An error after the finish reason, while we wait for usage, changes nothing about the answer.
        if (this.#finish !== null && !answer.endsWithStream) this.#finished()
        else this.#fail(wire.failureOfErrorObject(signal.error, this.#httpStatus ?? 200))
        return
    }
    if (this.#usageIsFinal && !answer.endsWithStream) this.#finished()
  }

  #streamEnded(): void {
    if (this.#finish !== null) this.#finished()
    else this.#fail(attemptFailure('broken-stream', 'the stream ended without a finish reason'))
  }

  #completionEvent(event: CompletionEvent): void {
    const { listener, now } = this.#options
    switch (event.kind) {
      case 'text':
        this.#firstTokenAt ??= now()
        listener.text(event.text)
        break
      case 'refusal':
        this.#firstTokenAt ??= now()
        listener.refusal(event.text)
        break
      case 'tool-calls':
        this.#firstTokenAt ??= now()
        listener.toolCalls(event.deltas)
        break
      case 'finish':
        this.#finish = this.#options.answer.endsWithStream ? event.reason : (this.#finish ?? event.reason)
        break
      case 'usage':
        this.#usage = event.usage
        // Some providers count along in every event; only what comes with or after the finish reason is whole.
        this.#usageIsFinal = this.#finish !== null
        break
      default:
        event satisfies never
    }
  }

  #wholeReply(): void {
    const reading = this.#options.answer.whole(this.#body(), this.#emit)
    if (reading === 'malformed') this.#fail(attemptFailure('unreadable', 'the body is no completion'))
    else if (reading === 'ok') this.#finished()
    else this.#fail(this.#options.wire.failureOfErrorObject(reading.error, this.#httpStatus ?? 200))
  }

  #refused(): void {
    this.#fail(this.#options.wire.failureOfStatus(this.#httpStatus ?? 0, this.#body(), this.#retryAfterMs))
  }

  #body(): string {
    return Buffer.concat(this.#pieces).toString('utf8')
  }

  #finished(): void {
    this.#settle({ kind: 'finished', reason: this.#finish ?? 'stop', usage: this.#usage })
  }

  #fail(failure: AttemptFailure): void {
    this.#settle({
      kind: 'failed',
      failure: { ...failure, httpStatus: failure.httpStatus ?? this.#httpStatus },
    })
  }

  #settle(result: AttemptResult): void {
    if (this.#settled) return
    this.#settled = true
    this.exchange?.drain()
    this.#options.resolve({
      result,
      httpStatus: this.#httpStatus,
      firstTokenAt: this.#firstTokenAt,
      malformedEvents: this.#malformedEvents,
    })
  }
}
