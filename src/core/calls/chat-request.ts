import { type Static, Type } from 'typebox'
import { optional } from '../api/request-fields.ts'
import { createValidator } from '../api/schema-validator.ts'
import type { RoutingProfile } from '../auto/routing-profiles.ts'
import { type Fields, isObject } from '../json/json-object.ts'
import {
  type ExactField,
  type ExactJson,
  isNestedDeeperThan,
  jsonOf,
  MAX_NESTING,
  type SentJson,
} from '../json/json-text.ts'
import { ApiError, invalid } from '../kernel/errors.ts'
import type { RequestOf } from './call-request.ts'
import type { SignedReasoning, ToolCall } from './completion.ts'
import { type ContentPart, inlineChars, type MediaPart, parseContentPart } from './content-part.ts'
import type { HostedRequest } from './hosted-tools.ts'
import type { PassedFields } from './passed-fields.ts'
import { parsePreferences, type RequiredParameters } from './provider-preferences.ts'
import { CHAT_PARAMETERS, type ReasoningEffort, tokenLimit } from './request-parameters.ts'
import { sentMessages } from './sent-messages.ts'

export const ROLES = ['system', 'user', 'assistant', 'tool'] as const
/** Developer messages exist only in extended requests; models without this role receive them as system messages. */
export const EXTENDED_ROLES = [...ROLES, 'developer'] as const
export type Role = (typeof EXTENDED_ROLES)[number]

/** A normalized message; other fields are dropped. */
export interface ChatMessage {
  role: Role
  content: string | readonly ContentPart[]
  name?: string
  tool_call_id?: string
  /** For an assistant in an extended request: its tool calls; the following messages have one result for each. Never empty. */
  tool_calls?: readonly ToolCall[]
  /** For an assistant in an extended request: its reasoning before the calls, if the client returns it. */
  reasoning?: string
  /** The same: what its maker signed of it. */
  signed?: readonly SignedReasoning[]
}

/** The parameters that are forwarded to a provider besides the messages. Names as on the wire. */
export interface SamplingParameters {
  temperature?: number
  top_p?: number
  tools?: ReadonlyArray<Record<string, unknown>>
  response_format?: Record<string, unknown>
  /** The following are of extended requests only; values equal to the default of every wire are omitted. */
  tool_choice?: ToolChoice
  parallel_tool_calls?: false
  stop?: readonly string[]
  seed?: number
  presence_penalty?: number
  frequency_penalty?: number
  logprobs?: true
  top_logprobs?: number
  reasoning_effort?: ReasoningEffort
  passed?: PassedFields
}

/** Which tools the next turn calls: none, at least one, or this one. */
export type ToolChoice = 'none' | 'required' | { type: 'function'; function: { name: string } }

/** What a chat completion asks. */
export interface ChatContent {
  kind: 'chat'
  messages: ChatMessage[]
  parameters: SamplingParameters
  /** The exact text of `tools` and `response_format`, if parsing alters it; absent: it does not. */
  exactJson?: ExactJson | undefined
  /** The received bytes of `messages` and `tools`, where they state what these say. Only in the process that read them. */
  sentJson?: SentJson | undefined
  /**
   * Whether the request has the extended contract (extended-request.ts): its response contains reasoning and log
   * probabilities, and tokens of a provider's prompt cache are charged at their own rates. Absent: false.
   */
  extended?: true
  /** What only providers of the responses wire get; absent: nothing. */
  hosted?: HostedRequest | undefined
  /** Absent: as the catalog says. */
  routingProfile?: RoutingProfile | undefined
}

export type ChatRequest = RequestOf<ChatContent>

export const MAX_MESSAGES = 2048
export const MAX_TOOLS = 1024
/** Maximum length of `tools` and of `response_format` as JSON. */
const SCHEMA_CHARS_MAX = 1024 * 1024

/** The tools in the format of each wire. */
export const toolDefinitions = (documented?: string) =>
  optional(
    Type.Array(Type.Unsafe<Record<string, unknown>>({ type: 'object', ...(documented && { documented }) }), {
      maxItems: MAX_TOOLS,
      errorMessage: `\`tools\` must be an array of at most ${MAX_TOOLS} tool definitions.`,
    }),
  )

/** The outer shape of a chat completion's body. Other top-level fields are accepted and dropped. */
export const ChatBody = Type.Object(
  {
    messages: Type.Array(Type.Unknown({ documented: 'ChatMessage' }), {
      minItems: 1,
      maxItems: MAX_MESSAGES,
      errorMessage: {
        type: '`messages` is required and must be an array.',
        minItems: '`messages` must hold at least one message.',
        maxItems: `Send at most ${MAX_MESSAGES} messages.`,
      },
    }),
    temperature: CHAT_PARAMETERS.temperature,
    top_p: CHAT_PARAMETERS.top_p,
    tools: toolDefinitions(),
    response_format: optional(
      Type.Object(
        { type: Type.String() },
        { errorMessage: '`response_format` must be an object with a `type`.' },
      ),
    ),
    model: CHAT_PARAMETERS.model,
    models: CHAT_PARAMETERS.models,
    stream: optional(Type.Boolean()),
    max_tokens: CHAT_PARAMETERS.max_tokens,
    max_completion_tokens: optional(tokenLimit),
    routing_profile: CHAT_PARAMETERS.routing_profile,
    provider: CHAT_PARAMETERS.provider,
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
 * Normalizes a body that matches its schema, and validates what the schema does not: messages and dependencies between
 * fields. `exactJson` is the schemas' text that parsing alters. Throws ApiError `invalid_request` whose `param` is the
 * JSON path of the first offending field.
 */
export function normalizeChatRequest(
  body: ChatBody,
  exactJson?: ExactJson,
  sentJson?: SentJson,
): ChatRequest {
  const request = requestOf(body, parseMessage, { exactJson, sentJson })
  // A full tool loop is not supported: once the history contains a tool result, definitions are not forwarded.
  const { messages, parameters } = request.content
  if (messages.some((message) => message.role === 'tool')) delete parameters.tools
  request.content.sentJson = sentMessages(messages, body.messages, sentJson)
  return request
}

/** What is known of a body besides its value. */
export interface ReceivedJson {
  exactJson?: ExactJson | undefined
  sentJson?: SentJson | undefined
}

/** Throws where a body is nested too deeply. Members whose bytes may be sent were looked through for that. */
export function refuseDeepNesting(body: object, sentJson: SentJson | undefined): void {
  for (const member of Object.values(body))
    if (!sentJson?.has(member) && isNestedDeeperThan(member, MAX_NESTING - 1)) throw nestedTooDeep()
}

/**
 * Reads the fields that all dialects share.
 * @param readMessage reads one message; throws ApiError
 * @param required the parameters that are required if the body does not say
 */
export function requestOf(
  body: ChatBody,
  readMessage: (value: unknown, index: number) => ChatMessage,
  received: ReceivedJson,
  required?: RequiredParameters,
): ChatRequest {
  const { exactJson, sentJson } = received
  refuseDeepNesting(body, sentJson)
  const exact = exactOf(exactJson, body.tools)
  const content: ChatContent = {
    kind: 'chat',
    messages: body.messages.map(readMessage),
    parameters: parseParameters(body, received),
    ...(exact && { exactJson: exact }),
    ...(body.routing_profile != null && { routingProfile: body.routing_profile }),
  }
  return {
    models: parseModels(body),
    stream: body.stream ?? false,
    completionLimit: parseCompletionLimit(body),
    preferences: parsePreferences(body.provider ?? {}, required),
    content,
  }
}

/**
 * Rejects a request with too much text, which would be held, counted and scored: the body without its media. Throws
 * ApiError `request_too_large`.
 */
export function refuseLongText(media: readonly MediaPart[], bodyBytes: number, limitBytes: number): void {
  if (bodyBytes <= limitBytes) return
  const mediaBytes = media.reduce((sum, part) => sum + inlineChars(part), 0)
  if (bodyBytes - mediaBytes <= limitBytes) return
  throw new ApiError(
    'request_too_large',
    `The request body may have at most ${limitBytes} bytes besides its media. Shorten the messages.`,
  )
}

/** The parts of a prompt that are not text, in their order. */
export const mediaParts = (messages: readonly ChatMessage[]): MediaPart[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text'),
  )

/** Characters of text in a message, including its tool calls. */
export function textLength({ content, tool_calls: calls = [] }: ChatMessage): number {
  const ofCalls = calls.reduce(
    (sum, call) => sum + call.function.name.length + call.function.arguments.length,
    0,
  )
  if (typeof content === 'string') return content.length + ofCalls
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), ofCalls)
}

export const nestedTooDeep = (): ApiError =>
  invalid(undefined, `The request body may be nested at most ${MAX_NESTING} levels deep.`)

export const tooManyValues = (max: number): ApiError =>
  invalid(undefined, `The request body may contain at most ${max} names and values.`)

function parseMessage(value: unknown, index: number): ChatMessage {
  return readMessage(value, `messages[${index}]`, ROLES)
}

/** Reads the fields of a message that all dialects share. Throws ApiError `invalid_request`. */
export function readMessage(value: unknown, path: string, roles: readonly Role[]): ChatMessage {
  if (!isObject(value)) throw invalid(path, 'Each message must be an object.')
  const role = roles.find((known) => known === value.role)
  if (!role) throw invalid(`${path}.role`, `\`role\` must be one of ${roles.join(', ')}.`)
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

function parseParameters(body: ChatBody, received: ReceivedJson): SamplingParameters {
  const { temperature, top_p, tools, response_format } = body
  checkSize(tools, 'tools', received)
  checkSize(response_format, 'response_format', received)
  return {
    ...(temperature != null && { temperature }),
    ...(top_p != null && { top_p }),
    ...(tools != null && tools.length > 0 && { tools: typedTools(tools) }),
    ...(response_format != null && { response_format }),
  }
}

/** A tool without a type is a function. Some client libraries leave out what is the only type. */
const isTyped = (tool: Fields): boolean => tool.type != null || !isObject(tool.function)
const typedTools = (tools: Fields[]): Fields[] =>
  tools.every(isTyped) ? tools : tools.map((tool) => (isTyped(tool) ? tool : { ...tool, type: 'function' }))

/** The exact text of what is sent as the client wrote it. */
const exactOf = (
  exactJson: ExactJson | undefined,
  tools: Fields[] | null | undefined,
): ExactJson | undefined =>
  exactJson?.tools === undefined || tools?.every(isTyped) === true
    ? exactJson
    : { ...exactJson, tools: undefined }

/** The most characters that are written for one received byte: 1e20 becomes 21 digits. */
const WRITTEN_CHARS_MAX = 6

function checkSize(
  value: object | null | undefined,
  path: ExactField,
  { exactJson, sentJson }: ReceivedJson,
): void {
  if (value == null) return
  const bytes = sentJson?.get(value)
  if (bytes && bytes.length * WRITTEN_CHARS_MAX <= SCHEMA_CHARS_MAX) return
  const chars = Math.max(jsonOf(value).length, exactJson?.[path]?.length ?? 0)
  if (chars > SCHEMA_CHARS_MAX) {
    throw invalid(path, `\`${path}\` may take ${SCHEMA_CHARS_MAX} characters of JSON at most.`)
  }
}

export function optionalString(value: unknown, path: string): string | undefined {
  if (value == null) return undefined
  if (typeof value !== 'string') throw invalid(path, `\`${path}\` must be a string.`)
  return value
}
