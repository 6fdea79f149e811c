/** The chat-completions wire as a provider writes it: bodies and events, as strings. */
import type { PlanInput } from './response-plan.ts'

export const HTML_PAGE =
  '<!doctype html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n'

const ABSURD_TOKENS = 1_000_000_000_000

/** The events of one streamed answer. */
export interface StreamEvents {
  comment: string
  role: string
  /** One event a token: reasoning, text, refusal or a piece of a tool call. */
  tokens: string[]
  finish: string
  usage: string
  done: string
  malformed: string
  error: string
}

/** Writes every event of a streamed answer. */
export function chunkWriter(input: PlanInput): StreamEvents {
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
    error: event(errorJson(500, undefined, provider, model)),
  }
}

/** The body of a non-streaming answer. */
export function completionJson(input: PlanInput): string {
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

function usageJson({ answer, behaviour }: PlanInput): string {
  const [prompt, completion] = usageFigures(answer.promptTokens, answer.completionTokens, behaviour.usage)
  return `{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion}}`
}

function usageFigures(
  prompt: number,
  completion: number,
  kind: PlanInput['behaviour']['usage'],
): [number, number] {
  if (kind === 'absurd') return [ABSURD_TOKENS, ABSURD_TOKENS]
  return kind === 'negative' ? [-prompt, -completion - 1] : [prompt, completion]
}

/** An error body that names the provider and the model, as real ones do. */
export function errorJson(
  status: number,
  code: 'context' | 'policy' | undefined,
  provider: string,
  model: string,
): string {
  const [type, errorCode, text] = errorTexts(status, code)
  return JSON.stringify({
    error: { message: `${text} (provider ${provider}, model ${model})`, type, param: null, code: errorCode },
  })
}

function errorTexts(status: number, code: 'context' | 'policy' | undefined): [string, string | null, string] {
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
