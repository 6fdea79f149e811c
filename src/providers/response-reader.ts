import type { AttemptOutcome } from '../core/calls/attempt-outcome.ts'
import type { CompletionEvent, FinishReason, OnProgress, UnknownFinish } from '../core/calls/completion.ts'
import type { NativeStop } from '../core/calls/messages-wire.ts'
import type { Usage } from '../core/calls/usage.ts'
import { type AttemptFailure, attemptFailure, type FailureKind } from '../core/failover/attempt-failure.ts'
import { MAX_NESTING, scanJson } from '../core/json/json-text.ts'
import { ApiError } from '../core/kernel/errors.ts'
import {
  COMPLETION_MAX_BYTES,
  type Exchange,
  type ResponseReceiver,
  type TransportFailure,
  type TransportFailureKind,
} from './http/exchange.ts'
import { GatheredBytes } from './http/gathered-bytes.ts'
import { SseDecoder } from './http/sse-decoder.ts'
import { nearLimitMs, type ResponseHeaders, retryAfterMs, soonestResetMs } from './rate-limit-headers.ts'
import type { ResponseFile, ResponseFiles } from './response-files.ts'
import type { CompletionReader, EventDecoder, OpenDecoder, StreamSignal, WireMapping } from './wire.ts'

interface ReaderOptions {
  wire: Pick<WireMapping, 'failureOfStatus' | 'failureOfErrorObject'>
  answer: CompletionReader
  /** Reads a stream that is no text. Absent: every stream is server-sent events. */
  openDecoder?: OpenDecoder | undefined
  /** Stores the files of the response; absent if it has none. */
  files?: ResponseFiles | undefined
  exchange: Pick<Exchange, 'silentMs' | 'token' | 'cutShort' | 'endAfter' | 'drain' | 'abort'>
  onProgress: OnProgress
  /** See AttemptRequest. */
  onNearLimit?: ((restMs: number) => void) | undefined
  /** Unix milliseconds. */
  now: () => number
  resolve: (outcome: AttemptOutcome) => void
  reject: (error: unknown) => void
}

/** How long to wait for the usage of a finished completion. The client has its content already. */
const USAGE_WAIT_MS = 2_000
/** How long to wait for the end of the protocol after the usage, which a later event may correct. */
const PROTOCOL_END_WAIT_MS = 250
/** How long to wait for the end of a stream whose finish reason need not come last. */
const END_WAIT_MS = 5_000
/** How long to wait for the body of a refusal, whose status is already known. */
const ERROR_BODY_WAIT_MS = 2_000
const ERROR_BODY_MAX_BYTES = 64 * 1024
/** An event of more characters is checked like a whole response before it is parsed. */
const LONG_EVENT_CHARS = 256 * 1024
/** Parsing a larger response would delay other calls for too long. */
const WHOLE_REPLY_LIMITS = { depth: MAX_NESTING, values: 100_000 }
/** A provider that closes after this long a silence between tokens has stalled; a retry would stall too. */
const STALLED_MS = 10_000
/** The model's name in the first event or the head of a whole response, on every wire. */
const MODEL_NAME = /"model(?:Version)?"\s*:\s*"([\w./:@-]{1,100})"/
const MODEL_NAME_WITHIN = 2_000
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])
const OPENING_BRACE = 0x7b
const OPENING_BRACKET = 0x5b
const LESS_THAN = 0x3c
/** Messages in a framing of bytes begin with their length, of less than 16 MiB. */
const NO_TEXT = 0x00

const FAILURE_OF: Record<Exclude<TransportFailureKind, 'cancelled' | 'cut-short'>, FailureKind> = {
  connect: 'connect',
  reset: 'reset',
  'first-token': 'silent',
  idle: 'stalled',
  total: 'call-timeout',
  unreadable: 'unreadable',
}

/**
 * Reads one response on any wire, and settles the attempt. The first byte decides whether the body is an event
 * stream, a whole completion or an HTML page, because content types are often wrong.
 */
export class ResponseReader implements ResponseReceiver {
  #mode: 'unknown' | 'events' | 'whole' | 'files' | 'refusal' = 'unknown'
  #httpStatus: number | null = null
  #retryAfterMs: number | null = null
  readonly #pieces = new GatheredBytes()
  #pieceBytes = 0
  /** The usage before the finish reason, and the usage with it or after it. */
  #partialUsage: Usage | null = null
  #finalUsage: Usage | null = null
  /** Whether content came after the partial usage. */
  #hasOutgrownUsage = false
  #nativeStop: NativeStop | undefined
  #reasoningTokens = 0
  #tier: string | undefined
  #thinkingBytes = 0
  #firstTokenAt: number | null = null
  #malformedEvents = 0
  /** Undefined before the first event. */
  #responseModel: string | null | undefined
  #settled = false
  /** What is awaited after the end of the completion. */
  #awaits: 'nothing' | 'usage' | 'protocol-end' = 'nothing'
  readonly #options: ReaderOptions
  readonly #end: CompletionEnd
  #decoder: EventDecoder = new SseDecoder((data) => this.#event(data), COMPLETION_MAX_BYTES)
  readonly #emit = (event: CompletionEvent) => this.#completionEvent(event)

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#end = new CompletionEnd(options.answer.endsWithStream === true)
  }

  head(status: number, headers: ResponseHeaders): void {
    this.#httpStatus = status
    const { onNearLimit, now } = this.#options
    const limitMs = onNearLimit ? nearLimitMs(headers, now()) : null
    if (limitMs !== null) onNearLimit?.(limitMs)
    if (status >= 200 && status < 300) {
      if (this.#options.files) this.#mode = 'files'
      return
    }
    this.#mode = 'refusal'
    this.#retryAfterMs = retryAfterMs(headers, now())
    if (onNearLimit) this.#retryAfterMs ??= limitMs ?? soonestResetMs(headers, now())
    this.#options.exchange.cutShort(ERROR_BODY_WAIT_MS)
  }

  data(chunk: Buffer): void {
    if (this.#settled) return
    if (this.#mode === 'unknown') this.#sniff(chunk)
    else if (this.#mode === 'events') this.#events(chunk)
    else if (this.#mode === 'files') this.#fileBytes(chunk)
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
      case 'files':
        void this.#filesEnded()
        break
      case 'events':
        this.#decoder.end()
        if (!this.#settled) this.#streamEnded(false)
        break
      default:
        this.#mode satisfies never
    }
  }

  failure(failure: TransportFailure): void {
    if (this.#settled) return
    if (failure.kind === 'cancelled') this.#settle({ ...this.#facts, kind: 'cancelled' })
    // After its end a completion is complete, however the connection ends. The same applies when the wait for its end
    // expires.
    else if (this.#end.isOver || (failure.kind === 'cut-short' && this.#end.isKnown)) this.#finished()
    else if (this.#mode === 'refusal') this.#refused()
    else {
      const kind = failure.kind === 'cut-short' ? this.#kindOfBreak() : FAILURE_OF[failure.kind]
      const isCut = kind === 'reset' && this.#firstTokenAt !== null
      const { internal, isLate } = failure
      this.#fail(attemptFailure(isCut ? this.#kindOfBreak() : kind, internal, isLate ? { isLate } : {}))
    }
  }

  crash(error: unknown): void {
    this.#settled = true
    this.#options.files?.discard()
    this.#options.reject(error)
  }

  /** Decides by the first byte that is neither a space nor part of a byte order mark. */
  #sniff(chunk: Buffer): void {
    this.#pieces.push(chunk)
    const first = chunk.find((byte) => !SPACES.has(byte))
    if (first === undefined) return
    if (first === LESS_THAN) {
      this.#giveUp('markup instead of a completion')
    } else if (first === OPENING_BRACE || first === OPENING_BRACKET) {
      this.#mode = 'whole'
    } else {
      const { openDecoder } = this.#options
      if (openDecoder && first === NO_TEXT)
        this.#decoder = openDecoder((data) => this.#event(data), COMPLETION_MAX_BYTES)
      this.#mode = 'events'
      this.#events(this.#pieces.take())
    }
  }

  #giveUp(internal: string): void {
    this.#fail(attemptFailure('unreadable', internal))
    this.#options.exchange.abort()
  }

  #keep(chunk: Buffer): void {
    this.#pieceBytes += chunk.length
    if (this.#mode === 'refusal' && this.#pieceBytes > ERROR_BODY_MAX_BYTES) return
    this.#pieces.push(chunk)
  }

  #events(chunk: Buffer): void {
    const fits = this.#decoder.push(chunk)
    if (this.#settled) return
    if (!fits) return this.#giveUp('an event is damaged or too large')
    const { exchange } = this.#options
    switch (this.#end.state) {
      case 'perhaps':
        exchange.endAfter(END_WAIT_MS)
        break
      case 'no':
        exchange.endAfter(Number.POSITIVE_INFINITY)
        break
      case 'over':
        this.#await(this.#usageIsWhole ? 'protocol-end' : 'usage')
    }
  }

  /** Starts the wait for what may follow a completion that is over. */
  #await(next: 'usage' | 'protocol-end'): void {
    if (this.#awaits === next) return
    this.#awaits = next
    this.#options.exchange.cutShort(next === 'usage' ? USAGE_WAIT_MS : PROTOCOL_END_WAIT_MS)
  }

  #event(data: string): void {
    if (this.#settled) return
    const { answer, wire } = this.#options
    if (this.#responseModel === undefined) this.#responseModel = modelNamed(data)
    if (data.length > LONG_EVENT_CHARS && !isParsable(Buffer.from(data)))
      return this.#giveUp('an event has too many values')
    const signal = this.#end.read(() => answer.event(data, this.#emit))
    switch (signal) {
      case 'content':
      case 'thinking':
        this.#options.exchange.token()
        break
      case 'malformed':
        if (!data.includes('\n')) this.#malformedEvents++
        // Events without the empty line between them.
        else for (const line of data.split('\n')) if (line !== '') this.#event(line)
        break
      case 'done':
        this.#streamEnded(true)
        break
      case 'other':
        break
      default:
        // An error after the end, while the usage is awaited, does not change the completion.
        if (this.#end.isOver) this.#finished()
        else this.#fail(wire.failureOfErrorObject(signal.error, this.#httpStatus ?? 200))
    }
  }

  /**
   * An unknown finish reason, or none, is no end by itself.
   * @param isDone the provider says that the completion is over (`[DONE]`); otherwise its body has ended
   */
  #streamEnded(isDone: boolean): void {
    const { isKnown, reason } = this.#end
    if (isDone || isKnown || (reason !== null && this.#usage !== null)) this.#finished()
    else this.#fail(attemptFailure(this.#kindOfBreak(), 'the stream ended without a finish reason'))
  }

  /** The kind of failure of a stream that the provider closed early. */
  #kindOfBreak(): FailureKind {
    return this.#options.exchange.silentMs > STALLED_MS ? 'stalled' : 'broken-stream'
  }

  #completionEvent(event: CompletionEvent): void {
    const { onProgress, now } = this.#options
    switch (event[0]) {
      case 'finish':
        this.#end.note(event[1])
        this.#nativeStop = event[2]
        break
      case 'usage':
        this.#noteUsage(event[1], event[2])
        break
      case 'tier':
        this.#tier = event[1]
        break
      case 'thinking':
        this.#hasOutgrownUsage = true
        this.#thinkingBytes += event[1]
        onProgress(event)
        break
      default:
        this.#hasOutgrownUsage = true
        this.#firstTokenAt ??= now()
        onProgress(event)
    }
  }

  /**
   * Each usage replaces the one before. Some providers send a running count in every event: final is only what is sent
   * with or after the finish reason, or after all content.
   */
  #noteUsage(usage: Usage, reasoningTokens: number): void {
    if (usage.completionTokens === 0 && this.#partialUsage !== null) return
    this.#reasoningTokens = reasoningTokens
    this.#partialUsage = usage
    this.#hasOutgrownUsage = false
    if (this.#end.reason !== null) this.#finalUsage = usage
  }

  /** The usage of the whole completion, once it has ended. */
  get #usage(): Usage | null {
    return this.#finalUsage ?? (this.#hasOutgrownUsage ? null : this.#partialUsage)
  }

  /** Zero tokens with content are not a count. Some providers send zeros first and the real counts later. */
  get #usageIsWhole(): boolean {
    return (
      this.#finalUsage !== null && (this.#finalUsage.completionTokens !== 0 || this.#firstTokenAt === null)
    )
  }

  #wholeReply(): void {
    const body = this.#pieces.take()
    const { wholeValuesMax: values } = this.#options.answer
    if (!isParsable(body, values))
      return this.#fail(attemptFailure('unreadable', 'the body has too many values for a completion'))
    this.#read(body.toString('utf8'))
  }

  /** The response is read while it is made, so that from its first bytes the limit between tokens applies. */
  #fileBytes(chunk: Buffer): void {
    this.#options.exchange.token()
    if (!this.#options.files!.push(chunk)) this.#giveUp('the body is not a response with files')
  }

  /** The provider has finished; its files are still being stored. */
  async #filesEnded(): Promise<void> {
    try {
      const { rest, files } = await this.#options.files!.end()
      if (!this.#settled) this.#read(rest, files)
    } catch (error) {
      if (error instanceof ApiError) this.#fail(attemptFailure(kindOfRefusal(error), describe(error)))
      else this.crash(error)
    }
  }

  #read(text: string, files?: readonly ResponseFile[]): void {
    this.#responseModel = modelNamed(text)
    const reading = this.#options.answer.whole(text, this.#emit, files)
    if (reading === 'malformed') this.#fail(attemptFailure('unreadable', 'the body is not a completion'))
    else if (reading === 'ok') this.#streamEnded(this.#end.reason === null)
    else this.#fail(this.#options.wire.failureOfErrorObject(reading.error, this.#httpStatus ?? 200))
  }

  #refused(): void {
    const body = this.#pieces.take().toString('utf8')
    this.#fail(this.#options.wire.failureOfStatus(this.#httpStatus ?? 0, body, this.#retryAfterMs))
  }

  #finished(): void {
    const nativeStop = this.#nativeStop
    const { reason: said } = this.#end
    const meant = said === null || typeof said === 'object' ? 'stop' : said
    const usage = this.#usage
    const reason = this.#options.answer.end?.(meant, this.#emit) ?? meant
    const responseModel = this.#responseModel
    this.#settle({
      ...this.#facts,
      ...{ kind: 'finished', reason, usage },
      ...(said !== null && typeof said === 'object' && { unknownFinish: said.unknown }),
      ...(nativeStop && { nativeStop }),
      ...(responseModel != null && { responseModel }),
    })
  }

  #fail(failure: AttemptFailure): void {
    this.#settle({
      ...this.#facts,
      kind: 'failed',
      failure: { ...failure, httpStatus: failure.httpStatus ?? this.#httpStatus },
    })
  }

  get #facts() {
    return {
      httpStatus: this.#httpStatus,
      firstTokenAt: this.#firstTokenAt,
      malformedEvents: this.#malformedEvents,
      produced: {
        usage: this.#partialUsage,
        thinkingBytes: this.#thinkingBytes,
        reasoningTokens: this.#reasoningTokens,
        ...(this.#tier !== undefined && { tier: this.#tier }),
      },
    }
  }

  #settle(outcome: AttemptOutcome): void {
    if (this.#settled) return
    this.#settled = true
    if (outcome.kind !== 'finished') this.#options.files?.discard()
    this.#options.exchange.drain()
    this.#options.resolve(outcome)
  }
}

/** Whether JSON can be parsed without delaying other calls for long. */
const isParsable = (json: Buffer, values = WHOLE_REPLY_LIMITS.values): boolean =>
  scanJson(json, { ...WHOLE_REPLY_LIMITS, values }) === 'ok'

/** Whether the account's or the store's limit is exceeded. */
const kindOfRefusal = ({ code }: ApiError): FailureKind =>
  code === 'concurrency_limit_exceeded' ? 'account-full' : 'not-stored'

/** Why the store refused, for logs. */
const describe = ({ message, cause }: ApiError): string =>
  cause instanceof Error ? `${message} ${cause.message}` : message

/** The name as in the JSON of a response: a quote in a text is escaped there, so that no content matches. */
const modelNamed = (json: string): string | null =>
  MODEL_NAME.exec(json.slice(0, MODEL_NAME_WITHIN))?.[1] ?? null

/**
 * Decides by the finish reasons whether a streamed completion is over. Some servers send one in every chunk: it ends
 * the completion only if its chunk has nothing else or other chunks had none. A completion of one chunk may be over:
 * the end of the stream decides.
 */
class CompletionEnd {
  /** Null before the first finish reason. */
  reason: FinishReason | UnknownFinish | null = null
  /** Whether the finish reason ends the completion. */
  isOver = false
  /** The finish reason of the event that is being read. */
  #reasonNow: FinishReason | UnknownFinish | null = null
  /** Whether every chunk may have a finish reason: the wire allows it, or content came after one. */
  #repeats: boolean
  /** Whether content came without a finish reason, and none came after one. */
  #hasOpenPieces = false

  constructor(repeats: boolean) {
    this.#repeats = repeats
  }

  /** Notes a finish reason of the event that is being read, or of a whole completion. */
  note(reason: FinishReason | UnknownFinish): void {
    this.#reasonNow = reason
    if (this.#repeats || !this.isKnown) this.reason = reason
  }

  /** Whether it has a finish reason that a table has. An unknown one ends nothing by itself. */
  get isKnown(): boolean {
    return typeof this.reason === 'string'
  }

  /** Reads one event, which may note finish reasons, and decides whether the completion is over. */
  read(readEvent: () => StreamSignal): StreamSignal {
    const finishedBefore = this.reason !== null
    this.#reasonNow = null
    const signal = readEvent()
    const hasPiece = signal === 'content' || signal === 'thinking'
    if (hasPiece && finishedBefore) {
      this.#repeats = true
      this.#hasOpenPieces = false
      this.reason = this.#reasonNow ?? this.reason
    } else if (signal === 'content' && this.#reasonNow === null) this.#hasOpenPieces = true
    if (this.#reasonNow !== null) this.isOver = this.isKnown && (!hasPiece || this.#hasOpenPieces)
    else if (hasPiece) this.isOver = false
    return signal
  }

  /** `over`: only usage may follow. `perhaps`: the end of the stream decides. `no`: more is expected. */
  get state(): 'over' | 'perhaps' | 'no' | 'unfinished' {
    if (this.reason === null) return 'unfinished'
    if (this.isOver) return this.#repeats ? 'perhaps' : 'over'
    return this.#repeats ? 'no' : 'perhaps'
  }
}
