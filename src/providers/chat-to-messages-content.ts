import type { SamplingParameters } from '../core/calls/chat-request.ts'
import { type Address, type InlineData, isAddress } from '../core/calls/content-part.ts'
import { argumentsObject, type Conversation, SAYS_NOTHING, type TurnPart } from './conversation.ts'
import { functionTools } from './wire.ts'

/** Messages and tools in the form of the messages wire. */

const CACHED = { cache_control: { type: 'ephemeral' } }

/** The system messages as one text, or as blocks if one of them ends with a breakpoint of the prompt cache. */
export function toSystem(
  { system, systemBreakpoints }: Conversation,
  cachesPrompt: boolean,
): string | object[] | undefined {
  if (system.length === 0) return undefined
  const ends = cachesPrompt ? systemBreakpoints : []
  if (ends.length === 0) return system.join('\n\n')
  return [...new Set([...ends, system.length])].map((end, index) => ({
    type: 'text',
    text: system.slice(ends[index - 1] ?? 0, end).join('\n\n'),
    ...(ends.includes(end) && CACHED),
  }))
}

/** @param cachesPrompt whether breakpoints of the prompt cache are sent */
export function toMessages(turns: Conversation['turns'], cachesPrompt: boolean): unknown[] {
  const messages = turns.map(({ role, parts }) => {
    const content = parts.flatMap((part) =>
      toBlock(part).map((block) => (cachesPrompt && part.cacheBreakpoint ? { ...block, ...CACHED } : block)),
    )
    // The turn has only media that this wire does not support.
    if (content.length === 0) content.push({ type: 'text', text: SAYS_NOTHING })
    return { role, content }
  })
  const last = messages.at(-1)
  const end = last?.content.at(-1)
  if (last?.role === 'assistant' && end?.type === 'text') end.text = end.text.trimEnd()
  return messages
}

type Block =
  | { type: 'text'; text: string }
  | { type: 'image' | 'document'; source: object }
  | { type: 'thinking' | 'redacted_thinking' }
  | { type: 'tool_use'; id: string; name: string; input: object }
  | { type: 'tool_result'; tool_use_id: string; content?: string }

/** The wire has neither audio nor video; routing sends none to its models. */
function toBlock(part: TurnPart): Block[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'signed':
      return [part.value as Block]
    case 'image':
      return [{ type: 'image', source: toSource(part.source) }]
    case 'file':
      return [{ type: 'document', source: toSource(part.source) }]
    case 'audio':
    case 'video':
      return []
    case 'tool-use': {
      const { id, name, arguments: json } = part
      return [{ type: 'tool_use', id, name, input: argumentsObject(json) }]
    }
    case 'tool-result':
      return [{ type: 'tool_result', tool_use_id: part.id, ...(part.text !== '' && { content: part.text }) }]
    default:
      return part satisfies never
  }
}

const toSource = (source: InlineData | Address): object =>
  isAddress(source)
    ? { type: 'url', url: source.url }
    : { type: 'base64', media_type: source.mediaType, data: source.base64 }

/** The tools of a request. If the request has none but its history calls tools, the tools of the history by name. */
export function toTools({ tools }: SamplingParameters, turns: Conversation['turns']): unknown[] | undefined {
  const functions = functionTools(tools)
  if (functions.length === 0) {
    const uses = turns.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool-use'))
    if (uses.length === 0) return undefined
    return [...new Set(uses.map(({ name }) => name))].map((name) => ({
      name,
      input_schema: { type: 'object' },
    }))
  }
  return functions.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: { ...(parameters ?? { properties: {} }), type: 'object' },
  }))
}

/** Undefined if the model may decide, and may make parallel calls. */
export function toToolChoice({ tools, tool_choice: choice, parallel_tool_calls }: SamplingParameters) {
  if (choice === 'none' || tools === undefined) return choice === 'none' ? { type: 'none' } : undefined
  const oneAtATime = parallel_tool_calls === false && { disable_parallel_tool_use: true }
  if (choice === undefined) return oneAtATime ? { type: 'auto', ...oneAtATime } : undefined
  return choice === 'required'
    ? { type: 'any', ...oneAtATime }
    : { type: 'tool', name: choice.function.name, ...oneAtATime }
}
