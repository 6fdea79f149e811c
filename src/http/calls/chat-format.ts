import type { ChatDelta, CompletionMessage, FinishReason } from '../../core/calls/completion.ts'
import type { FinishFrame } from '../../core/calls/frames.ts'
import type { Usage } from '../../core/calls/usage.ts'
import { type ApiError, errorObject } from '../../core/kernel/errors.ts'
import type { CompletionHead, ResponseFormat, StreamRenderer } from './completion-writer.ts'

export const DONE_EVENT = 'data: [DONE]\n\n'
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'

export const usageBody = ({ promptTokens, completionTokens }: Usage) => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
})

/** The body of a non-streaming completion. */
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

/** The deltas in a chunk's `delta` field. */
type ContentDelta = Exclude<ChatDelta, readonly ['logprobs' | 'signed', ...unknown[]]>

/** The field of a chunk's `delta` for each kind of content. */
const FIELDS: Record<ContentDelta[0], string> = {
  text: 'content',
  refusal: 'refusal',
  'tool-calls': 'tool_calls',
  reasoning: 'reasoning',
  annotations: 'annotations',
}

/** Renders the events of one stream. The first delta has the role. */
export class ChunkRenderer implements StreamRenderer {
  readonly keepAlive = KEEP_ALIVE_COMMENT
  /** The start of every chunk. */
  protected readonly head: string
  private readonly prefix: string
  private roleSent = false

  constructor({ id, created, model }: CompletionHead) {
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
    this.head = `data: ${head.slice(0, -1)}`
    this.prefix = `${this.head},"choices":[{"index":0,"delta":{`
  }

  delta([kind, content]: ContentDelta): string {
    return this.content(FIELDS[kind], content)
  }

  /** A chunk whose delta has one field. */
  protected content(field: string, value: unknown): string {
    const fields = `"${field}":${JSON.stringify(value)}`
    return `${this.prefix}${this.role(fields)}},"finish_reason":null}]}\n\n`
  }

  /** The last chunk of a complete completion, with usage if it is known, and the end marker. */
  finish([, reason, usage]: FinishFrame): string {
    return this.lastChunk(reason, usage && usageBody(usage)) + DONE_EVENT
  }

  /** The last chunk of an interrupted completion. It has no end marker, so that the client notices the truncation. */
  error(error: ApiError, requestId: string): string {
    const body = JSON.stringify(errorObject(error, requestId))
    return `${this.prefix}},"finish_reason":"error"}],"error":${body}}\n\n`
  }

  protected lastChunk(reason: FinishReason, usage: object | null, tier?: string): string {
    const served = tier ? `,"service_tier":${JSON.stringify(tier)}` : ''
    const tail = served + (usage ? `,"usage":${JSON.stringify(usage)}` : '')
    return `${this.prefix}${this.role('')}},"finish_reason":"${reason}"}]${tail}}\n\n`
  }

  private role(fields: string): string {
    if (this.roleSent) return fields
    this.roleSent = true
    return fields ? `"role":"assistant",${fields}` : '"role":"assistant"'
  }
}

/** The format of chat completions. */
export const CHAT_FORMAT: ResponseFormat = {
  stream: (head) => new ChunkRenderer(head),
  whole: (head, [, , message, reason, usage]) => renderCompletion(head, message, reason, usage),
}
