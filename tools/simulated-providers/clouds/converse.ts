import type { PlanInput } from '../response-plan.ts'
import { isObject, listOf, type SimulatedRequest } from '../simulated-request.ts'
import type { Addressed, SimulatedWire, StreamEvents } from '../simulated-wire.ts'
import { ANTHROPIC_MESSAGES } from '../wires/anthropic-messages.ts'
import { BEDROCK_MESSAGES } from './cloud-messages.ts'
import { framedEvent, framedException } from './event-stream.ts'

type Fields = Record<string, unknown>

const KNOWN_FIELDS = new Set(
  'messages system inferenceConfig toolConfig outputConfig additionalModelRequestFields'.split(' '),
)

/** Bedrock's Converse wire: what it takes and says is what the messages wire does, in other words. */
export const CONVERSE: SimulatedWire = {
  ...BEDROCK_MESSAGES,
  readRequest,
  events,
  whole: (input) => {
    const { content, stop_reason, usage } = JSON.parse(ANTHROPIC_MESSAGES.whole(input)) as Fields
    const message = {
      role: 'assistant',
      content: listOf(content).map((block) => toConverse(block as Fields)),
    }
    return JSON.stringify({ output: { message }, stopReason: reasonOf(stop_reason), usage: usageOf(usage) })
  },
}

function readRequest(body: unknown, addressed: Addressed): SimulatedRequest | null {
  if (!isObject(body) || !Object.keys(body).every((field) => KNOWN_FIELDS.has(field))) return null
  const { messages, system, inferenceConfig: inference = {}, toolConfig, outputConfig } = body
  const additional = isObject(body.additionalModelRequestFields) ? body.additionalModelRequestFields : {}
  if (!isObject(inference)) return null
  const { tools, toolChoice: choice } = isObject(toolConfig) ? toolConfig : {}
  const format = isObject(outputConfig) ? formatOf(outputConfig) : undefined
  const converted = {
    model: addressed.model,
    stream: addressed.streams,
    messages: listOf(messages).map((turn) => {
      const { role, content } = turn as Fields
      return { role, content: listOf(content).flatMap((block) => toMessages(block as Fields)) }
    }),
    ...(system !== undefined && { system: listOf(system).flatMap((block) => toMessages(block as Fields)) }),
    max_tokens: inference.maxTokens,
    ...defined({ temperature: inference.temperature, top_p: inference.topP }),
    ...defined({ stop_sequences: inference.stopSequences }),
    ...(tools !== undefined && {
      tools: listOf(tools).map((tool) => {
        const { name, description, inputSchema } = (tool as { toolSpec: Fields }).toolSpec
        return { name, description, input_schema: (inputSchema as Fields).json }
      }),
    }),
    ...(isObject(choice) && {
      tool_choice: isObject(choice.tool)
        ? { type: 'tool', name: choice.tool.name }
        : { type: choice.any ? 'any' : 'auto' },
    }),
    ...additional,
    ...(format !== undefined && { output_config: { ...(additional.output_config as Fields), format } }),
  }
  return ANTHROPIC_MESSAGES.readRequest(converted, addressed, { 'anthropic-version': '2023-06-01' })
}

/** A schema is a text with a name. */
function formatOf({ textFormat }: Fields): Fields {
  const { type, structure } = textFormat as Fields
  const { name, schema } = (structure as Fields).jsonSchema as Fields
  return { type, schema: typeof name === 'string' ? JSON.parse(String(schema)) : null }
}

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** A block of the request in the words of the messages wire; one of an unknown kind as it is, which that refuses. */
function toMessages(block: Fields): Fields[] {
  const { text, image, document, toolUse, toolResult, reasoningContent: thought } = block
  if (block.cachePoint !== undefined) return []
  if (typeof text === 'string') return [{ type: 'text', text }]
  if (image !== undefined || document !== undefined) return [{ type: image ? 'image' : 'document' }]
  if (isObject(toolUse))
    return [{ type: 'tool_use', id: toolUse.toolUseId, name: toolUse.name, input: toolUse.input }]
  if (isObject(toolResult)) {
    const content = listOf(toolResult.content).flatMap((part) => toMessages(part as Fields))
    return [{ type: 'tool_result', tool_use_id: toolResult.toolUseId, content }]
  }
  if (!isObject(thought)) return [block]
  const { text: thinking, signature } = thought.reasoningText as Fields
  return [{ type: 'thinking', thinking, signature }]
}

function toConverse({ type, text, id, name, input, thinking, signature }: Fields): Fields {
  if (type === 'text') return { text }
  if (type === 'tool_use') return { toolUse: { toolUseId: id, name, input } }
  return { reasoningContent: { reasoningText: { text: thinking, signature } } }
}

const reasonOf = (word: unknown): unknown => (word === 'refusal' ? 'content_filtered' : word)

function usageOf(usage: unknown): Fields | undefined {
  if (!isObject(usage)) return undefined
  return {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadInputTokens: usage.cache_read_input_tokens,
    cacheWriteInputTokens: usage.cache_creation_input_tokens,
  }
}

function events(input: PlanInput): StreamEvents {
  let prompt: Fields = {}
  let usage: Fields | undefined
  const convert = (text: string): string =>
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => converseEvent(JSON.parse(data))).join('')
  const converseEvent = (event: Fields): string => {
    const { type, index: contentBlockIndex } = event
    switch (type) {
      case 'message_start':
        prompt = (event.message as { usage?: Fields }).usage ?? {}
        return framedEvent('messageStart', { role: 'assistant', p: 'abc' })
      case 'content_block_start': {
        const { type: kind, id, name } = event.content_block as Fields
        const start = { toolUse: { toolUseId: id, name } }
        return kind === 'tool_use' ? framedEvent('contentBlockStart', { contentBlockIndex, start }) : ''
      }
      case 'content_block_delta':
        return framedEvent('contentBlockDelta', { contentBlockIndex, delta: deltaOf(event.delta as Fields) })
      case 'content_block_stop':
        return framedEvent('contentBlockStop', { contentBlockIndex })
      case 'message_delta': {
        usage = event.usage as Fields | undefined
        return framedEvent('messageStop', { stopReason: reasonOf((event.delta as Fields).stop_reason) })
      }
      default:
        return ''
    }
  }
  const { role, tokens, finish } = ANTHROPIC_MESSAGES.events(input)
  const failed = framedException('modelStreamErrorException', 'The model has ended the stream.')
  const written = { role: convert(role), tokens: tokens.map(convert), finish: convert(finish) }
  return {
    ...written,
    comment: '',
    usage: framedEvent('metadata', { metrics: { latencyMs: 1 }, usage: usageOf({ ...prompt, ...usage }) }),
    done: '',
    malformed: framedEvent('contentBlockDelta', { contentBlockIndex: 0 }),
    error: failed,
    toolError: failed,
  }
}

function deltaOf({ type, text, partial_json: input, thinking, signature }: Fields): Fields {
  if (type === 'text_delta') return { text }
  if (type === 'input_json_delta') return { toolUse: { input } }
  return { reasoningContent: type === 'thinking_delta' ? { text: thinking } : { signature } }
}
