import type { ExactJson } from '../json/exact-json.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../json/nesting.ts'
import { ApiError } from '../kernel/errors.ts'
import { type PicoUsd, type PicoUsdPerToken, parseRate, parseUsd, plainDecimal } from '../kernel/money.ts'
import { ROUTING_PROFILES, type RoutingProfile } from '../routing/routing-profile.ts'
import { type ContentPart, parseContentPart } from './content-part.ts'

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
  /** Of `tools` and `response_format`, where parsing lost something of them; absent: nothing. */
  exactJson?: ExactJson | undefined
}

export const MAX_MESSAGES = 2048
export const MAX_MODELS = 8
const MAX_MODEL_ID_LENGTH = 256
const MAX_TOOLS = 1024
/** `tools` and `response_format` take so many characters each, as JSON. */
const SCHEMA_CHARS_MAX = 1024 * 1024

type Fields = Record<string, unknown>

/**
 * Validates and normalizes a request body. Unknown and ignored top-level fields are dropped without error.
 * `exactJson` is what parsing the body lost of its schemas.
 * Throws ApiError `invalid_request` whose `param` is the JSON path of the first offending field.
 */
export function parseChatRequest(body: unknown, exactJson?: ExactJson): ChatRequest {
  if (!isObject(body)) throw invalid(undefined, 'The request body must be a JSON object.')
  if (isNestedDeeperThan(body, MAX_NESTING)) throw nestedTooDeep()
  const messages = parseMessages(body.messages)
  const parameters = parseParameters(body, exactJson)
  // A full tool loop is not supported: once the history holds a tool result, definitions are not forwarded.
  if (messages.some((message) => message.role === 'tool')) delete parameters.tools
  return {
    models: parseModels(body),
    messages,
    stream: boolean(body.stream, 'stream', false),
    completionLimit: parseCompletionLimit(body),
    routingProfile: oneOf(body.routing_profile, 'routing_profile', ROUTING_PROFILES),
    preferences: parsePreferences(body.provider),
    parameters,
    exactJson,
  }
}

/** The refusal of a body that is nested beyond MAX_NESTING. */
export const nestedTooDeep = (): ApiError =>
  invalid(undefined, `The request body may be nested ${MAX_NESTING} levels deep at most.`)

/** The refusal of a body of more names and values than are parsed for anybody. */
export const tooManyValues = (max: number): ApiError =>
  invalid(undefined, `The request body may hold ${max} names and values at most, however short.`)

function parseMessages(value: unknown): ChatMessage[] {
  if (!Array.isArray(value)) throw invalid('messages', '`messages` is required and must be an array.')
  if (value.length === 0) throw invalid('messages', '`messages` must hold at least one message.')
  if (value.length > MAX_MESSAGES) throw invalid('messages', `Send at most ${MAX_MESSAGES} messages.`)
  return value.map(parseMessage)
}

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

function parseModels(body: Fields): string[] {
  const model = body.model == null ? undefined : modelId(body.model, 'model')
  if (body.models == null) return [model ?? 'auto']
  if (!Array.isArray(body.models) || body.models.length < 1 || body.models.length > MAX_MODELS) {
    throw invalid('models', `\`models\` must be an array of 1 to ${MAX_MODELS} model ids.`)
  }
  const models = body.models.map((entry, index) => modelId(entry, `models[${index}]`))
  if (model !== undefined && models.indexOf(model) > 0) {
    throw invalid('models', '`model` is tried first, but `models` lists it later. Send one order.')
  }
  return [...new Set(model === undefined ? models : [model, ...models])]
}

function modelId(value: unknown, path: string): string {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_MODEL_ID_LENGTH) {
    throw invalid(path, `\`${path}\` must be a model id of 1 to ${MAX_MODEL_ID_LENGTH} characters.`)
  }
  return value
}

function parseCompletionLimit(body: Fields): number | undefined {
  if (body.max_tokens != null && body.max_completion_tokens != null) {
    throw invalid('max_tokens', 'Send only one of `max_tokens` and `max_completion_tokens`.')
  }
  const field = body.max_tokens != null ? 'max_tokens' : 'max_completion_tokens'
  const value = body[field]
  if (value == null) return undefined
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw invalid(field, `\`${field}\` must be an integer of at least 1.`)
  }
  return value as number
}

function parseParameters(body: Fields, exactJson?: ExactJson): SamplingParameters {
  const parameters: SamplingParameters = {}
  const temperature = numberBetween(body.temperature, 'temperature', 0, 2)
  const topP = numberBetween(body.top_p, 'top_p', 0, 1)
  if (temperature !== undefined) parameters.temperature = temperature
  if (topP !== undefined) parameters.top_p = topP
  if (body.tools != null) {
    if (!Array.isArray(body.tools) || body.tools.length > MAX_TOOLS || !body.tools.every(isObject)) {
      throw invalid('tools', `\`tools\` must be an array of at most ${MAX_TOOLS} tool definitions.`)
    }
    checkSize(body.tools, exactJson?.tools, 'tools')
    if (body.tools.length > 0) parameters.tools = body.tools
  }
  if (body.response_format != null) {
    if (!isObject(body.response_format) || typeof body.response_format.type !== 'string') {
      throw invalid('response_format', '`response_format` must be an object with a `type`.')
    }
    checkSize(body.response_format, exactJson?.response_format, 'response_format')
    parameters.response_format = body.response_format
  }
  return parameters
}

function checkSize(value: unknown, exact: string | undefined, path: string): void {
  const chars = Math.max(JSON.stringify(value).length, exact?.length ?? 0)
  if (chars > SCHEMA_CHARS_MAX) {
    throw invalid(path, `\`${path}\` may take ${SCHEMA_CHARS_MAX} characters of JSON at most.`)
  }
}

const PREFERENCE_FIELDS = [
  'order',
  'only',
  'ignore',
  'allow_fallbacks',
  'require_parameters',
  'data_collection',
  'zdr',
  'sort',
  'max_price',
]

function parsePreferences(value: unknown): ProviderPreferences {
  const given = value ?? {}
  if (!isObject(given)) throw invalid('provider', '`provider` must be an object.')
  // A mistyped `zdr` must not pass silently: it would route to a provider the client meant to exclude.
  rejectUnknown(given, PREFERENCE_FIELDS, 'provider')
  return {
    order: stringArray(given.order, 'provider.order') ?? [],
    only: stringArray(given.only, 'provider.only'),
    ignore: stringArray(given.ignore, 'provider.ignore') ?? [],
    allowFallbacks: boolean(given.allow_fallbacks, 'provider.allow_fallbacks', true),
    requireParameters: boolean(given.require_parameters, 'provider.require_parameters', false),
    dataCollection:
      oneOf(given.data_collection, 'provider.data_collection', ['allow', 'deny'] as const) ?? 'allow',
    zdr: boolean(given.zdr, 'provider.zdr', false),
    sort: oneOf(given.sort, 'provider.sort', SORTS),
    maxPrice: parseMaxPrice(given.max_price),
  }
}

function parseMaxPrice(value: unknown): ProviderPreferences['maxPrice'] {
  const given = value ?? {}
  if (!isObject(given)) throw invalid('provider.max_price', '`max_price` must be an object.')
  rejectUnknown(given, ['prompt', 'completion', 'request'], 'provider.max_price')
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

function rejectUnknown(given: Fields, known: string[], path: string): void {
  const unknown = Object.keys(given).find((field) => !known.includes(field))
  if (unknown === undefined) return
  throw invalid(`${path}.${unknown}`, `Unknown field. \`${path}\` takes: ${known.join(', ')}.`)
}

function boolean(value: unknown, path: string, fallback: boolean): boolean {
  if (value == null) return fallback
  if (typeof value !== 'boolean') throw invalid(path, `\`${path}\` must be true or false.`)
  return value
}

function oneOf<T extends string>(value: unknown, path: string, allowed: readonly T[]): T | undefined {
  if (value == null) return undefined
  const found = allowed.find((known) => known === value)
  if (found === undefined) throw invalid(path, `\`${path}\` must be one of ${allowed.join(', ')}.`)
  return found
}

function numberBetween(value: unknown, path: string, min: number, max: number): number | undefined {
  if (value == null) return undefined
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw invalid(path, `\`${path}\` must be a number from ${min} to ${max}.`)
  }
  return value
}

function stringArray(value: unknown, path: string): string[] | undefined {
  if (value == null) return undefined
  if (!Array.isArray(value) || value.length > 100 || !value.every((entry) => typeof entry === 'string')) {
    throw invalid(path, `\`${path}\` must be an array of at most 100 strings.`)
  }
  return value
}

function optionalString(value: unknown, path: string): string | undefined {
  if (value == null) return undefined
  if (typeof value !== 'string') throw invalid(path, `\`${path}\` must be a string.`)
  return value
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (param: string | undefined, message: string) =>
  new ApiError('invalid_request', message, { param })
