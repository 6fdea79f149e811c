import type { ChatMessage, SamplingParameters } from '../../core/calls/chat-request.ts'
import { type Address, type ContentPart, type InlineData, isAddress } from '../../core/calls/content-part.ts'
import type { ProviderQuirks } from '../../core/catalog/catalog.ts'
import { stringifyExactly } from '../../core/json/json-text.ts'
import type { AttemptRequest } from '../provider.ts'
import { jsonInstruction, samplingFor } from '../request-parts.ts'
import { toConversation } from '../turns.ts'

const NO_QUIRKS: ProviderQuirks = {}

/**
 * The body of a request on the chat-completions wire. The answer is always streamed, for callers that do
 * not stream as well: silence is noticed early then, and a provider stops when the connection breaks.
 * Nothing but these fields is forwarded.
 */
export function requestBody(request: AttemptRequest): string {
  const { offer, messages, parameters, exactJson, completionLimit } = request
  const { limitParameter, quirks = NO_QUIRKS } = offer.provider
  const { temperature, topP } = samplingFor(request)
  const isTold = losesSchema(parameters, quirks)
  const body: Record<string, unknown> = {
    ...quirks.fixedFields,
    model: offer.upstreamModel,
    messages: messagesFor(messages, parameters, quirks),
    stream: true,
    stream_options: { include_usage: true },
    [limitParameter]: completionLimit,
    temperature,
    top_p: topP,
    tools: parameters.tools,
    response_format: isTold ? { type: 'json_object' } : parameters.response_format,
  }
  for (const field of quirks.omit ?? []) delete body[field]
  return stringifyExactly(body, isTold ? { ...exactJson, response_format: undefined } : exactJson)
}

const losesSchema = ({ response_format: format }: SamplingParameters, { jsonObjectOnly }: ProviderQuirks) =>
  jsonObjectOnly === true && format?.type === 'json_schema'

function messagesFor(
  messages: readonly ChatMessage[],
  parameters: SamplingParameters,
  quirks: ProviderQuirks,
): readonly unknown[] {
  const { namedRoles, prefillField } = quirks
  let sent: readonly ChatMessage[] = messages.some(holdsToolUse) ? asTurns(messages) : messages
  if (namedRoles) {
    sent = sent.map(({ name, ...message }) =>
      name !== undefined && namedRoles.includes(message.role) ? { ...message, name } : message,
    )
  }
  if (losesSchema(parameters, quirks)) {
    sent = [{ role: 'system', content: jsonInstruction(parameters.response_format)! }, ...sent]
  }
  const last = sent.at(-1)
  const wired = sent.map(toWire)
  if (prefillField && last?.role === 'assistant') wired.push({ ...wired.pop(), [prefillField]: true })
  return wired
}

/** A tool's result, or an assistant's turn of which nothing is left without its tool calls. */
const holdsToolUse = ({ role, content }: ChatMessage): boolean =>
  role === 'tool' || (role === 'assistant' && typeof content === 'string' && content.trim() === '')

/**
 * A history with tools as user and assistant taking turns, after one system message. The wire demands that results
 * follow the calls that they answer, which are not kept; many of its servers also refuse empty turns, two turns of
 * one side in a row, and system messages later on.
 */
function asTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const { system, turns } = toConversation(messages)
  return [
    ...(system.length > 0 ? [{ role: 'system' as const, content: system.join('\n\n') }] : []),
    ...turns.map(({ role, parts }) => ({ role, content: asText(parts) ?? parts })),
  ]
}

/** Parts that are all text as one, since a plain text is taken everywhere; null where some are not. */
function asText(parts: readonly ContentPart[]): string | null {
  const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []))
  return texts.length === parts.length ? texts.join('\n\n') : null
}

const toWire = (message: ChatMessage): object =>
  typeof message.content === 'string' ? message : { ...message, content: message.content.map(toWirePart) }

function toWirePart(part: ContentPart): object {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image': {
      const { source, detail } = part
      return { type: 'image_url', image_url: { url: urlOf(source), ...(detail && { detail }) } }
    }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.source.base64, format: part.format } }
    case 'video':
      return { type: 'video_url', video_url: { url: urlOf(part.source) } }
    case 'file': {
      const { source, filename } = part
      return { type: 'file', file: { ...(filename !== undefined && { filename }), file_data: urlOf(source) } }
    }
    default:
      return part satisfies never
  }
}

const urlOf = (source: InlineData | Address): string =>
  isAddress(source) ? source.url : `data:${source.mediaType};base64,${source.base64}`

/** The address of the wire's one call at a provider. */
export const requestUrl = ({ offer: { provider } }: AttemptRequest): string =>
  provider.baseUrl + (provider.quirks?.path ?? '/chat/completions')
