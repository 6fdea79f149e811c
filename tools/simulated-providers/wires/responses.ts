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
  lateCached,
  reportedTokens,
  type SimulatedWire,
  type StreamEvents,
  tokenLogprobs,
} from '../simulated-wire.ts'
import { CHAT_COMPLETIONS, error } from './chat-completions.ts'

type Fields = Record<string, unknown>

const KNOWN_FIELDS = new Set([
  'model',
  'input',
  'instructions',
  'stream',
  'store',
  'max_output_tokens',
  'temperature',
  'top_p',
  'tools',
  'max_tool_calls',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'include',
  'top_logprobs',
  'prompt_cache_key',
])
const ROLES = new Set(['system', 'developer', 'user', 'assistant'])
const LIMIT_MIN = 16
const TOOLS = new Set(['function', 'web_search'])
const SEARCH = {
  type: 'web_search_call',
  status: 'completed',
  action: { type: 'search', query: 'rail yards' },
}
const SOURCE = { url: 'https://example.com/yards', title: 'Rail yards', start_index: 0, end_index: 4 }

/** The responses wire of OpenAI as a provider speaks it that stores nothing; it refuses what the real one refuses. */
export const RESPONSES: SimulatedWire = {
  readRequest,
  hasKey: CHAT_COMPLETIONS.hasKey,
  ownHeaders: CHAT_COMPLETIONS.ownHeaders,
  retryAfterInHeader: true,
  events,
  whole,
  error,
  modelList: CHAT_COMPLETIONS.modelList,
}

function readRequest(body: unknown): SimulatedRequest | null {
  if (!isObject(body) || typeof body.model !== 'string' || !isInput(body.input)) return null
  if (!Object.keys(body).every((field) => KNOWN_FIELDS.has(field)) || body.store !== false) return null
  const { max_output_tokens: limit, tool_choice: choice, instructions } = body
  if (limit !== undefined && !(Number.isInteger(limit) && Number(limit) >= LIMIT_MIN)) return null
  const declared = listOf(body.tools)
  if (!declared.every((tool) => isObject(tool) && TOOLS.has(String(tool.type)))) return null
  const tools = declared.filter((tool) => isObject(tool) && tool.type === 'function')
  const format = isObject(body.text) && isObject(body.text.format) ? body.text.format : {}
  if (format.type === 'json_schema' && typeof format.name !== 'string') return null
  return {
    model: body.model,
    stream: body.stream === true,
    ...readMessages([
      ...(typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []),
      ...body.input.map(asMessage),
    ]),
    completionLimit: limit as number | undefined,
    tools: readTools(tools, 'parameters'),
    responseFormat:
      typeof format.type === 'string' && format.type !== 'text'
        ? { type: format.type, schema: format.schema }
        : null,
    ...PLAIN_REQUEST,
    toolChoice: isObject(choice)
      ? { name: String(choice.name) }
      : choice === 'none' || choice === 'required'
        ? choice
        : 'auto',
    oneCall: body.parallel_tool_calls === false,
    topLogprobs: listOf(body.include).includes('message.output_text.logprobs')
      ? Number(body.top_logprobs ?? 0)
      : null,
    unreasoned: isObject(body.reasoning) && body.reasoning.effort === 'none',
    maySearch: tools.length < declared.length,
  }
}

/** Messages of a known role, calls, and one result for each of them, later. */
function isInput(input: unknown): input is Fields[] {
  if (!Array.isArray(input) || input.length === 0) return false
  const unanswered = new Set<unknown>()
  const isItem = (item: unknown): boolean => {
    if (!isObject(item)) return false
    if (item.type === 'function_call') {
      unanswered.add(item.call_id)
      return typeof item.name === 'string' && typeof item.arguments === 'string'
    }
    if (item.type === 'function_call_output') return unanswered.delete(item.call_id)
    if (item.type === 'web_search_call') return typeof item.id === 'string' && isObject(item.action)
    const isSaid = typeof item.content === 'string' || listOf(item.content).every(isPartOf(item))
    return (item.type ?? 'message') === 'message' && ROLES.has(String(item.role)) && isSaid
  }
  return input.every(isItem) && unanswered.size === 0
}

/** What an assistant wrote has parts of another name. */
const isPartOf =
  ({ role }: Fields) =>
  (part: unknown): boolean =>
    isObject(part) && String(part.type).startsWith(role === 'assistant' ? 'output_' : 'input_')

function asMessage(item: Fields): Fields {
  if (item.type === 'function_call') return { role: 'assistant', content: item.arguments }
  if (item.type === 'web_search_call') return { role: 'assistant', content: '' }
  return item.type === 'function_call_output' ? { role: 'tool', content: item.output } : item
}

/** An item of the output with the events that make it, a token each; the first of them opens it. */
interface Piece {
  item: Fields
  tokens: Fields[]
  /** What the item has at its end. */
  filled: Fields
}

function piecesOf(input: PlanInput): Piece[] {
  const { completion, id } = input
  const { reasoning, text, refusal, toolCalls, searches } = completion
  const cited = { type: 'url_citation', ...SOURCE }
  const part = { content_index: 0 }
  const message = (parts: Fields[], tokens: Fields[]): Piece => ({
    item: { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'in_progress', content: [] },
    tokens,
    filled: { status: 'completed', content: parts },
  })
  return [
    ...(reasoning.length === 0
      ? []
      : [
          {
            item: { type: 'reasoning', id: `rs_${id}`, summary: [] },
            tokens: reasoning.map((delta) => ({
              ...{ type: 'response.reasoning_summary_text.delta', summary_index: 0, delta },
            })),
            filled: { summary: [{ type: 'summary_text', text: reasoning.join('') }] },
          },
        ]),
    ...(searches
      ? [
          {
            item: { ...SEARCH, id: `ws_${id}`, status: 'in_progress' },
            tokens: [{ type: 'response.web_search_call.searching' }],
            filled: { status: 'completed' },
          },
        ]
      : []),
    ...(text.length === 0
      ? []
      : [
          message(
            [
              {
                type: 'output_text',
                text: text.join(''),
                annotations: searches ? [cited] : [],
                logprobs: logprobs(input, text),
              },
            ],
            [
              ...text.map((delta) => ({
                ...{ type: 'response.output_text.delta', ...part, delta, logprobs: logprobs(input, [delta]) },
              })),
              ...(searches
                ? [{ type: 'response.output_text.annotation.added', ...part, annotation: cited }]
                : []),
            ],
          ),
        ]),
    ...(refusal.length === 0
      ? []
      : [
          message(
            [{ type: 'refusal', refusal: refusal.join('') }],
            refusal.map((delta) => ({ type: 'response.refusal.delta', ...part, delta })),
          ),
        ]),
    ...toolCalls.map((call) => ({
      item: {
        ...{ type: 'function_call', id: `fc_${call.id}`, call_id: call.id, name: call.name },
        ...{ arguments: '', status: 'in_progress' },
      },
      tokens: ['', ...call.arguments].map((delta) => ({
        ...{ type: 'response.function_call_arguments.delta', delta },
      })),
      filled: { arguments: call.arguments.join(''), status: 'completed' },
    })),
  ]
}

function events(input: PlanInput): StreamEvents {
  const { behaviour, provider, model } = input
  const newline = behaviour.crlf ? '\r\n' : '\n'
  let number = 0
  const event = (data: Fields) =>
    `event: ${data.type}${newline}data: ${JSON.stringify({ ...data, sequence_number: number++ })}${newline}${newline}`
  const role = event({ type: 'response.created', response: responseOf(input, 'in_progress', []) })
  let close = ''
  const tokens = piecesOf(input).flatMap(({ item, tokens: deltas, filled }, index) => {
    const place = { output_index: index, item_id: item.id }
    const open = close + event({ type: 'response.output_item.added', output_index: index, item })
    const written = deltas.map((delta, at) => (at === 0 ? open : '') + event({ ...delta, ...place }))
    close = event({ type: 'response.output_item.done', output_index: index, item: { ...item, ...filled } })
    return written
  })
  const status = statusOf(input)
  return {
    comment: `: keepalive${newline}${newline}`,
    role,
    tokens,
    finish:
      close + event({ type: `response.${status}`, response: responseOf(input, status, outputOf(input)) }),
    usage: '',
    done: '',
    malformed: `event: response.output_text.delta${newline}data: {"type":"response.output_text.delta","de${newline}${newline}`,
    error: event({ type: 'error', ...JSON.parse(error({ status: 500 }, provider, model)) }),
    toolError: event({
      type: 'response.failed',
      response: {
        ...responseOf(input, 'failed', []),
        error: { code: 'server_error', message: 'The model made an invalid call.' },
      },
    }),
  }
}

function whole(input: PlanInput): string {
  return JSON.stringify(responseOf(input, statusOf(input), outputOf(input)))
}

const outputOf = (input: PlanInput): Fields[] =>
  piecesOf(input).map(({ item, filled }) => ({ ...item, ...filled }))

const INCOMPLETE: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

const statusOf = ({ completion }: PlanInput): string =>
  completion.finishReason in INCOMPLETE ? 'incomplete' : 'completed'

function responseOf(input: PlanInput, status: string, output: Fields[]): Fields {
  const { completion, provider, model, id, created, behaviour } = input
  const isOver = status !== 'in_progress' && behaviour.usage !== 'missing'
  return {
    ...{ id: `resp_${id}`, object: 'response', created_at: created, model: `${provider}-${model}`, status },
    ...{ error: null, output, usage: isOver ? usageOf(input) : null, store: false },
    incomplete_details: status === 'incomplete' ? { reason: INCOMPLETE[completion.finishReason] } : null,
  }
}

function usageOf(input: PlanInput): Fields {
  const [prompt, completion] = reportedTokens(input)
  const isTrue = input.behaviour.usage === 'true'
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: lateCached(input) },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: isTrue ? input.completion.reasoning.length : 0 },
    total_tokens: prompt + completion,
  }
}

/** Empty where none are asked for. */
const logprobs = ({ completion: { topLogprobs } }: PlanInput, tokens: readonly string[]) =>
  topLogprobs === null ? [] : tokenLogprobs(tokens, topLogprobs)
