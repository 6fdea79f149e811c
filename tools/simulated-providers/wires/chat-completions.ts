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
  tokenLogprobs,
} from '../simulated-wire.ts'

const KNOWN_FIELDS = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'prompt_cache_key',
  'response_format',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'reasoning_effort',
  'service_tier',
])

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])
const MESSAGE_FIELDS = new Set([
  'role',
  'content',
  'name',
  'tool_call_id',
  'tool_calls',
  'refusal',
  'reasoning_content',
  'prefix',
  'partial',
])

/** The chat-completions wire as a strict provider speaks it. */
export const CHAT_COMPLETIONS: SimulatedWire = {
  readRequest,
  hasKey: ({ authorization }) => authorization?.startsWith('Bearer ') === true,
  ownHeaders: (provider, id) => ({
    'x-request-id': `upstream-${id}`,
    'openai-organization': `org-${provider}`,
    'x-ratelimit-remaining-requests': '9999',
  }),
  retryAfterInHeader: true,
  events,
  whole,
  error,
  modelList: (models, provider) => ({
    object: 'list',
    data: models.map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: provider })),
  }),
}

function readRequest(body: unknown): SimulatedRequest | null {
  if (!isObject(body) || typeof body.model !== 'string' || !isHistory(body.messages)) return null
  if (!Object.keys(body).every((field) => KNOWN_FIELDS.has(field))) return null
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) return null
  if (body.stream_options !== undefined && body.stream !== true) return null
  const limit = body.max_completion_tokens ?? body.max_tokens ?? 1
  if (!Number.isInteger(limit) || Number(limit) < 1) return null
  return {
    model: body.model,
    stream: body.stream === true,
    ...readMessages(body.messages),
    completionLimit: (body.max_completion_tokens ?? body.max_tokens) as number | undefined,
    tools: readTools(
      listOf(body.tools).map((tool) => isObject(tool) && tool.function),
      'parameters',
    ),
    responseFormat: readResponseFormat(body.response_format),
    ...PLAIN_REQUEST,
    ...(body.tool_choice !== undefined && { toolChoice: readToolChoice(body.tool_choice) }),
    oneCall: body.parallel_tool_calls === false,
    stop: [body.stop ?? []].flat() as string[],
    topLogprobs: body.logprobs === true ? Number(body.top_logprobs ?? 0) : null,
    unreasoned: body.reasoning_effort === 'none',
  }
}

/**
 * Whether strict servers of the chat-completions wire take these messages: known roles and fields only, no
 * assistant's turn without text and calls, and tool messages only where they respond to the calls of the
 * assistant's turn before them, every call once.
 */
function isHistory(messages: unknown): messages is Record<string, unknown>[] {
  if (!Array.isArray(messages) || messages.length === 0) return false
  const unanswered = new Set<unknown>()
  for (const message of messages) {
    if (!isObject(message) || !isMessage(message)) return false
    if (message.role === 'tool') {
      if (!unanswered.delete(message.tool_call_id)) return false
      continue
    }
    if (unanswered.size > 0) return false
    for (const call of listOf(message.tool_calls)) {
      if (!isObject(call) || !/^.{1,40}$/.test(String(call.id))) return false
      unanswered.add(call.id)
    }
  }
  return unanswered.size === 0
}

function isMessage(message: Record<string, unknown>): boolean {
  const { role, content } = message
  if (typeof role !== 'string' || !ROLES.has(role)) return false
  if (!Object.keys(message).every((field) => MESSAGE_FIELDS.has(field))) return false
  if (message.tool_call_id !== undefined && role !== 'tool') return false
  if (role === 'assistant' && listOf(message.tool_calls).length > 0) return true
  const isText = typeof content === 'string' && (role !== 'assistant' || content.trim() !== '')
  return isText || (Array.isArray(content) && content.length > 0)
}

function readToolChoice(choice: unknown): SimulatedRequest['toolChoice'] {
  if (isObject(choice) && isObject(choice.function)) return { name: String(choice.function.name) }
  return choice === 'none' || choice === 'required' ? choice : 'auto'
}

function readResponseFormat(format: unknown): SimulatedRequest['responseFormat'] {
  if (!isObject(format) || typeof format.type !== 'string' || format.type === 'text') return null
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined
  return { type: format.type, schema }
}

function events(input: PlanInput): StreamEvents {
  const { completion, behaviour, provider, model, id, created } = input
  // As vLLM says it.
  const stoppedBy =
    completion.stoppedBy === null ? '' : `,"stop_reason":${JSON.stringify(completion.stoppedBy)}`
  const newline = behaviour.crlf ? '\r\n' : '\n'
  const event = (data: string) => `data: ${data}${newline}${newline}`
  const lead = `{"id":"${id}","object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"provider":"${provider}","system_fingerprint":"fp_${provider}","choices":[`
  const chunk = (delta: string, finishReason: string | null = null, logprobs = 'null', more = '') =>
    event(
      `${lead}{"index":0,"delta":${delta},"logprobs":${logprobs},"finish_reason":${JSON.stringify(finishReason)}${more}}]}`,
    )
  const toolChunks = completion.toolCalls.flatMap((call, index) =>
    callPieces(call, index, behaviour).map((piece) => chunk(JSON.stringify({ tool_calls: [piece] }))),
  )
  return {
    comment: `: processing${newline}${newline}`,
    role: chunk('{"role":"assistant","content":""}'),
    tokens: [
      ...completion.reasoning.map((piece) => chunk(`{"reasoning_content":${JSON.stringify(piece)}}`)),
      ...completion.text.map((piece) =>
        chunk(`{"content":${JSON.stringify(piece)}}`, null, JSON.stringify(logprobs(input, [piece]))),
      ),
      ...completion.refusal.map((piece) => chunk(`{"refusal":${JSON.stringify(piece)}}`)),
      ...toolChunks,
    ],
    finish: chunk('{}', completion.finishReason, 'null', stoppedBy),
    usage: event(`${lead}],"usage":${usageJson(input)}}`),
    done: event('[DONE]'),
    malformed: event(`${lead}{"index":0,"delta":{"content":"brok`),
    error: event(error({ status: 500 }, provider, model)),
    toolError: `event: error${newline}${event(JSON.stringify({ error: toolError(model) }))}`,
  }
}

/** As Groq writes it, with the call that the model made. */
const toolError = (model: string) => ({
  message: `Tool call validation failed: parameters for tool of ${model} did not match schema`,
  type: 'invalid_request_error',
  code: 'tool_use_failed',
  failed_generation: '{"name":"find_train","arguments":{"wrong":1}}',
  status_code: 400,
})

/** The pieces of a tool call, in the spelling of some real provider. */
function callPieces(
  { id, name, arguments: pieces }: PlanInput['completion']['toolCalls'][number],
  position: number,
  { callPieces: how }: PlanInput['behaviour'],
): object[] {
  const place = how === 'no-index' ? {} : { index: how === 'one-index' ? 0 : position }
  const first = { ...place, id, type: 'function' }
  if (how === 'objects') return [{ ...first, function: { name, arguments: JSON.parse(pieces.join('')) } }]
  const empty = how === 'empty-ids'
  return [
    { ...first, function: { name, arguments: '' } },
    ...pieces.map((json) => ({
      ...place,
      ...(empty && { id: '' }),
      function: { ...(empty && { name: '' }), arguments: json },
    })),
  ]
}

function whole(input: PlanInput): string {
  const { completion, behaviour, provider, model, id, created } = input
  const { toolCalls } = completion
  const message = {
    role: 'assistant',
    content: toolCalls.length > 0 || completion.refusal.length > 0 ? null : completion.text.join(''),
    ...(completion.refusal.length > 0 && { refusal: completion.refusal.join('') }),
    ...(completion.reasoning.length > 0 && { reasoning_content: completion.reasoning.join('') }),
    ...(toolCalls.length > 0 && {
      tool_calls: toolCalls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments.join('') },
      })),
    }),
  }
  return JSON.stringify({
    id,
    object: 'chat.completion',
    created,
    model,
    provider,
    system_fingerprint: `fp_${provider}`,
    choices: [
      {
        index: 0,
        message,
        logprobs: logprobs(input, completion.text),
        finish_reason: completion.finishReason,
        ...(completion.stoppedBy !== null && { stop_reason: completion.stoppedBy }),
      },
    ],
    ...(behaviour.usage !== 'missing' && { usage: JSON.parse(usageJson(input)) }),
  })
}

/** Null where none are asked for. */
function logprobs({ completion: { topLogprobs } }: PlanInput, tokens: readonly string[]) {
  if (topLogprobs === null) return null
  return { content: tokenLogprobs(tokens, topLogprobs), refusal: null }
}

function usageJson(input: PlanInput): string {
  const [prompt, completion] = reportedTokens(input)
  const { length: reasoning } = input.completion.reasoning
  const isTrue = input.behaviour.usage === 'true' && reasoning > 0
  const cached = lateCached(input)
  const details =
    (cached > 0 ? `,"prompt_tokens_details":{"cached_tokens":${cached}}` : '') +
    (isTrue ? `,"completion_tokens_details":{"reasoning_tokens":${reasoning}}` : '')
  return `{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion}${details}}`
}

const ERRORS: ErrorTable = {
  context: [
    'invalid_request_error',
    "This model's maximum context length is 8192 tokens. Your messages resulted in more. Please reduce their length.",
    'context_length_exceeded',
  ],
  policy: [
    'invalid_request_error',
    'Your request was rejected as a result of our safety system.',
    'content_policy_violation',
  ],
  400: ['invalid_request_error', 'Unsupported parameter.'],
  401: ['invalid_request_error', 'Incorrect API key provided: sk-sim****.', 'invalid_api_key'],
  402: ['insufficient_quota', 'You exceeded your current quota.', 'insufficient_quota'],
  403: ['permission_error', 'Your organization may not use this model.'],
  404: ['invalid_request_error', 'The model does not exist.', 'model_not_found'],
  408: ['timeout_error', 'The request timed out.'],
  429: ['rate_limit_error', 'Rate limit reached for requests.', 'rate_limit_exceeded'],
  other: ['server_error', 'The server had an error while processing your request.'],
}

export function error(refusal: Refusal, provider: string, model: string): string {
  const { type, message, code = null } = errorRow(ERRORS, refusal, provider, model)
  return JSON.stringify({ error: { message, type, param: null, code } })
}
