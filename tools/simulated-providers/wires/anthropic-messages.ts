import type { IncomingHttpHeaders } from 'node:http'
import type { PlanInput } from '../response-plan.ts'
import { isObject, listOf, readMessages, readTools, type SimulatedRequest } from '../simulated-request.ts'
import {
  type ErrorTable,
  errorRow,
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
  const isLimit = Number.isInteger(limit) && Number(limit) >= 1
  const isWarm = typeof temperature === 'number' && temperature >= 0 && temperature <= 1
  if (!isKnown || !isLimit || !isWarm || typeof model !== 'string' || !areTurns(messages)) return null
  const systemText = typeof system === 'string' ? system : ''
  return {
    model,
    stream: body.stream === true,
    ...readMessages([...(systemText ? [{ role: 'system', content: systemText }] : []), ...messages]),
    completionLimit: limit as number,
    tools: readTools(listOf(tools), 'input_schema'),
    responseFormat: askedJson(systemText),
  }
}

/** Reads a system prompt as an obedient model does: whether it asks for JSON, and by which schema. */
function askedJson(system: string): SimulatedRequest['responseFormat'] {
  if (!/\bJSON value\b/.test(system)) return null
  const schema = /JSON Schema: (\{.*\})/s.exec(system)?.[1]
  return { type: 'json', schema: schema === undefined ? undefined : JSON.parse(schema) }
}

type Turn = { role: string; content: Record<string, unknown>[] }

const BLOCK_TYPES = new Set(['text', 'image', 'document'])

/**
 * Sides take turns, the user's first; each has content, and the last ends without white space where the model goes
 * on. Uses and results of tools are refused: they come in pairs, and the gateway keeps no uses.
 */
function areTurns(messages: unknown): messages is Turn[] {
  if (!Array.isArray(messages) || messages.length === 0) return false
  const areWhole = messages.every(
    ({ role, content }, index) =>
      role === (index % 2 === 0 ? 'user' : 'assistant') &&
      Array.isArray(content) &&
      content.length > 0 &&
      content.every(
        ({ type, text }) => BLOCK_TYPES.has(type) && (type !== 'text' || (text as string).trim() !== ''),
      ),
  )
  if (!areWhole) return false
  const last = messages.at(-1)
  const end = last.role === 'assistant' ? last.content.at(-1).text : ''
  return end === undefined || end === end.trimEnd()
}

function events(input: PlanInput): StreamEvents {
  const { answer, behaviour, provider, model, id } = input
  const newline = behaviour.crlf ? '\r\n' : '\n'
  const event = (data: { type: string; [field: string]: unknown }) =>
    `event: ${data.type}${newline}data: ${JSON.stringify(data)}${newline}${newline}`
  const [promptTokens, completionTokens] = reportedTokens(input)
  const hasUsage = behaviour.usage !== 'missing'
  const { toolCall } = answer
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
  const tokens = [
    ...block(
      { type: 'thinking', thinking: '', signature: '' },
      answer.reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
    ),
    ...block(
      { type: 'text', text: '' },
      [...answer.text, ...answer.refusal].map((text) => ({ type: 'text_delta', text })),
    ),
    ...(toolCall
      ? block(
          { type: 'tool_use', id: `toolu_${toolCall.id}`, name: toolCall.name, input: {} },
          ['', ...toolCall.arguments].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
        )
      : []),
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
        ...(hasUsage && { usage: promptUsage(promptTokens, 1) }),
      },
    }),
    tokens,
    finish:
      (index >= 0 ? event({ type: 'content_block_stop', index }) : '') +
      event({
        type: 'message_delta',
        delta: { stop_reason: stopReason(input), stop_sequence: null },
        ...(hasUsage && { usage: { output_tokens: completionTokens } }),
      }),
    usage: '',
    done: event({ type: 'message_stop' }),
    malformed: `event: content_block_delta${newline}data: {"type":"content_block_delta","delta":{"te${newline}${newline}`,
    error: `event: error${newline}data: ${error({ status: 529 }, provider, model)}${newline}${newline}`,
  }
}

/** A part of the prompt came from a cache, as it often does; it is paid for all the same. */
function promptUsage(promptTokens: number, outputTokens: number) {
  const cached = Math.trunc(promptTokens / 3)
  return {
    input_tokens: promptTokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: outputTokens,
  }
}

const stopReason = ({ answer, behaviour }: PlanInput): string =>
  behaviour.refuses ? 'refusal' : (STOP_REASONS[answer.finishReason] ?? answer.finishReason)

function whole(input: PlanInput): string {
  const { answer, behaviour, provider, model, id } = input
  const { toolCall } = answer
  const text = [...answer.text, ...answer.refusal].join('')
  const [promptTokens, completionTokens] = reportedTokens(input)
  return JSON.stringify({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: `${provider}-${model}`,
    content: [
      ...(answer.reasoning.length > 0 ? [{ type: 'thinking', thinking: answer.reasoning.join('') }] : []),
      ...(text !== '' ? [{ type: 'text', text }] : []),
      ...(toolCall
        ? [
            {
              type: 'tool_use',
              id: `toolu_${toolCall.id}`,
              name: toolCall.name,
              input: JSON.parse(toolCall.arguments.join('')),
            },
          ]
        : []),
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
