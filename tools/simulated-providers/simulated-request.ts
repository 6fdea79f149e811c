/** What a simulated provider looks at in a request, whatever its wire. */
export interface SimulatedRequest {
  model: string
  stream: boolean
  /** The text of the last user message that scripts calls, else of the last that does not add to results of tools. */
  prompt: string
  /** Who speaks, message by message, as on the chat-completions wire. */
  roles: string[]
  /** The text of a trailing assistant message, which models with `prefill` continue. */
  prefill: string
  images: number
  promptTokens: number
  completionLimit: number | undefined
  tools: Array<{ name: string; parameters: unknown }>
  responseFormat: { type: string; schema: unknown } | null
  /** What tools returned since that message, in order. */
  toolResults: string[]
  toolChoice: 'auto' | 'none' | 'required' | { name: string }
  /** At most one call a turn. */
  oneCall: boolean
  stop: readonly string[]
  /** So many of the likeliest tokens are asked for beside each; null: no log probabilities are. */
  topLogprobs: number | null
  /** Asked not to reason. */
  unreasoned: boolean
  /** It may search the web. */
  maySearch: boolean
}

/** What a request asks beside its messages, where it asks nothing special. */
export const PLAIN_REQUEST = {
  toolChoice: 'auto',
  oneCall: false,
  stop: [],
  topLogprobs: null,
  unreasoned: false,
  maySearch: false,
} as const satisfies Partial<SimulatedRequest>

type Fields = Record<string, unknown>

const TOKENS_PER_MESSAGE = 3
const TOKENS_PER_IMAGE = 12
const CHARACTERS_PER_TOKEN = 4

/** The text and the size of a request's messages; roles as on the chat-completions wire. */
export function readMessages(
  messages: ReadonlyArray<Fields>,
): Pick<SimulatedRequest, 'prompt' | 'roles' | 'prefill' | 'images' | 'promptTokens' | 'toolResults'> {
  const texts = messages.map(({ role, content }) => (role === 'user' ? contentText(content) : ''))
  const scriptAt = texts.findLastIndex((text) => scriptedCalls(text).length > 0)
  // A user's message directly after results of tools adds to them: their images, or notes of an agent.
  const lastUserAt = messages.findLastIndex(
    ({ role }, index) => role === 'user' && messages[index - 1]?.role !== 'tool',
  )
  const promptAt = scriptAt < 0 ? lastUserAt : scriptAt
  const last = messages.at(-1)
  let characters = 0
  let images = 0
  for (const message of messages) {
    characters += contentText(message.content).length
    images += countImages(message.content)
  }
  return {
    prompt: texts[promptAt] ?? '',
    roles: messages.map(({ role }) => String(role)),
    prefill: last?.role === 'assistant' ? contentText(last.content) : '',
    images,
    toolResults: messages
      .slice(promptAt + 1)
      .flatMap(({ role, content }) => (role === 'tool' ? contentText(content) : [])),
    promptTokens:
      Math.ceil(characters / CHARACTERS_PER_TOKEN) +
      messages.length * TOKENS_PER_MESSAGE +
      images * TOKENS_PER_IMAGE,
  }
}

/** The calls that a prompt scripts: each on a line of its own, as `tool({"argument":1})`; `+ ` before it joins it to the turn above. */
export const scriptedCalls = (
  prompt: string,
): Array<{ name: string; arguments: string; isJoined: boolean }> =>
  [...prompt.matchAll(/^(\+ )?([\w-]+)\((\{.*\})\)$/gm)].map(([, joined, name = '', json = '']) => ({
    name,
    arguments: json,
    isJoined: joined !== undefined,
  }))

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .filter((part) => isObject(part) && typeof part.text === 'string')
    .map((part) => part.text)
    .join('')
}

function countImages(content: unknown): number {
  return Array.isArray(content) ? content.filter((part) => isObject(part) && isImage(part)).length : 0
}

/** An image in the form of any of the wires. */
const isImage = (part: Fields): boolean =>
  part.type === 'image_url' ||
  part.type === 'image' ||
  part.type === 'input_image' ||
  part.inlineData !== undefined ||
  part.fileData !== undefined

/** Tools by the field that holds the schema of their parameters. */
export const readTools = (
  definitions: readonly unknown[],
  schemaField: 'parameters' | 'input_schema',
): SimulatedRequest['tools'] =>
  definitions.filter(isObject).flatMap((definition) => {
    const { name, [schemaField]: parameters } = definition
    return typeof name === 'string' ? [{ name, parameters }] : []
  })

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
