import { type Static, Type } from 'typebox'
import { nullable } from '../api/request-fields.ts'
import { createValidator } from '../api/schema-validator.ts'
import { type ExactJson, isNestedDeeperThan, MAX_NESTING } from '../json/json-text.ts'
import { ApiError } from '../kernel/errors.ts'
import { type PicoUsd, type PicoUsdPerToken, parseRate, parseUsd, plainDecimal } from '../kernel/money.ts'
import { type ContentPart, inlineChars, type MediaPart, parseContentPart } from './content-part.ts'

export const ROLES = ['system', 'user', 'assistant', 'tool'] as const
export type Role = (typeof ROLES)[number]

/** A message after normalization: only these four fields survive. */
export interface ChatMessage {
  role: Role
  content: string | readonly ContentPart[]
  name?: string
  tool_call_id?: string
}

export const SORTS = ['price', 'throughput', 'latency'] as const
export type Sort = (typeof SORTS)[number]

/** What a client may bias `auto` towards: cost, balance, quality or tool use. */
export const ROUTING_PROFILES = ['eco', 'auto', 'premium', 'agentic'] as const
export type RoutingProfile = (typeof ROUTING_PROFILES)[number]

/** The request's `provider` object. */
export interface ProviderPreferences {
  order: string[]
  /** Undefined: every provider. */
  only: string[] | undefined
  ignore: string[]
  allowFallbacks: boolean
  requireParameters: boolean
  dataCollection: 'allow' | 'deny'
  zdr: boolean
  sort: Sort | undefined
  maxPrice: {
    prompt: PicoUsdPerToken | undefined
    completion: PicoUsdPerToken | undefined
    request: PicoUsd | undefined
  }
}

/** What is forwarded to a provider besides the messages. Names as on the wire. */
export interface SamplingParameters {
  temperature?: number
  top_p?: number
  tools?: ReadonlyArray<Record<string, unknown>>
  response_format?: Record<string, unknown>
}

/** A validated, normalized chat-completion request. */
export interface ChatRequest {
  /** The models to try, in order, as the client spelled them (suffix and all); `["auto"]` by default. */
  models: string[]
  messages: ChatMessage[]
  stream: boolean
  /** The client's own limit on completion tokens, or undefined. */
  completionLimit: number | undefined
  routingProfile: RoutingProfile | undefined
  preferences: ProviderPreferences
  parameters: SamplingParameters
  /** Of the extended contract: tokens of a provider's prompt cache are charged at their own rates. Absent: false. */
  extended?: true
  /** Of `tools` and `response_format`, where parsing lost something of them; absent: nothing. */
  exactJson?: ExactJson | undefined
}

export const MAX_MESSAGES = 2048
export const MAX_MODELS = 8
const MAX_MODEL_ID_LENGTH = 256
const MAX_TOOLS = 1024
/** `tools` and `response_format` take so many characters each, as JSON. */
const SCHEMA_CHARS_MAX = 1024 * 1024

const modelId = Type.String({
  minLength: 1,
  maxLength: MAX_MODEL_ID_LENGTH,
  errorMessage: `\`{param}\` must be a model id of 1 to ${MAX_MODEL_ID_LENGTH} characters.`,
})
const modelsWording = `\`models\` must be an array of 1 to ${MAX_MODELS} model ids.`
const tokenLimit = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  errorMessage: '`{param}` must be an integer of at least 1.',
})
const names = Type.Array(Type.String(), {
  maxItems: 100,
  errorMessage: '`{param}` must be an array of at most 100 strings.',
})
const price = Type.Unknown({ description: 'USD, a number or a decimal string' })

/** A mistyped `zdr` must not pass silently: it would route to a provider the client meant to exclude. */
const closed = (name: string, path: string, known: string) => ({
  additionalProperties: false,
  errorMessage: {
    type: `\`${name}\` must be an object.`,
    additionalProperties: `Unknown field. \`${path}\` takes: ${known}.`,
  },
})

const dataCollection = Type.Enum(['allow', 'deny'])

const Preferences = Type.Partial(
  Type.Object({
    order: nullable(names),
    only: nullable(names),
    ignore: nullable(names),
    allow_fallbacks: nullable(Type.Boolean()),
    require_parameters: nullable(Type.Boolean()),
    data_collection: nullable(dataCollection),
    zdr: nullable(Type.Boolean()),
    sort: nullable(Type.Enum([...SORTS])),
    max_price: nullable(
      Type.Object(
        { prompt: Type.Optional(price), completion: Type.Optional(price), request: Type.Optional(price) },
        closed('max_price', 'provider.max_price', 'prompt, completion, request'),
      ),
    ),
  }),
  closed(
    'provider',
    'provider',
    'order, only, ignore, allow_fallbacks, require_parameters, data_collection, zdr, sort, max_price',
  ),
)

/** The body of a chat completion, as far as its outer shape goes. Other top-level fields are accepted and dropped. */
export const ChatBody = Type.Object(
  {
    messages: Type.Array(Type.Unknown({ description: 'role, content, name, tool_call_id' }), {
      minItems: 1,
      maxItems: MAX_MESSAGES,
      errorMessage: {
        type: '`messages` is required and must be an array.',
        minItems: '`messages` must hold at least one message.',
        maxItems: `Send at most ${MAX_MESSAGES} messages.`,
      },
    }),
    temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 2 }))),
    top_p: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
    tools: Type.Optional(
      nullable(
        Type.Array(Type.Unsafe<Record<string, unknown>>({ type: 'object' }), {
          maxItems: MAX_TOOLS,
          errorMessage: `\`tools\` must be an array of at most ${MAX_TOOLS} tool definitions.`,
        }),
      ),
    ),
    response_format: Type.Optional(
      nullable(
        Type.Object(
          { type: Type.String() },
          { errorMessage: '`response_format` must be an object with a `type`.' },
        ),
      ),
    ),
    model: Type.Optional(nullable(modelId)),
    models: Type.Optional(
      nullable(
        Type.Array(modelId, {
          minItems: 1,
          maxItems: MAX_MODELS,
          errorMessage: { type: modelsWording, minItems: modelsWording, maxItems: modelsWording },
        }),
      ),
    ),
    stream: Type.Optional(nullable(Type.Boolean())),
    max_tokens: Type.Optional(nullable(tokenLimit)),
    max_completion_tokens: Type.Optional(nullable(tokenLimit)),
    routing_profile: Type.Optional(nullable(Type.Enum([...ROUTING_PROFILES]))),
    provider: Type.Optional(nullable(Preferences)),
  },
  { errorMessage: { type: 'The request body must be a JSON object.' } },
)
export type ChatBody = Static<typeof ChatBody>

const refusalOf = createValidator(ChatBody)

/** Validates a body of any shape, for callers without a route schema. Throws ApiError `invalid_request`. */
export function readChatBody(body: unknown): ChatBody {
  const refusal = refusalOf(body)
  if (refusal) throw refusal
  return body as ChatBody
}

/** Validates and normalizes a body of any shape. Throws ApiError `invalid_request`. */
export const parseChatRequest = (body: unknown, exactJson?: ExactJson): ChatRequest =>
  normalizeChatRequest(readChatBody(body), exactJson)

/**
 * Normalizes a body that fits its schema, and validates what the schema leaves open: messages and what fields say of
 * each other. `exactJson` is what parsing the body lost of its schemas.
 * Throws ApiError `invalid_request` whose `param` is the JSON path of the first offending field.
 */
export function normalizeChatRequest(body: ChatBody, exactJson?: ExactJson): ChatRequest {
  if (isNestedDeeperThan(body, MAX_NESTING)) throw nestedTooDeep()
  const messages = body.messages.map(parseMessage)
  const parameters = parseParameters(body, exactJson)
  // A full tool loop is not supported: once the history holds a tool result, definitions are not forwarded.
  if (messages.some((message) => message.role === 'tool')) delete parameters.tools
  return {
    models: parseModels(body),
    messages,
    stream: body.stream ?? false,
    completionLimit: parseCompletionLimit(body),
    routingProfile: body.routing_profile ?? undefined,
    preferences: parsePreferences(body.provider ?? {}),
    parameters,
    exactJson,
  }
}

/**
 * Refuses a request of too much text, which is held, counted and scored: what is left of a body without its media.
 * Throws ApiError `request_too_large`.
 */
export function refuseLongText({ messages }: ChatRequest, bodyBytes: number, limitBytes: number): void {
  if (bodyBytes <= limitBytes) return
  const mediaBytes = mediaParts(messages).reduce((sum, part) => sum + inlineChars(part), 0)
  if (bodyBytes - mediaBytes <= limitBytes) return
  throw new ApiError(
    'request_too_large',
    `The request body may take ${limitBytes} bytes beside its media. Shorten the messages.`,
  )
}

/** The parts of a prompt that are not text, in their order. */
export const mediaParts = (messages: readonly ChatMessage[]): MediaPart[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text'),
  )

/** The refusal of a body that is nested beyond MAX_NESTING. */
export const nestedTooDeep = (): ApiError =>
  invalid(undefined, `The request body may be nested ${MAX_NESTING} levels deep at most.`)

/** The refusal of a body of more names and values than are parsed for anybody. */
export const tooManyValues = (max: number): ApiError =>
  invalid(undefined, `The request body may hold ${max} names and values at most, however short.`)

function parseMessage(value: unknown, index: number): ChatMessage {
  const path = `messages[${index}]`
  if (!isObject(value)) throw invalid(path, 'Each message must be an object.')
  const role = ROLES.find((known) => known === value.role)
  if (!role) throw invalid(`${path}.role`, `\`role\` must be one of ${ROLES.join(', ')}.`)
  const message: ChatMessage = { role, content: parseContent(value.content, role, `${path}.content`) }
  const name = optionalString(value.name, `${path}.name`)
  const toolCallId = optionalString(value.tool_call_id, `${path}.tool_call_id`)
  if (name !== undefined) message.name = name
  if (toolCallId !== undefined) message.tool_call_id = toolCallId
  return message
}

function parseContent(value: unknown, role: Role, path: string): ChatMessage['content'] {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) {
    if (value.length === 0) throw invalid(path, 'A content array must hold at least one part.')
    return value.map((part, index) => parseContentPart(part, role, `${path}[${index}]`))
  }
  // An assistant turn that only called tools has null content; its tool_calls are dropped by normalization.
  if (value == null && role === 'assistant') return ''
  throw invalid(path, '`content` must be a string or an array of content parts.')
}

function parseModels({ model, models }: ChatBody): string[] {
  if (models == null) return [model ?? 'auto']
  if (model == null) return [...new Set(models)]
  if (models.indexOf(model) > 0) {
    throw invalid('models', '`model` is tried first, but `models` lists it later. Send one order.')
  }
  return [...new Set([model, ...models])]
}

function parseCompletionLimit({ max_tokens, max_completion_tokens }: ChatBody): number | undefined {
  if (max_tokens != null && max_completion_tokens != null) {
    throw invalid('max_tokens', 'Send only one of `max_tokens` and `max_completion_tokens`.')
  }
  return max_tokens ?? max_completion_tokens ?? undefined
}

function parseParameters(body: ChatBody, exactJson?: ExactJson): SamplingParameters {
  const { temperature, top_p, tools, response_format } = body
  checkSize(tools, exactJson?.tools, 'tools')
  checkSize(response_format, exactJson?.response_format, 'response_format')
  return {
    ...(temperature != null && { temperature }),
    ...(top_p != null && { top_p }),
    ...(tools != null && tools.length > 0 && { tools }),
    ...(response_format != null && { response_format }),
  }
}

function checkSize(value: unknown, exact: string | undefined, path: string): void {
  if (value == null) return
  const chars = Math.max(JSON.stringify(value).length, exact?.length ?? 0)
  if (chars > SCHEMA_CHARS_MAX) {
    throw invalid(path, `\`${path}\` may take ${SCHEMA_CHARS_MAX} characters of JSON at most.`)
  }
}

function parsePreferences(given: Static<typeof Preferences>): ProviderPreferences {
  return {
    order: given.order ?? [],
    only: given.only ?? undefined,
    ignore: given.ignore ?? [],
    allowFallbacks: given.allow_fallbacks ?? true,
    requireParameters: given.require_parameters ?? false,
    dataCollection: given.data_collection ?? 'allow',
    zdr: given.zdr ?? false,
    sort: given.sort ?? undefined,
    maxPrice: parseMaxPrice(given.max_price ?? {}),
  }
}

function parseMaxPrice(given: Record<string, unknown>): ProviderPreferences['maxPrice'] {
  const price = <T>(field: string, decimals: number, parse: (text: string) => T): T | undefined => {
    if (given[field] == null) return undefined
    const text = plainDecimal(given[field], decimals)
    if (text === null) {
      throw invalid(`provider.max_price.${field}`, 'A price must be a number or decimal string of 0 or more.')
    }
    return parse(text)
  }
  return {
    prompt: price('prompt', 6, parseRate),
    completion: price('completion', 6, parseRate),
    request: price('request', 12, parseUsd),
  }
}

function optionalString(value: unknown, path: string): string | undefined {
  if (value == null) return undefined
  if (typeof value !== 'string') throw invalid(path, `\`${path}\` must be a string.`)
  return value
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (param: string | undefined, message: string) =>
  new ApiError('invalid_request', message, { param })
