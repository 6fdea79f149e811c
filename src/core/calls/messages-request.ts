import { type Static, Type } from 'typebox'
import { NativeMessageFields, NativeSystemField, NativeToolFields } from '../api/reference/prompt-fields.ts'
import { nullable } from '../api/request-fields.ts'
import type { RoutingProfile } from '../auto/tiers.ts'
import { isObject } from '../json/json-object.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../json/json-text.ts'
import { invalid } from '../kernel/errors.ts'
import type { RequestOf } from './call-request.ts'
import {
  ChatBody,
  type ChatMessage,
  nestedTooDeep,
  normalizeChatRequest,
  type SamplingParameters,
  toolDefinitions,
} from './chat-request.ts'
import { refuseCacheCost, toChatMessages } from './native-content.ts'
import type { NativeRequest } from './native-message.ts'

/** What a call asks whose client speaks its provider's wire. */
export interface NativeContent {
  kind: 'native'
  /** What is forwarded. */
  request: NativeRequest
  /** The prompt of the request, read as that of a chat. */
  messages: ChatMessage[]
  parameters: SamplingParameters
  /** See ChatContent. */
  routingProfile?: RoutingProfile | undefined
}

const object = (name: string) =>
  Type.Optional(
    nullable(Type.Object({}, { additionalProperties: true, errorMessage: `\`${name}\` must be an object.` })),
  )
const { model, models, routing_profile, provider, stream, messages, top_p } = ChatBody.properties

/** The outer shape of a prompt on the messages wire. */
const PROMPT = {
  model,
  messages: {
    ...messages,
    items: Type.Unknown({ documented: NativeMessageFields }),
  },
  system: Type.Optional(Type.Unknown({ documented: NativeSystemField })),
  tools: toolDefinitions(NativeToolFields),
  tool_choice: object('tool_choice'),
  thinking: object('thinking'),
  output_config: object('output_config'),
  output_format: object('output_format'),
  cache_control: object('cache_control'),
}

/** The outer shape of the body of POST /v1/messages. */
export const MessagesBody = Type.Object(
  {
    ...PROMPT,
    max_tokens: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      errorMessage: '`max_tokens` is required and must be an integer of at least 1.',
    }),
    models,
    routing_profile,
    provider,
    stream,
    temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
    top_p,
    top_k: Type.Optional(nullable(Type.Integer({ minimum: 0 }))),
    stop_sequences: Type.Optional(nullable(Type.Array(Type.String(), { maxItems: 8_192 }))),
  },
  { errorMessage: { type: 'The request body must be a JSON object.' } },
)
export type MessagesBody = Static<typeof MessagesBody>

/** The body of POST /v1/messages/count_tokens. */
export const CountTokensBody = Type.Object(PROMPT, {
  errorMessage: { type: 'The request body must be a JSON object.' },
})
export type CountTokensBody = Static<typeof CountTokensBody>

/** Forwarded unchanged. The cost of a call follows from these and the completion limit, so nothing else is forwarded. */
const FORWARDED = [
  'system',
  'messages',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'cache_control',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
] as const

/** Fields whose cost is not held, with the values that cost nothing besides tokens. */
const COSTLY: Readonly<Record<string, readonly unknown[]>> = {
  container: [],
  context_management: [],
  fallbacks: [],
  inference_geo: ['global'],
  mcp_servers: [],
  service_tier: ['standard_only'],
  speed: ['standard'],
}

/**
 * Validates and normalizes the body of POST /v1/messages: the fields for routing and the hold are read as for chat
 * completions, and the rest is kept to be forwarded. Throws ApiError `invalid_request` whose `param` is the JSON path
 * of the first offending field.
 */
export function parseMessagesRequest(body: MessagesBody): RequestOf<NativeContent> {
  const native = nativeContent(readNative(body))
  const { model, models, routing_profile, provider, stream, max_tokens } = body
  const routed = { model, models, routing_profile, provider, stream, max_tokens, tools: body.tools ?? null }
  const { content, ...request } = normalizeChatRequest({ ...routed, messages: [] })
  const { routingProfile } = content
  return { ...request, content: { ...native, ...(routingProfile && { routingProfile }) } }
}

/** Validates the body of a token count. Throws as `parseMessagesRequest`. */
export const parseCountRequest = (body: CountTokensBody): NativeContent => nativeContent(readNative(body))

/** What a native call asks, read off what is to be forwarded. Throws ApiError where that is not valid. */
export const nativeContent = (request: NativeRequest): NativeContent => ({
  kind: 'native',
  request,
  messages: toChatMessages(request.system, request.messages),
  parameters: parametersOf(request),
})

function readNative(body: object): NativeRequest {
  if (isNestedDeeperThan(body, MAX_NESTING)) throw nestedTooDeep()
  const fields = body as Record<string, unknown>
  for (const [name, free] of Object.entries(COSTLY)) {
    if (fields[name] == null || free.includes(fields[name])) continue
    throw invalid(
      name,
      `\`${name}\` is not supported here: what it may cost is not known before. Leave it out.`,
    )
  }
  const native = Object.fromEntries(
    FORWARDED.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])),
  )
  refuseCacheCost(native, '')
  for (const [index, tool] of toolsOf(native).entries()) checkTool(tool, `tools[${index}]`)
  return native
}

const toolsOf = ({ tools }: NativeRequest): ReadonlyArray<Record<string, unknown>> =>
  (tools ?? []) as ReadonlyArray<Record<string, unknown>>

/** Tools with their own type are run by the provider, or add a prompt. */
function checkTool(tool: Record<string, unknown>, path: string): void {
  if (tool.type != null && tool.type !== 'custom') {
    throw invalid(`${path}.type`, 'Only tools that you define and run yourself are supported. Omit `type`.')
  }
  refuseCacheCost(tool, `${path}.`)
  if (typeof tool.name !== 'string' || tool.name === '') throw invalid(`${path}.name`, 'A tool has a name.')
  if (!isObject(tool.input_schema))
    throw invalid(`${path}.input_schema`, 'A tool has an `input_schema`, a JSON schema of an object.')
}

/** The parameters that decide about models, and that count as part of the prompt. */
function parametersOf(native: NativeRequest): SamplingParameters {
  const { temperature, top_p, output_config: config, output_format } = native
  const tools = toolsOf(native)
  const format = (config as { format?: unknown } | undefined)?.format ?? output_format
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { top_p }),
    ...(tools.length > 0 && { tools }),
    ...(typeof format === 'object' &&
      format !== null && { response_format: format as Record<string, unknown> }),
  }
}
