/**
 * The one place that builds the bytes of an answer. Nothing an upstream said reaches a client except
 * through here, and nothing here names the target.
 */

import type { Usage } from '../billing/pricing.ts'
import type { ErrorObject } from '../kernel/errors.ts'
import type { CallId } from '../kernel/ids.ts'
import type { CompletionMessage, Delta, FinishReason } from './completion.ts'

/** What every piece of one call's answer repeats. */
export interface CompletionHead {
  id: CallId
  /** Unix seconds. */
  created: number
  /** As the client asked for it. */
  model: string
}

export const DONE_EVENT = 'data: [DONE]\n\n'
export const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'

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
