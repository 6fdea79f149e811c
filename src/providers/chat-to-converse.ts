import type { FinishReason } from '../core/calls/completion.ts'
import { type Address, type InlineData, isAddress } from '../core/calls/content-part.ts'
import { makerOf } from '../core/catalog/catalog.ts'
import { failureOfErrorObject, failureOfStatus, MessagesReader, prefillSpace } from './chat-to-messages.ts'
import { toToolChoice, toTools } from './chat-to-messages-content.ts'
import {
  argumentsObject,
  type Conversation,
  portableId,
  SAYS_NOTHING,
  type TurnPart,
  toConversation,
  withToolIds,
} from './conversation.ts'
import { anthropicThinking } from './reasoning-effort.ts'
import { structuredOutput } from './structured-output.ts'
import {
  acceptedParameters,
  type ChatAttempt,
  type CompletionReader,
  completionUrl,
  type Emit,
  type Fields,
  isObject,
  jsonInstruction,
  parseObject,
  quirksOfModel,
  requestHeaders,
  type StreamSignal,
  samplingFor,
  type WholeReading,
  type WireMapping,
} from './wire.ts'

/** The wire of Bedrock's Converse API, which all its models have. */
export const bedrockConverse: WireMapping = {
  request: (request, apiKey) => ({
    url: completionUrl(request.offer, '/model/{model}/converse-stream'),
    headers: requestHeaders(request.offer.provider, apiKey, 'authorization'),
    body: requestBody(request),
  }),
  openReader: (request) =>
    new ConverseReader(new MessagesReader({ ...request, knownSpace: prefillSpace(request) })),
  failureOfStatus,
  failureOfErrorObject,
}

/** Of all models on this wire. */
const TEMPERATURE_MAX = 1
const CACHE_POINT = { cachePoint: { type: 'default' } }

/** The body of a request on the Converse wire. The model and that it is streamed are in the URL. */
export function requestBody(request: ChatAttempt): string {
  const { offer, messages, completionLimit } = request
  const parameters = acceptedParameters(request)
  const conversation = toConversation(withToolIds(messages, portableId), makerOf(offer))
  const { turns, system } = conversation
  const format = request.extended ? structuredOutput(parameters.response_format, offer.upstreamModel) : null
  const instruction = format === null ? jsonInstruction(request.parameters.response_format) : null
  if (instruction !== null) system.push(instruction)
  const cachesPrompt = request.cachesPrompt === true
  const { temperature, topP } = samplingFor(request, {
    ...quirksOfModel(offer.upstreamModel),
    temperatureMax: TEMPERATURE_MAX,
  })
  const toolConfig = toToolConfig(parameters, turns)
  const additional = thinkingFields(request, turns, toolConfig)
  const stopSequences = parameters.stop?.filter((text) => text.trim() !== '')
  const isThinking = additional?.thinking !== undefined
  return JSON.stringify({
    ...offer.provider.quirks?.fixedFields,
    system: toSystem(conversation, cachesPrompt),
    messages: toMessages(turns, cachesPrompt),
    inferenceConfig: {
      maxTokens: completionLimit,
      ...(!isThinking && { temperature, topP }),
      stopSequences: stopSequences?.length ? stopSequences : undefined,
    },
    toolConfig,
    outputConfig: format ? { textFormat: toTextFormat(format.schema) } : undefined,
    additionalModelRequestFields: additional,
  })
}

/** The wire takes a schema as text, with a name. */
const toTextFormat = (schema: Fields) => ({
  type: 'json_schema',
  structure: { jsonSchema: { name: 'answer', schema: JSON.stringify(schema) } },
})

function toSystem({ system, systemBreakpoints }: Conversation, cachesPrompt: boolean): object[] | undefined {
  if (system.length === 0) return undefined
  return system.flatMap((text, index) => [
    { text },
    ...(cachesPrompt && systemBreakpoints.includes(index + 1) ? [CACHE_POINT] : []),
  ])
}

function toMessages(turns: Conversation['turns'], cachesPrompt: boolean): object[] {
  return turns.map(({ role, parts }, turn) => {
    let documents = 0
    const content: Fields[] = parts.flatMap((part) => {
      if (part.type === 'file') documents++
      const blocks = toBlock(part, `document ${turn + 1}-${documents}`)
      return cachesPrompt && part.cacheBreakpoint ? [...blocks, CACHE_POINT] : blocks
    })
    // A document needs a text beside it, and no turn is empty.
    if (content.every((block) => block.document !== undefined)) content.push({ text: SAYS_NOTHING })
    const last = content.at(-1)
    const ends = role === 'assistant' && turn === turns.length - 1 && typeof last?.text === 'string'
    if (ends) last.text = String(last.text).trimEnd()
    return { role, content }
  })
}

/** The wire has no audio; routing sends none to its models. */
function toBlock(part: TurnPart, documentName: string): Fields[] {
  switch (part.type) {
    case 'text':
      return [{ text: part.text }]
    case 'signed':
      return signedBlock(part.value)
    case 'image':
    case 'video':
      return [mediaBlock(part.type, part.source)]
    case 'file':
      return [mediaBlock('document', part.source, { name: documentName })]
    case 'audio':
      return []
    case 'tool-use': {
      const { id, name, arguments: json } = part
      return [{ toolUse: { toolUseId: id, name, input: argumentsObject(json) } }]
    }
    case 'tool-result':
      return [{ toolResult: { toolUseId: part.id, content: [{ text: part.text || SAYS_NOTHING }] } }]
    default:
      return part satisfies never
  }
}

/** Bedrock reads no address, so that the model only gets to know it. */
const mediaBlock = (kind: string, source: InlineData | Address, more: object = {}): Fields =>
  isAddress(source)
    ? { text: source.url }
    : {
        [kind]: {
          ...{ ...more, format: source.mediaType.split('/').at(-1) },
          source: { bytes: source.base64 },
        },
      }

/** Signed thinking is kept in the form of the messages wire, as its maker takes it back at any host. */
function signedBlock(value: unknown): Fields[] {
  if (!isObject(value)) return []
  const { type, thinking, signature, data } = value
  if (type === 'redacted_thinking') return [{ reasoningContent: { redactedContent: data } }]
  return type === 'thinking' ? [{ reasoningContent: { reasoningText: { text: thinking, signature } } }] : []
}

/** The wire cannot forbid tools: without their choice, they are left out where the history has none. */
function toToolConfig(
  parameters: ChatAttempt['parameters'],
  turns: Conversation['turns'],
): Fields | undefined {
  const choice = toToolChoice(parameters)
  const isForbidden = choice?.type === 'none'
  const tools = toTools(isForbidden ? {} : parameters, turns) as
    | Array<{ name: string; description?: string; input_schema: object }>
    | undefined
  if (!tools) return undefined
  return {
    tools: tools.map(({ name, description, input_schema: json }) => ({
      toolSpec: { name, description: description || undefined, inputSchema: { json } },
    })),
    toolChoice:
      choice?.type === 'any'
        ? { any: {} }
        : choice && 'name' in choice
          ? { tool: { name: choice.name } }
          : undefined,
  }
}

/** Fields of the model's own wire, by whose model it is. */
function thinkingFields(
  { offer, parameters, completionLimit }: ChatAttempt,
  turns: Conversation['turns'],
  toolConfig: Fields | undefined,
): Fields | undefined {
  const { upstreamModel: model } = offer
  const { reasoning_effort: effort } = parameters
  if (effort === undefined || effort === 'none') return undefined
  if (model.includes('openai.')) return { reasoning_effort: effort }
  if (!model.includes('claude')) return undefined
  const fields = anthropicThinking(effort, {
    ...{ model, completionLimit, turns },
    isForced: toolConfig?.toolChoice !== undefined,
  })
  return Object.keys(fields).length > 0 ? { ...fields } : undefined
}

/** Reads one completion on the Converse wire: its events have the meaning of those of the messages wire. */
export class ConverseReader implements CompletionReader {
  readonly #inner: MessagesReader

  constructor(inner: MessagesReader = new MessagesReader()) {
    this.#inner = inner
  }

  event(data: string, emit: Emit): StreamSignal {
    const event = parseObject(data)
    if (event === null) return 'malformed'
    const { contentBlockStart: start, contentBlockDelta: delta, contentBlockStop: stop } = event
    if (isObject(start)) return this.#start(start, emit)
    if (isObject(delta)) return this.#delta(delta, emit)
    if (isObject(stop))
      return this.#inner.read({ type: 'content_block_stop', index: stop.contentBlockIndex }, emit)
    if (isObject(event.messageStop)) {
      const { stopReason: stop_reason } = event.messageStop
      return this.#inner.read({ type: 'message_delta', delta: { stop_reason } }, emit)
    }
    if (isObject(event.metadata)) {
      // The last event of every stream.
      this.#inner.read({ type: 'message_delta', usage: toUsage(event.metadata.usage) }, emit)
      return 'done'
    }
    if (isObject(event.messageStart)) return 'other'
    return event.type === 'error' ? this.#inner.read(event, emit) : 'other'
  }

  whole(body: string, emit: Emit): WholeReading {
    const reply = parseObject(body)
    const output = isObject(reply?.output) ? reply.output : {}
    const message = isObject(output.message) ? output.message : {}
    if (typeof reply?.message === 'string') return { error: reply }
    if (!Array.isArray(message.content)) return 'malformed'
    const content = message.content.flatMap(toMessagesBlock)
    const whole = { content, stop_reason: reply?.stopReason, usage: toUsage(reply?.usage) }
    return this.#inner.whole(JSON.stringify(whole), emit)
  }

  end(reason: FinishReason): FinishReason {
    return this.#inner.end(reason)
  }

  #start({ start, contentBlockIndex: index }: Fields, emit: Emit): StreamSignal {
    const block = toMessagesBlock(start)[0]
    if (!block) return 'other'
    return this.#inner.read({ type: 'content_block_start', index, content_block: block }, emit)
  }

  #delta({ delta, contentBlockIndex: index }: Fields, emit: Emit): StreamSignal {
    if (!isObject(delta)) return 'malformed'
    const { text, toolUse, reasoningContent: thought } = delta
    if (isObject(thought) && thought.redactedContent !== undefined)
      return this.#start({ start: delta, contentBlockIndex: index }, emit)
    const read = (piece: Fields) =>
      this.#inner.read({ type: 'content_block_delta', index, delta: piece }, emit)
    if (isObject(toolUse)) return read({ type: 'input_json_delta', partial_json: toolUse.input })
    if (isObject(thought))
      return read({ type: 'thinking_delta', thinking: thought.text, signature: thought.signature })
    return read({ type: 'text_delta', text })
  }
}

/** A block of content in the form of the messages wire; empty if it has none. */
function toMessagesBlock(block: unknown): Fields[] {
  if (!isObject(block)) return []
  const { text, toolUse, reasoningContent: thought } = block
  if (isObject(toolUse)) {
    const { toolUseId: id, name, input } = toolUse
    return [{ type: 'tool_use', id, name, input }]
  }
  if (!isObject(thought)) return typeof text === 'string' ? [{ type: 'text', text }] : []
  const { reasoningText: said, redactedContent: data } = thought
  if (!isObject(said)) return [{ type: 'redacted_thinking', data }]
  return [{ type: 'thinking', thinking: said.text, signature: said.signature }]
}

function toUsage(usage: unknown): Fields | undefined {
  if (!isObject(usage)) return undefined
  const { cacheDetails: details } = usage
  const hour = Array.isArray(details)
    ? details.find((each) => isObject(each) && each.ttl === '1h')
    : undefined
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
    cache_creation_input_tokens: usage.cacheWriteInputTokens,
    ...(isObject(hour) && { cache_creation: { ephemeral_1h_input_tokens: hour.inputTokens } }),
  }
}
