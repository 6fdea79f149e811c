import type { ServerResponse } from 'node:http'
import type { CallSink } from '../../calls/api/pending-call.ts'
import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { Delta } from '../../core/calls/completion.ts'
import { endsCall, type FinishFrame, type FrameBody, type WholeFrame } from '../../core/calls/frames.ts'
import { ApiError, type ErrorCode } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { StoredBody } from '../../platform/body-store/body-store.ts'

/**
 * Writes the completion of a call as its response. All text of a provider reaches clients through this file, which
 * never names the target.
 */

export interface CompletionWriter extends CallSink {
  /** The body of the response; null if the writer has taken over the connection. Rejects with ApiError. */
  readonly body: Promise<string | WholeBody | null>
}

/** How a route formats the completion of a call. */
export interface ResponseFormat<Whole extends string | WholeBody = string> {
  /** Opens the stream of one completion. Called again before the first delta, once the candidate that responds is known. */
  stream(head: CompletionHead): StreamRenderer
  /** A whole completion as JSON text or another body. */
  whole(head: CompletionHead, frame: WholeFrame): Whole
}

/** A body of texts and files of the call, in order. */
export interface WholeBody {
  contentType: string
  pieces: ReadonlyArray<string | StoredPiece>
}

export type StoredPiece = Pick<StoredBody, 'ref' | 'bytes'>

/** Renders the server-sent events of one completion. */
export interface StreamRenderer {
  /** Sent after some seconds of silence. */
  readonly keepAlive: string
  delta(delta: Delta): string
  /** The end of a complete completion. */
  finish(frame: FinishFrame): string
  /** The end of an interrupted completion, which the client must be able to recognize. */
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
  /** A client that has not read more than this many bytes is disconnected. */
  maxBufferedBytes: number
  /** Called with the code of an error that ends a committed stream. */
  failed: (code: ErrorCode) => void
  nowMs: number
}

/**
 * Writes one stream to its client. States: held (nothing is sent, so that a failure still has its own status) →
 * committed (by the first content or the first keep-alive) → ended.
 */
export class StreamWriter implements CompletionWriter {
  /** Resolves once the stream is committed; rejects with ApiError if the call fails before that. */
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
    if (response.writableLength > maxBufferedBytes) {
      // The client reads so slowly that the unread bytes exceed the bound. One write alone may be larger.
      this.state = 'ended'
      response.destroy()
      return
    }
    response.write(this.buffered)
    this.buffered = ''
    this.lastWriteMs = Date.now()
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
      case 'texts':
      case 'takeover':
      case 'was-ended':
      case 'from':
      case 'caught-up':
        throw new Error(`a stream got a ${body[0]} frame`)
      default:
        return this.renderer.delta(body)
    }
  }
}

/** Waits for the completion of a non-streaming call. */
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
    // A whole completion comes in one frame.
  }

  tick(): void {
    // A non-streaming client gets no keep-alives.
  }
}

/** The fields that every piece of one call's response repeats. */
export interface CompletionHead {
  id: CallId
  /** Unix seconds. */
  created: number
  /** The name that the client requested. */
  model: string
}

export const headOf = (
  { id, admittedAt, candidates, requestedModel }: ResponseEnvelope,
  candidate: number | null,
): CompletionHead => ({
  id,
  created: Math.floor(admittedAt / 1000),
  model: (candidate !== null && candidates[candidate]?.requestedModel) || requestedModel,
})
