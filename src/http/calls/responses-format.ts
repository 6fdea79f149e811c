import type { ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { ChatRequest } from '../../core/calls/chat-request.ts'
import type { CompletionMessage, Delta, FinishReason } from '../../core/calls/completion.ts'
import type { FinishFrame, ReportedUsage, WholeFrame } from '../../core/calls/frames.ts'
import type { ResponseObject } from '../../core/calls/responses-items.ts'
import type { ApiError } from '../../core/kernel/errors.ts'
import { responseIdOf } from '../../core/kernel/ids.ts'
import { type CompletionHead, headOf, type ResponseFormat, type StreamRenderer } from './completion-writer.ts'
import { costBody } from './extended-format.ts'
import { wholeItem } from './hosted-item.ts'
import { type ItemStatus, type OutputEvent, type OutputOptions, ResponseOutput } from './responses-output.ts'

/** The fields of a request's body that its response repeats. */
export interface EchoedFields {
  background: boolean
  metadata: Record<string, string> | null
  previous_response_id: string | null
}

/** The fields of the request that a response repeats. They exclude its texts, which are not kept while it is written. */
type RequestFields = ReturnType<typeof requestFields> & EchoedFields

function requestFields(
  { content: { parameters }, completionLimit }: ChatRequest,
  declaredTools: OutputOptions['declaredTools'],
) {
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
        ? chosenTool(tool_choice.function.name, declaredTools)
        : (tool_choice ?? 'auto'),
    top_p: top_p ?? null,
    // Which this wire has no parameters for.
    presence_penalty: null,
    frequency_penalty: null,
  }
}

function chosenTool(name: string, declaredTools: OutputOptions['declaredTools']) {
  const { isCustom, ...tool } = declaredTools.get(name) ?? { name, isCustom: false }
  return { type: isCustom ? 'custom' : 'function', ...tool }
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

/**
 * The responses of one request, in each of their states. Instructions and tools are not repeated.
 */
export class ResponsesFormat implements ResponseFormat {
  /** Whether the response is stored, as far as is known. */
  isStored: boolean
  private readonly requestFields: RequestFields
  private readonly options: OutputOptions
  private renderer: EventRenderer | null = null

  constructor(call: ChatRequest, options: OutputOptions, echoed: EchoedFields, isStored: boolean) {
    this.requestFields = { ...requestFields(call, options.declaredTools), ...echoed }
    this.options = options
    this.isStored = isStored
  }

  stream(head: CompletionHead): StreamRenderer {
    this.renderer = new EventRenderer(head, this)
    return this.renderer
  }

  /** The response to store that ends in this frame, which was not rendered yet. */
  responseOf(envelope: ResponseEnvelope, frame: FinishFrame | WholeFrame): ResponseObject {
    if (frame[0] === 'finish') return this.renderer!.ended(frame, true)
    const [, candidate, message, reason, usage] = frame
    const head = headOf(envelope, candidate)
    return this.ended(head, this.outputOf(head, message), reason, usage, true)
  }

  whole(head: CompletionHead, [, , message, reason, usage]: WholeFrame): string {
    return JSON.stringify(this.ended(head, this.outputOf(head, message), reason, usage))
  }

  output(head: CompletionHead): ResponseOutput {
    return new ResponseOutput(head.id, this.options)
  }

  outputOf(head: CompletionHead, message: CompletionMessage): ResponseOutput {
    const output = this.output(head)
    const { reasoning, signed = [], logprobs, refusal, tool_calls: calls } = message
    const content = message.content ?? ''
    let written = 0
    const write = (to: number) => {
      if (to > written) output.add(['text', content.slice(written, to)])
      written = to
    }
    if (reasoning) output.add(['reasoning', reasoning])
    for (const each of signed) output.add(['signed', each])
    for (const [index, { item, at }] of (message.hosted ?? []).entries()) {
      write(at)
      for (const event of wholeItem(item, index)) output.add(event)
    }
    write(content.length)
    if (logprobs) output.add(['logprobs', logprobs])
    if (message.annotations) output.add(['annotations', message.annotations])
    if (refusal) output.add(['refusal', refusal])
    if (calls) output.add(['tool-calls', calls.map((call, index) => ({ index, ...call }))])
    return output
  }

  ended(
    head: CompletionHead,
    output: ResponseOutput,
    reason: FinishReason,
    usage: ReportedUsage | null,
    toStore = false,
  ): ResponseObject {
    const { status, why } = endOf(reason)
    return this.response(head, status, {
      incomplete_details: why && { reason: why },
      output: output.items(status, toStore),
      ...(usage?.tier && { service_tier: usage.tier }),
      usage: usage && usageBody(usage),
    })
  }

  /** An interrupted response has the status failed, and its last item is incomplete. */
  failed(
    head: CompletionHead,
    output: ResponseOutput,
    { code, message, type }: Pick<ApiError, 'code' | 'message' | 'type'>,
  ): ResponseObject {
    return this.response(head, 'failed', {
      error: { code, message, type },
      output: output.items('incomplete'),
    })
  }

  response({ id, created, model }: CompletionHead, status: string, fields: object = {}): ResponseObject {
    return {
      id: responseIdOf(id),
      object: 'response',
      created_at: created,
      // Not kept: a response that is written again is the same.
      completed_at: null,
      status,
      error: null,
      incomplete_details: null,
      instructions: null,
      model,
      output: [],
      store: this.isStored,
      tools: [],
      truncation: 'disabled',
      usage: null,
      ...this.requestFields,
      ...fields,
    }
  }
}

/** Renders the typed events of one response. The first two events are sent with the first content. */
class EventRenderer implements StreamRenderer {
  readonly keepAlive = ': keep-alive\n\n'
  private readonly head: CompletionHead
  private readonly format: ResponsesFormat
  private readonly output: ResponseOutput
  private sequence = 0

  constructor(head: CompletionHead, format: ResponsesFormat) {
    this.head = head
    this.format = format
    this.output = format.output(head)
  }

  delta(delta: Delta): string {
    return this.begun() + this.events(this.output.add(delta))
  }

  ended([, reason, usage]: FinishFrame, toStore = false): ResponseObject {
    return this.format.ended(this.head, this.output, reason, usage, toStore)
  }

  finish(frame: FinishFrame): string {
    const status: ItemStatus = endOf(frame[1]).status
    const begun = this.begun()
    const done = this.events(this.output.close(status))
    const response = this.ended(frame)
    return begun + done + this.event(`response.${status}`, { response })
  }

  error(error: ApiError): string {
    const response = this.format.failed(this.head, this.output, error)
    return this.begun() + this.event('response.failed', { response })
  }

  private begun(): string {
    if (this.sequence > 0) return ''
    const response = this.format.response(this.head, 'in_progress')
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
