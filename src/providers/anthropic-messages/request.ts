import type { SamplingParameters } from '../../core/calls/chat-request.ts'
import { type Address, type ContentPart, type InlineData, isAddress } from '../../core/calls/content-part.ts'
import type { AttemptRequest } from '../provider.ts'
import { functionTools, jsonInstruction, samplingFor } from '../request-parts.ts'
import { type Conversation, SAYS_NOTHING, toConversation } from '../turns.ts'

/** The newest version of the wire; its features since are asked for one by one, and none is. */
export const ANTHROPIC_VERSION = '2023-06-01'
const TEMPERATURE_MAX = 1

/**
 * The body of a request on the messages wire, always streamed. JSON is asked for in words: not every model
 * takes a field for it.
 */
export function requestBody(request: AttemptRequest): string {
  const { offer, messages, parameters, completionLimit } = request
  const { quirks = {} } = offer.provider
  const { system, turns } = toConversation(messages)
  const instruction = jsonInstruction(parameters.response_format)
  if (instruction !== null) system.push(instruction)
  const { temperature, topP } = samplingFor(request, { temperatureMax: TEMPERATURE_MAX })
  const body: Record<string, unknown> = {
    ...quirks.fixedFields,
    model: offer.upstreamModel,
    max_tokens: completionLimit,
    stream: true,
    system: system.length > 0 ? system.join('\n\n') : undefined,
    messages: toMessages(turns),
    temperature,
    top_p: topP,
    tools: toTools(parameters),
  }
  for (const field of quirks.omit ?? []) delete body[field]
  return JSON.stringify(body)
}

export const requestUrl = ({ offer: { provider } }: AttemptRequest): string =>
  provider.baseUrl + (provider.quirks?.path ?? '/messages')

/** The white space at the end of a prefill, which the wire refuses and is left out of the request. */
export function prefillSpace({ messages }: AttemptRequest): string {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || typeof last.content !== 'string') return ''
  return last.content.slice(last.content.trimEnd().length)
}

function toMessages(turns: Conversation['turns']): unknown[] {
  const messages = turns.map(({ role, parts }) => {
    const content = parts.flatMap(toBlock)
    // Of media alone that this wire does not know.
    if (content.length === 0) content.push({ type: 'text', text: SAYS_NOTHING })
    return { role, content }
  })
  const last = messages.at(-1)
  const end = last?.content.at(-1)
  if (last?.role === 'assistant' && end?.type === 'text') end.text = end.text.trimEnd()
  return messages
}

type Block = { type: 'text'; text: string } | { type: 'image' | 'document'; source: object }

/** The wire has no audio and no video; routing sends none to its models. */
function toBlock(part: ContentPart): Block[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'image':
      return [{ type: 'image', source: toSource(part.source) }]
    case 'file':
      return [{ type: 'document', source: toSource(part.source) }]
    case 'audio':
    case 'video':
      return []
    default:
      return part satisfies never
  }
}

const toSource = (source: InlineData | Address): object =>
  isAddress(source)
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mediaType, data: source.base64 }

function toTools({ tools }: SamplingParameters): unknown[] | undefined {
  const functions = functionTools(tools)
  if (functions.length === 0) return undefined
  return functions.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: { ...(parameters ?? { properties: {} }), type: 'object' },
  }))
}
