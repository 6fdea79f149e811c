/** The fields of a chat-completion request that a simulated provider looks at. */
export interface SimulatedRequest {
  model: string
  stream: boolean
  /** The text of the last user message. */
  prompt: string
  /** The text of a trailing assistant message, which models with `prefill` continue. */
  prefill: string
  images: number
  promptTokens: number
  completionLimit: number | undefined
  tools: Array<{ name: string; parameters: unknown }>
  responseFormat: { type: string; schema: unknown } | null
}

type Fields = Record<string, unknown>

const TOKENS_PER_MESSAGE = 3
const TOKENS_PER_IMAGE = 85
const CHARACTERS_PER_TOKEN = 4

/** Reads a request body; null when it is not a chat-completion request. */
export function readSimulatedRequest(body: unknown): SimulatedRequest | null {
  if (!isObject(body) || typeof body.model !== 'string' || !Array.isArray(body.messages)) return null
  const messages = body.messages.filter(isObject)
  const lastUser = messages.findLast((message) => message.role === 'user')
  const last = messages.at(-1)
  let characters = 0
  let images = 0
  for (const message of messages) {
    characters += contentText(message.content).length
    images += countImages(message.content)
  }
  const limit = body.max_completion_tokens ?? body.max_tokens
  return {
    model: body.model,
    stream: body.stream === true,
    prompt: contentText(lastUser?.content),
    prefill: last?.role === 'assistant' ? contentText(last.content) : '',
    images,
    promptTokens:
      Math.ceil(characters / CHARACTERS_PER_TOKEN) +
      messages.length * TOKENS_PER_MESSAGE +
      images * TOKENS_PER_IMAGE,
    completionLimit: typeof limit === 'number' ? limit : undefined,
    tools: readTools(body.tools),
    responseFormat: readResponseFormat(body.response_format),
  }
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .filter((part) => isObject(part) && typeof part.text === 'string')
    .map((part) => part.text)
    .join('')
}

function countImages(content: unknown): number {
  return Array.isArray(content)
    ? content.filter((part) => isObject(part) && part.type === 'image_url').length
    : 0
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

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
