import type { ServerResponse } from 'node:http'
import type { CallSink } from '../../calls/api/pending-call.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { Delta } from '../../core/calls/completion.ts'
import { endsCall, type FinishFrame, type FrameBody, type WholeFrame } from '../../core/calls/frames.ts'
import { ApiError, type ErrorCode } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { StoredBody } from '../../platform/body-store/body-store.ts'

/**
 * How the answer of a call becomes the bytes of its response. Nothing an upstream said reaches a client except through
 * here, and nothing here names the target.
 */

/** Writes the answer of one call. */
export interface CompletionWriter extends CallSink {
  /** The body of the response; null where the writer has taken its connection over. Rejects with ApiError. */
  readonly body: Promise<string | WholeBody | null>
}

/** How a surface writes what comes of a call. */
export interface ResponseFormat<Whole extends string | WholeBody = string> {
  /** Opens the stream of one answer. Called again when it is known which candidate answers, before any delta. */
  stream(head: CompletionHead): StreamRenderer
  /** A whole answer: its JSON text, or what else it is. */
  whole(head: CompletionHead, answer: WholeFrame): Whole
}

/** A body of texts and files of the call, one after the other. */
export interface WholeBody {
  contentType: string
  pieces: ReadonlyArray<string | StoredPiece>
}

export type StoredPiece = Pick<StoredBody, 'ref' | 'bytes'>

/** Renders the server-sent events of one answer. */
export interface StreamRenderer {
  /** Sent after some seconds of silence. */
  readonly keepAlive: string
  delta(delta: Delta): string
  /** The end of a whole answer. */
  finish(answer: FinishFrame): string
  /** The end of a broken answer, which must not look finished. */
  error(error: ApiError, requestId: string): string
}

export interface StreamWriterOptions {
  envelope: ResponseEnvelope
  format: Pick<ResponseFormat, 'stream'>
  response: ServerResponse
  requestId: string
  /** Writes status and headers; called once, right before the first byte of the body. */
  commit: () => unknown
  keepAliveMs: number
  /** A client that leaves more than this unread is cut off. */
  maxBufferedBytes: number
  /** Hears the code of an error that ends a committed stream. */
  failed: (code: ErrorCode) => void
  nowMs: number
}

/**
 * Writes one stream to its client. States: held (nothing sent; a failure still gets its true status) →
 * committed (by the first content, or by the first keep-alive) → ended.
 */
export class StreamWriter implements CompletionWriter {
  /** Resolves when the stream is committed; rejects with ApiError when the call failed before. */
  readonly body: Promise<null>
  private readonly options: StreamWriterOptions
  private renderer: StreamRenderer
  private state: 'held' | 'committed' | 'ended' = 'held'
  private buffered = ''
  private lastWriteMs: number
  private resolve!: (body: null) => void
  private reject!: (error: Error) => void

  constructor(options: StreamWriterOptions) {
    this.options = options
    this.renderer = options.format.stream(headOf(options.envelope, null))
    this.lastWriteMs = options.nowMs
    this.body = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  frame(body: FrameBody): void {
    if (this.state === 'ended') return
    if (body[0] === 'error' && this.state === 'held') {
      this.state = 'ended'
      this.reject(new ApiError(body[1].code, body[1].message, body[1]))
      return
    }
    this.commit()
    this.buffered += this.render(body)
    if (!endsCall(body)) return
    this.state = 'ended'
    this.options.response.end(this.buffered)
    this.buffered = ''
  }

  flush(): void {
    if (this.buffered === '' || this.state !== 'committed') return
    const { response, maxBufferedBytes } = this.options
    response.write(this.buffered)
    this.buffered = ''
    this.lastWriteMs = Date.now()
    if (response.writableLength <= maxBufferedBytes) return
    // The client reads too slowly to be served within bounds.
    this.state = 'ended'
    response.destroy()
  }

  tick(nowMs: number): void {
    if (this.state === 'ended' || nowMs - this.lastWriteMs < this.options.keepAliveMs) return
    this.commit()
    this.buffered += this.renderer.keepAlive
    this.flush()
  }

  private commit(): void {
    if (this.state !== 'held') return
    this.state = 'committed'
    this.options.commit()
    this.resolve(null)
  }

  private render(body: FrameBody): string {
    switch (body[0]) {
      case 'open':
        this.renderer = this.options.format.stream(headOf(this.options.envelope, body[1]))
        return ''
      case 'finish':
        return this.renderer.finish(body)
      case 'error':
        this.options.failed(body[1].code)
        return this.renderer.error(
          new ApiError(body[1].code, body[1].message, body[1]),
          this.options.requestId,
        )
      case 'completion':
      case 'takeover':
      case 'from':
      case 'caught-up':
        throw new Error(`a stream got a ${body[0]} frame`)
      default:
        return this.renderer.delta(body)
    }
  }
}

/** Waits for the one answer of a non-streaming call. */
export class CompletionCollector implements CompletionWriter {
  readonly body: Promise<string | WholeBody>
  private readonly envelope: ResponseEnvelope
  private readonly format: Pick<ResponseFormat<string | WholeBody>, 'whole'>
  private resolve!: (body: string | WholeBody) => void
  private reject!: (error: Error) => void

  constructor(envelope: ResponseEnvelope, format: Pick<ResponseFormat<string | WholeBody>, 'whole'>) {
    this.envelope = envelope
    this.format = format
    this.body = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  frame(body: FrameBody): void {
    if (body[0] === 'error') this.reject(new ApiError(body[1].code, body[1].message, body[1]))
    if (body[0] !== 'completion') return
    this.resolve(this.format.whole(headOf(this.envelope, body[1]), body))
  }

  flush(): void {
    // A whole answer comes in one frame; there is nothing to gather.
  }

  tick(): void {
    // A non-streaming client gets no keep-alives.
  }
}

/** What every piece of one call's answer repeats. */
export interface CompletionHead {
  id: CallId
  /** Unix seconds. */
  created: number
  /** As the client asked for it. */
  model: string
}

const headOf = (
  { id, admittedAt, candidates, requestedModel }: ResponseEnvelope,
  candidate: number | null,
): CompletionHead => ({
  id,
  created: Math.floor(admittedAt / 1000),
  model: (candidate !== null && candidates[candidate]?.requestedModel) || requestedModel,
})
