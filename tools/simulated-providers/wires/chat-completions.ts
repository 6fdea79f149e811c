import type { PlanInput } from '../response-plan.ts'
import { isObject, promptFigures, type SimulatedRequest } from '../simulated-request.ts'
import { type Refusal, type SimulatedWire, type StreamEvents, usageFigures } from '../simulated-wire.ts'
import { isHistory } from './chat-history.ts'

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
  'response_format',
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
    ...promptFigures(body.messages),
    completionLimit: (body.max_completion_tokens ?? body.max_tokens) as number | undefined,
    tools: readTools(body.tools),
    responseFormat: readResponseFormat(body.response_format),
  }
}

function readTools(tools: unknown): SimulatedRequest['tools'] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool) => {
    const definition = isObject(tool) ? tool.function : undefined
    return isObject(definition) && typeof definition.name === 'string'
      ? [{ name: definition.name, parameters: definition.parameters }]
      : []
  })
}

function readResponseFormat(format: unknown): SimulatedRequest['responseFormat'] {
  if (!isObject(format) || typeof format.type !== 'string' || format.type === 'text') return null
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined
  return { type: format.type, schema }
}

function events(input: PlanInput): StreamEvents {
  const { answer, behaviour, provider, model, id, created } = input
  const newline = behaviour.crlf ? '\r\n' : '\n'
  const event = (data: string) => `data: ${data}${newline}${newline}`
  const lead = `{"id":"${id}","object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"provider":"${provider}","system_fingerprint":"fp_${provider}","choices":[`
  const chunk = (delta: string, finishReason: string | null = null) =>
    event(
      `${lead}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${JSON.stringify(finishReason)}}]}`,
    )
  const { toolCall } = answer
  const toolChunks = toolCall
    ? [
        chunk(
          `{"tool_calls":[{"index":0,"id":"${toolCall.id}","type":"function","function":{"name":${JSON.stringify(toolCall.name)},"arguments":""}}]}`,
        ),
        ...toolCall.arguments.map((piece) =>
          chunk(`{"tool_calls":[{"index":0,"function":{"arguments":${JSON.stringify(piece)}}}]}`),
        ),
      ]
    : []
  return {
    comment: `: processing${newline}${newline}`,
    role: chunk('{"role":"assistant","content":""}'),
    tokens: [
      ...answer.reasoning.map((piece) => chunk(`{"reasoning_content":${JSON.stringify(piece)}}`)),
      ...answer.text.map((piece) => chunk(`{"content":${JSON.stringify(piece)}}`)),
      ...answer.refusal.map((piece) => chunk(`{"refusal":${JSON.stringify(piece)}}`)),
      ...toolChunks,
    ],
    finish: chunk('{}', answer.finishReason),
    usage: event(`${lead}],"usage":${usageJson(input)}}`),
    done: event('[DONE]'),
    malformed: event(`${lead}{"index":0,"delta":{"content":"brok`),
    error: event(error({ status: 500 }, provider, model)),
  }
}

function whole(input: PlanInput): string {
  const { answer, behaviour, provider, model, id, created } = input
  const { toolCall } = answer
  const message = {
    role: 'assistant',
    content: toolCall || answer.refusal.length > 0 ? null : answer.text.join(''),
    ...(answer.refusal.length > 0 && { refusal: answer.refusal.join('') }),
    ...(answer.reasoning.length > 0 && { reasoning_content: answer.reasoning.join('') }),
    ...(toolCall && {
      tool_calls: [
        {
          id: toolCall.id,
          type: 'function',
          function: { name: toolCall.name, arguments: toolCall.arguments.join('') },
        },
      ],
    }),
  }
  return JSON.stringify({
    id,
    object: 'chat.completion',
    created,
    model,
    provider,
    system_fingerprint: `fp_${provider}`,
    choices: [{ index: 0, message, logprobs: null, finish_reason: answer.finishReason }],
    ...(behaviour.usage !== 'missing' && { usage: JSON.parse(usageJson(input)) }),
  })
}

function usageJson(input: PlanInput): string {
  const [prompt, completion] = usageFigures(input)
  return `{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion}}`
}

/** An error body that names the provider and the model, as real ones do. */
function error({ status, code }: Refusal, provider: string, model: string): string {
  const [type, errorCode, text] = errorTexts(status, code)
  return JSON.stringify({
    error: { message: `${text} (provider ${provider}, model ${model})`, type, param: null, code: errorCode },
  })
}

function errorTexts(status: number, code: Refusal['code']): [string, string | null, string] {
  if (code === 'context') {
    return [
      'invalid_request_error',
      'context_length_exceeded',
      "This model's maximum context length is 8192 tokens. Your messages resulted in more. Please reduce their length.",
    ]
  }
  if (code === 'policy') {
    return [
      'invalid_request_error',
      'content_policy_violation',
      'Your request was rejected as a result of our safety system.',
    ]
  }
  switch (status) {
    case 400:
      return ['invalid_request_error', null, 'Unsupported parameter.']
    case 401:
      return ['invalid_request_error', 'invalid_api_key', 'Incorrect API key provided: sk-sim****.']
    case 402:
      return ['insufficient_quota', 'insufficient_quota', 'You exceeded your current quota.']
    case 403:
      return ['permission_error', null, 'Your organization may not use this model.']
    case 404:
      return ['invalid_request_error', 'model_not_found', 'The model does not exist.']
    case 408:
      return ['timeout_error', null, 'The request timed out.']
    case 429:
      return ['rate_limit_error', 'rate_limit_exceeded', 'Rate limit reached for requests.']
    default:
      return ['server_error', null, 'The server had an error while processing your request.']
  }
}
