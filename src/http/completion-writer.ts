import type { ServerResponse } from 'node:http'
import type { CallSink } from '../calls/relay/pending-call.ts'
import type { Usage } from '../core/billing/pricing.ts'
import type { ResponseEnvelope } from '../core/calls/call-job.ts'
import {
  type CompletionMessage,
  type Delta,
  endsCall,
  type FinishReason,
  type FrameBody,
} from '../core/calls/completion.ts'
import { ApiError, type ErrorCode, type ErrorObject, errorObject } from '../core/kernel/errors.ts'
import type { CallId } from '../core/kernel/ids.ts'

/**
 * How the answer of a call becomes the bytes of its response. Nothing an upstream said reaches a client except through
 * here, and nothing here names the target.
 */

/** Writes the answer of one call. */
export interface CompletionWriter extends CallSink {
  /** The body of the response; null where the writer has taken its connection over. Rejects with ApiError. */
  readonly body: Promise<string | null>
}

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
export class StreamWriter implements CompletionWriter {
  /** Resolves when the stream is committed; rejects with ApiError when the call failed before. */
  readonly body: Promise<null>
  private readonly options: StreamWriterOptions
  private renderer: ChunkRenderer
  private state: 'held' | 'committed' | 'ended' = 'held'
  private buffered = ''
  private lastWriteMs: number
  private resolve!: (body: null) => void
  private reject!: (error: Error) => void

  constructor(options: StreamWriterOptions) {
    this.options = options
    this.renderer = new ChunkRenderer(headOf(options.envelope, null))
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
    this.buffered += KEEP_ALIVE_COMMENT
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
        this.renderer = new ChunkRenderer(headOf(this.options.envelope, body[1]))
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
}

/** Waits for the one answer of a non-streaming call. `body` resolves to the JSON text, or rejects with ApiError. */
export class CompletionCollector implements CompletionWriter {
  readonly body: Promise<string>
  private readonly envelope: ResponseEnvelope
  private resolve!: (body: string) => void
  private reject!: (error: Error) => void

  constructor(envelope: ResponseEnvelope) {
    this.envelope = envelope
    this.body = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  frame(body: FrameBody): void {
    if (body[0] === 'error') this.reject(new ApiError(body[1].code, body[1].message, body[1]))
    if (body[0] !== 'completion') return
    const [, candidate, message, reason, usage] = body
    this.resolve(renderCompletion(headOf(this.envelope, candidate), message, reason, usage))
  }

  flush(): void {
    // A whole answer comes in one frame; there is nothing to gather.
  }

  tick(): void {
    // A non-streaming client gets no keep-alives.
  }
}

/** What every piece of one call's answer repeats. */
interface CompletionHead {
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

const DONE_EVENT = 'data: [DONE]\n\n'
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'

const usageBody = ({ promptTokens, completionTokens }: Usage) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
})

/** The body of a non-streaming answer. */
export function renderCompletion(
  head: CompletionHead,
  message: CompletionMessage,
  finishReason: FinishReason,
  usage: Usage | null,
): string {
  return JSON.stringify({
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
    ...(usage && { usage: usageBody(usage) }),
  })
}

/** The field of a chunk's `delta` that has the content. */
const FIELDS: Record<Delta[0], string> = { text: 'content', refusal: 'refusal', 'tool-calls': 'tool_calls' }

/** Renders the events of one stream. The first delta carries the role. */
export class ChunkRenderer {
  private readonly prefix: string
  private roleSent = false

  constructor({ id, created, model }: CompletionHead) {
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
    this.prefix = `data: ${head.slice(0, -1)},"choices":[{"index":0,"delta":{`
  }

  delta([kind, content]: Delta): string {
    const fields = `"${FIELDS[kind]}":${JSON.stringify(content)}`
    return `${this.prefix}${this.role(fields)}},"finish_reason":null}]}\n\n`
  }

  /** The last chunk of a whole answer, with usage where it is known, and the end marker. */
  finish(reason: FinishReason, usage: Usage | null): string {
    const tail = usage ? `,"usage":${JSON.stringify(usageBody(usage))}` : ''
    return `${this.prefix}${this.role('')}},"finish_reason":"${reason}"}]${tail}}\n\n${DONE_EVENT}`
  }

  /** The last chunk of a broken answer. No end marker follows: a truncated answer never looks finished. */
  error(error: ErrorObject): string {
    return `${this.prefix}},"finish_reason":"error"}],"error":${JSON.stringify(error)}}\n\n`
  }

  private role(fields: string): string {
    if (this.roleSent) return fields
    this.roleSent = true
    return fields ? `"role":"assistant",${fields}` : '"role":"assistant"'
  }
}
