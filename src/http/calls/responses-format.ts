import type { ChatRequest } from '../../core/calls/chat-request.ts'
import type { Delta, FinishReason } from '../../core/calls/completion.ts'
import type { FinishFrame, ReportedUsage } from '../../core/calls/frames.ts'
import type { ApiError } from '../../core/kernel/errors.ts'
import type { CompletionHead, ResponseFormat, StreamRenderer } from './completion-writer.ts'
import { costBody } from './extended-format.ts'
import { type OutputEvent, ResponseOutput } from './responses-output.ts'

/** The fields of the request that a response repeats. They exclude its texts, which are not kept while it is written. */
type Asked = ReturnType<typeof askedOf>

function askedOf({ content: { parameters }, completionLimit }: ChatRequest) {
  const { temperature, top_p, tool_choice, parallel_tool_calls, reasoning_effort, response_format } =
    parameters
  return {
    max_output_tokens: completionLimit ?? null,
    parallel_tool_calls: parallel_tool_calls ?? true,
    reasoning: { effort: reasoning_effort ?? null, summary: null },
    temperature: temperature ?? null,
    text: { format: { type: response_format?.type ?? 'text' } },
    tool_choice:
      typeof tool_choice === 'object'
        ? { type: 'function', name: tool_choice.function.name }
        : (tool_choice ?? 'auto'),
    top_p: top_p ?? null,
  }
}

/** The status of a response by the finish reason of its completion. */
function endOf(reason: FinishReason) {
  if (reason === 'length') return { status: 'incomplete', why: 'max_output_tokens' } as const
  if (reason === 'content_filter') return { status: 'incomplete', why: 'content_filter' } as const
  return { status: 'completed', why: null } as const
}

const usageBody = (usage: ReportedUsage) => ({
  input_tokens: usage.promptTokens,
  input_tokens_details: {
    cached_tokens: usage.cachedTokens ?? 0,
    ...(usage.cacheWriteTokens !== undefined && { cache_write_tokens: usage.cacheWriteTokens }),
  },
  output_tokens: usage.completionTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  total_tokens: usage.promptTokens + usage.completionTokens,
  ...costBody(usage),
})

/** The response object. Instructions and tools are not repeated. */
const responseOf = ({ id, created, model }: CompletionHead, asked: Asked, fields: object) => ({
  id,
  object: 'response',
  created_at: created,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: null,
  model,
  output: [],
  previous_response_id: null,
  store: false,
  tools: [],
  truncation: 'disabled',
  usage: null,
  ...asked,
  ...fields,
})

const endedResponse = (
  head: CompletionHead,
  asked: Asked,
  output: ResponseOutput,
  reason: FinishReason,
  usage: ReportedUsage | null,
) => {
  const { status, why } = endOf(reason)
  return responseOf(head, asked, {
    status,
    incomplete_details: why && { reason: why },
    output: output.items(status),
    usage: usage && usageBody(usage),
  })
}

/** Renders the typed events of one response. The first two events are sent with the first content. */
class EventRenderer implements StreamRenderer {
  readonly keepAlive = ': keep-alive\n\n'
  private readonly head: CompletionHead
  private readonly asked: Asked
  private readonly output: ResponseOutput
  private sequence = 0

  constructor(head: CompletionHead, asked: Asked) {
    this.head = head
    this.asked = asked
    this.output = new ResponseOutput(head.id)
  }

  delta(delta: Delta): string {
    return this.begun() + this.events(this.output.add(delta))
  }

  finish([, reason, usage]: FinishFrame): string {
    const { status } = endOf(reason)
    const begun = this.begun()
    const done = this.events(this.output.close(status))
    const response = endedResponse(this.head, this.asked, this.output, reason, usage)
    return begun + done + this.event(`response.${status}`, { response })
  }

  /** An interrupted response has the status failed, and none of its items is marked as completed. */
  error({ code, message, type }: ApiError): string {
    const response = responseOf(this.head, this.asked, {
      status: 'failed',
      error: { code, message, type },
      output: this.output.items('incomplete'),
    })
    return this.begun() + this.event('response.failed', { response })
  }

  private begun(): string {
    if (this.sequence > 0) return ''
    const response = responseOf(this.head, this.asked, { status: 'in_progress' })
    return this.event('response.created', { response }) + this.event('response.in_progress', { response })
  }

  private events(events: readonly OutputEvent[]): string {
    return events.map(([type, fields]) => this.event(type, fields)).join('')
  }

  private event(type: string, fields: object): string {
    const data = JSON.stringify({ type, sequence_number: this.sequence++, ...fields })
    return `event: ${type}\ndata: ${data}\n\n`
  }
}

/** The format of POST /v1/responses. */
export function responsesFormat(chat: ChatRequest): ResponseFormat {
  const asked = askedOf(chat)
  return {
    stream: (head) => new EventRenderer(head, asked),
    whole: (head, [, , message, reason, usage]) => {
      const output = new ResponseOutput(head.id)
      const { reasoning, content, refusal, tool_calls: calls } = message
      if (reasoning) output.add(['reasoning', reasoning])
      if (content) output.add(['text', content])
      if (refusal) output.add(['refusal', refusal])
      if (calls) output.add(['tool-calls', calls.map((call, index) => ({ index, ...call }))])
      return JSON.stringify(endedResponse(head, asked, output, reason, usage))
    },
  }
}
