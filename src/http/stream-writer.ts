import type { ServerResponse } from 'node:http'
import type { CallSink } from '../calls/relay/pending-call.ts'
import type { ResponseEnvelope } from '../core/calls/call-job.ts'
import { endsCall, type FrameBody } from '../core/calls/frames.ts'
import { ChunkRenderer, KEEP_ALIVE_COMMENT } from '../core/calls/render-completion.ts'
import { ApiError, type ErrorCode, errorObject } from '../core/kernel/errors.ts'

export interface StreamWriterOptions {
  envelope: ResponseEnvelope
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
export class StreamWriter implements CallSink {
  /** Resolves when the stream is committed; rejects with ApiError when the call failed before. */
  readonly committed: Promise<void>
  private readonly options: StreamWriterOptions
  private renderer: ChunkRenderer
  private state: 'held' | 'committed' | 'ended' = 'held'
  private buffered = ''
  private lastWriteMs: number
  private resolve!: () => void
  private reject!: (error: Error) => void

  constructor(options: StreamWriterOptions) {
    this.options = options
    this.renderer = this.rendererFor(null)
    this.lastWriteMs = options.nowMs
    this.committed = new Promise((resolve, reject) => {
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
    this.buffered += KEEP_ALIVE_COMMENT
    this.flush()
  }

  private commit(): void {
    if (this.state !== 'held') return
    this.state = 'committed'
    this.options.commit()
    this.resolve()
  }

  private render(body: FrameBody): string {
    switch (body[0]) {
      case 'open':
        this.renderer = this.rendererFor(body[1])
        return ''
      case 'finish':
        return this.renderer.finish(body[1], body[2])
      case 'error':
        this.options.failed(body[1].code)
        return this.renderer.error(
          errorObject(new ApiError(body[1].code, body[1].message, body[1]), this.options.requestId),
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

  private rendererFor(candidate: number | null): ChunkRenderer {
    const { id, admittedAt, candidates, requestedModel } = this.options.envelope
    return new ChunkRenderer({
      id,
      created: Math.floor(admittedAt / 1000),
      model: (candidate !== null && candidates[candidate]?.requestedModel) || requestedModel,
    })
  }
}
