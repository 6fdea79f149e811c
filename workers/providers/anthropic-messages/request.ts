import type { SamplingParameters } from '../../../src/core/chat-request.ts'
import { jsonInstruction } from '../json-instruction.ts'
import type { AttemptRequest } from '../provider.ts'
import { samplingFor } from '../sampling.ts'
import { functionTools } from '../tool-definitions.ts'
import { type Conversation, SAYS_NOTHING, type TurnPart, toConversation } from '../turns.ts'

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

function toBlock(part: TurnPart): Block[] {
  switch (part.kind) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'address':
      return [{ type: 'image', source: { type: 'url', url: part.url } }]
    case 'data': {
      const source = { type: 'base64', media_type: part.mediaType, data: part.base64 }
      if (part.mediaType.startsWith('image/')) return [{ type: 'image', source }]
      return part.mediaType === 'application/pdf' ? [{ type: 'document', source }] : []
    }
    default:
      return part satisfies never
  }
}

function toTools({ tools }: SamplingParameters): unknown[] | undefined {
  const functions = functionTools(tools)
  if (functions.length === 0) return undefined
  return functions.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: { ...(parameters ?? { properties: {} }), type: 'object' },
  }))
}
