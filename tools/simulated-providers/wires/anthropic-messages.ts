import type { IncomingHttpHeaders } from 'node:http'
import type { PlanInput } from '../response-plan.ts'
import {
  isObject,
  listOf,
  PLAIN_REQUEST,
  readMessages,
  readTools,
  type SimulatedRequest,
} from '../simulated-request.ts'
import {
  type ErrorTable,
  errorRow,
  lateCached,
  type Refusal,
  reportedTokens,
  type SimulatedWire,
  type StreamEvents,
} from '../simulated-wire.ts'

const KNOWN_FIELDS = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'tools',
  'tool_choice',
  'thinking',
  'stop_sequences',
  'top_k',
  'cache_control',
  'output_config',
  'output_format',
  'context_management',
])
const STOP_REASONS: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** The messages wire of Anthropic as a provider speaks it; it refuses what the real one refuses. */
export const ANTHROPIC_MESSAGES: SimulatedWire = {
  readRequest,
  hasKey: (headers) => headers['x-api-key'] !== undefined,
  ownHeaders: (provider, id) => ({
    'request-id': `req_upstream-${id}`,
    'anthropic-organization-id': `org-${provider}`,
    'anthropic-ratelimit-requests-remaining': '9999',
  }),
  retryAfterInHeader: true,
  events,
  whole,
  error,
  modelList: (models) => ({
    data: models.map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-05T00:00:00Z',
    })),
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  }),
}

function readRequest(body: unknown, _: unknown, headers: IncomingHttpHeaders): SimulatedRequest | null {
  if (headers['anthropic-version'] !== '2023-06-01' || !isObject(body)) return null
  const { model, messages, max_tokens: limit, temperature = 1, system, tools } = body
  const isKnown = Object.keys(body).every((field) => KNOWN_FIELDS.has(field))
  const isEnabled =
    body.context_management === undefined ||
    String(headers['anthropic-beta']).split(',').includes('context-management-2025-06-27')
  const isLimit = Number.isInteger(limit) && Number(limit) >= 1
  const isWarm = typeof temperature === 'number' && temperature >= 0 && temperature <= 1
  if (!isKnown || !isEnabled || !isLimit || !isWarm || typeof model !== 'string' || !areTurns(messages))
    return null
  if (!areToolsUsable(messages, tools) || !isThinking(body)) return null
  const format = isObject(body.output_config) ? body.output_config.format : undefined
  if (format != null && !isSchemaFormat(format)) return null
  const choice = isObject(body.tool_choice) ? body.tool_choice : {}
  const systemText = textOf(system)
  return {
    model,
    stream: body.stream === true,
    ...readMessages([
      ...(systemText ? [{ role: 'system', content: systemText }] : []),
      ...messages.flatMap(withoutResults),
    ]),
    completionLimit: limit as number,
    tools: readTools(listOf(tools), 'input_schema'),
    responseFormat: format == null ? askedJson(systemText) : { type: 'json', schema: format.schema },
    ...PLAIN_REQUEST,
    toolChoice:
      CHOICES[String(choice.type)] ?? (choice.type === 'tool' ? { name: String(choice.name) } : 'auto'),
    oneCall: choice.disable_parallel_tool_use === true,
    stop: listOf(body.stop_sequences) as string[],
  }
}

const CHOICES: Record<string, SimulatedRequest['toolChoice']> = { none: 'none', any: 'required' }

/** A budget is a part of the limit; thinking excludes forced tools and temperatures. */
function isThinking({ thinking, tool_choice: choice, max_tokens: limit, temperature }: Block): boolean {
  if (!isObject(thinking) || thinking.type === 'disabled') return true
  const isForced = isObject(choice) && (choice.type === 'any' || choice.type === 'tool')
  const isBudget = Number(thinking.budget_tokens) >= 1_024 && Number(thinking.budget_tokens) < Number(limit)
  return !isForced && temperature === undefined && (thinking.type === 'adaptive' || isBudget)
}

/** Results of tools as messages of their own, as on the chat-completions wire; uses as text. */
function withoutResults({ role, content }: Turn): Block[] {
  const blocks = blocksOf(content)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const others = blocks.filter(({ type }) => type !== 'tool_result')
  return [
    ...results.map((result) => ({ role: 'tool', content: textOf(result.content) })),
    ...(others.length > 0 || results.length === 0 ? [{ role, content: others.map(toText) }] : []),
  ]
}

/** Results come first in their turn, ids are unique and plain, inputs are objects, and there are tools to be used. */
function areToolsUsable(messages: readonly Turn[], tools: unknown): boolean {
  const ids: string[] = []
  for (const { content } of messages) {
    const blocks = blocksOf(content)
    const firstOther = blocks.findIndex(({ type }) => type !== 'tool_result')
    if (firstOther >= 0 && blocks.slice(firstOther).some(({ type }) => type === 'tool_result')) return false
    for (const { type, id, name, input } of blocks) {
      if (type !== 'tool_use') continue
      if (!/^[a-zA-Z0-9_-]+$/.test(String(id)) || typeof name !== 'string' || !isObject(input)) return false
      ids.push(String(id))
    }
  }
  return new Set(ids).size === ids.length && (ids.length === 0 || listOf(tools).length > 0)
}

const SCHEMA_KEYWORDS = new Set(
  [
    'type properties additionalProperties required items minItems anyOf allOf enum const',
    '$ref $defs definitions title description format',
  ].flatMap((names) => names.split(' ')),
)

function isSchemaFormat(format: unknown): format is { schema: unknown } {
  return isObject(format) && format.type === 'json_schema' && isClosedSchema(format.schema)
}

/** Objects are closed, and there are no keywords outside the subset of structured output. */
function isClosedSchema(schema: unknown): boolean {
  if (!isObject(schema) || !Object.keys(schema).every((name) => SCHEMA_KEYWORDS.has(name))) return false
  if (schema.type === 'object' && schema.additionalProperties !== false) return false
  const { properties = {}, $defs = {}, definitions = {}, items, anyOf, allOf } = schema
  const named = [properties, $defs, definitions].flatMap((group) => Object.values(group as Block))
  const parts = [...named, ...(items === undefined ? [] : [items]), ...listOf(anyOf), ...listOf(allOf)]
  return parts.every(isClosedSchema)
}

/** Reads a system prompt as an obedient model does: whether it asks for JSON, and by which schema. */
function askedJson(system: string): SimulatedRequest['responseFormat'] {
  if (!/\bJSON value\b/.test(system)) return null
  const schema = /JSON Schema: (\{.*\})/s.exec(system)?.[1]
  return { type: 'json', schema: schema === undefined ? undefined : JSON.parse(schema) }
}

type Block = Record<string, unknown>
type Turn = { role: string; content: string | Block[] }

const BLOCK_TYPES = {
  user: new Set(['text', 'image', 'document', 'tool_result']),
  assistant: new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']),
}

const blocksOf = (content: unknown): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (listOf(content) as Block[])

/**
 * Sides take turns, the user's first; each has content, and the last ends without white space where the model goes
 * on. Every use of a tool has its result in the turn after it, and every result its use in the turn before.
 */
function areTurns(messages: unknown): messages is Turn[] {
  if (!Array.isArray(messages) || messages.length === 0) return false
  let open: unknown[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const side = index % 2 === 0 ? 'user' : 'assistant'
    const blocks = blocksOf(content)
    if (role !== side || blocks.length === 0 || !blocks.every((block) => isBlock(block, side))) return false
    const answered: unknown[] = blocks.flatMap(({ tool_use_id: id }) => (id === undefined ? [] : [id]))
    if (open.length !== answered.length || !open.every((id) => answered.includes(id))) return false
    open = blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))
  }
  const last = messages.at(-1)
  const end = last.role === 'assistant' ? blocksOf(last.content).at(-1)?.text : ''
  return open.length === 0 && (typeof end !== 'string' || end === end.trimEnd())
}

const isBlock = ({ type, text, thinking, signature }: Block, side: keyof typeof BLOCK_TYPES): boolean =>
  BLOCK_TYPES[side].has(String(type)) &&
  (type !== 'text' || (typeof text === 'string' && text.trim() !== '')) &&
  (type !== 'thinking' || (typeof thinking === 'string' && signature === SIGNATURE))

const textOf = (content: unknown): string =>
  blocksOf(content)
    .map((block) => toText(block).text ?? '')
    .join('')

/** What tools were given as text; other blocks as they are. */
function toText(block: Block): Block {
  return block.type === 'tool_use' ? { type: 'text', text: JSON.stringify(block.input) } : block
}

/** Of the thinking of this provider, which it wants back as it was. */
const SIGNATURE = 'c2ltdWxhdGVkIHRoaW5raW5n'

function events(input: PlanInput): StreamEvents {
  const { completion, behaviour, provider, model, id } = input
  const newline = behaviour.crlf ? '\r\n' : '\n'
  const event = (data: { type: string; [field: string]: unknown }) =>
    `event: ${data.type}${newline}data: ${JSON.stringify(data)}${newline}${newline}`
  const [promptTokens, completionTokens] = reportedTokens(input)
  const hasUsage = behaviour.usage !== 'missing'
  let index = -1
  /** A block's pieces, a token each; the first of them opens the block. */
  const block = (start: Record<string, unknown>, deltas: Record<string, unknown>[]): string[] => {
    if (deltas.length === 0) return []
    const close = index >= 0 ? event({ type: 'content_block_stop', index }) : ''
    index++
    const number = index
    const open = close + event({ type: 'content_block_start', index: number, content_block: start })
    return deltas.map(
      (delta, at) => (at === 0 ? open : '') + event({ type: 'content_block_delta', index: number, delta }),
    )
  }
  const reasoning = block(
    { type: 'thinking', thinking: '', signature: '' },
    completion.reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
  )
  if (reasoning.length > 0) {
    const delta = { type: 'signature_delta', signature: SIGNATURE }
    reasoning.push(`${reasoning.pop()}${event({ type: 'content_block_delta', index, delta })}`)
  }
  const tokens = [
    ...reasoning,
    ...block(
      { type: 'text', text: '' },
      [...completion.text, ...completion.refusal].map((text) => ({ type: 'text_delta', text })),
    ),
    ...completion.toolCalls.flatMap((call) =>
      block(
        { type: 'tool_use', id: `toolu_${call.id}`, name: call.name, input: {} },
        ['', ...call.arguments].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      ),
    ),
  ]
  return {
    comment: event({ type: 'ping' }),
    role: event({
      type: 'message_start',
      message: {
        id: `msg_${id}`,
        type: 'message',
        role: 'assistant',
        model: `${provider}-${model}`,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        ...(hasUsage && { usage: promptUsage(promptTokens, 1, behaviour.cachesLate ? 0 : undefined) }),
      },
    }),
    tokens,
    finish:
      (index >= 0 ? event({ type: 'content_block_stop', index }) : '') +
      event({
        type: 'message_delta',
        delta: { stop_reason: stopReason(input), stop_sequence: null },
        ...(hasUsage && {
          usage: behaviour.cachesLate
            ? promptUsage(promptTokens, completionTokens, lateCached(input))
            : { output_tokens: completionTokens },
        }),
      }),
    usage: '',
    done: event({ type: 'message_stop' }),
    malformed: `event: content_block_delta${newline}data: {"type":"content_block_delta","delta":{"te${newline}${newline}`,
    error: `event: error${newline}data: ${error({ status: 529 }, provider, model)}${newline}${newline}`,
    // This wire checks no calls.
    toolError: `event: error${newline}data: ${error({ status: 500 }, provider, model)}${newline}${newline}`,
  }
}

/** A part of the prompt came from a cache, as it often does; it is paid for all the same. */
function promptUsage(promptTokens: number, outputTokens: number, cached = Math.trunc(promptTokens / 3)) {
  return {
    input_tokens: promptTokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: outputTokens,
  }
}

const stopReason = ({ completion, behaviour }: PlanInput): string =>
  behaviour.refuses ? 'refusal' : (STOP_REASONS[completion.finishReason] ?? completion.finishReason)

function whole(input: PlanInput): string {
  const { completion, behaviour, provider, model, id } = input
  const text = [...completion.text, ...completion.refusal].join('')
  const [promptTokens, completionTokens] = reportedTokens(input)
  return JSON.stringify({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: `${provider}-${model}`,
    content: [
      ...(completion.reasoning.length > 0
        ? [{ type: 'thinking', thinking: completion.reasoning.join(''), signature: SIGNATURE }]
        : []),
      ...(text !== '' ? [{ type: 'text', text }] : []),
      ...completion.toolCalls.map((call) => ({
        type: 'tool_use',
        id: `toolu_${call.id}`,
        name: call.name,
        input: JSON.parse(call.arguments.join('')),
      })),
    ],
    stop_reason: stopReason(input),
    stop_sequence: null,
    ...(behaviour.usage !== 'missing' && { usage: promptUsage(promptTokens, completionTokens) }),
  })
}

const ERRORS: ErrorTable = {
  context: ['invalid_request_error', 'prompt is too long: 9000 tokens > 8192 tokens maximum'],
  policy: ['invalid_request_error', 'Output blocked by content filtering policy'],
  400: ['invalid_request_error', 'Unsupported parameter.'],
  401: ['authentication_error', 'invalid x-api-key sk-sim****'],
  402: ['billing_error', 'You exceeded your current quota.'],
  403: ['permission_error', 'Your organization may not use this model.'],
  404: ['not_found_error', 'The model does not exist.'],
  413: ['request_too_large', 'The request is too large.'],
  429: ['rate_limit_error', 'Rate limit reached for requests.'],
  529: ['overloaded_error', 'Overloaded'],
  other: ['api_error', 'The server had an error while processing your request.'],
}

function error(refusal: Refusal, provider: string, model: string): string {
  const { type, message } = errorRow(ERRORS, refusal, provider, model)
  return JSON.stringify({
    type: 'error',
    error: { type, message },
    request_id: `req_upstream-${provider}`,
  })
}
