import { type Static, Type } from 'typebox'
import { optional } from '../api/request-fields.ts'
import type { RoutingProfile } from '../auto/routing-profiles.ts'
import { isObject } from '../json/json-object.ts'
import type { SentJson } from '../json/json-text.ts'
import { ApiError, invalid } from '../kernel/errors.ts'
import type { RequestOf } from './call-request.ts'
import {
  ChatBody,
  type ChatMessage,
  refuseDeepNesting,
  requestOf,
  type SamplingParameters,
  toolDefinitions,
} from './chat-request.ts'
import type { KeptReasoning, OpenReasoning } from './completion.ts'
import { isOwnTool, makersTool, toolsOf } from './makers-tools.ts'
import {
  HOUR_IN_CACHE,
  hasLongCaching,
  TYPE_CHARS_MAX,
  toChatMessages,
  withShortCaching,
} from './messages-content.ts'
import { chatParameters } from './messages-to-chat-parameters.ts'
import type { NativeRequest } from './messages-wire.ts'
import { fieldsWithoutEffect, passedFields } from './passed-fields.ts'
import { checkPairs } from './tool-turns.ts'

/** What a call asks whose client speaks the messages wire. */
export interface NativeContent {
  kind: 'native'
  /** Whether providers of other wires may serve it too. They get `messages` and `parameters`. Absent: false. */
  anyWire?: true
  /** What a provider of the messages wire gets. */
  request: NativeRequest
  /** See ChatContent; of the members of `request`. */
  sentJson?: SentJson | undefined
  /** The features of the wire to enable, as its header `anthropic-beta` names them. */
  betas?: readonly string[] | undefined
  /** The prompt of the request, read as that of an extended chat request. */
  messages: ChatMessage[]
  parameters: SamplingParameters
  /** What the gateway sealed for its client of the reasoning of other wires, by the sealed text. Absent: nothing. */
  opened?: Readonly<Record<string, KeptReasoning>> | undefined
  /** See ChatContent. */
  routingProfile?: RoutingProfile | undefined
}

const object = (name: string) =>
  optional(Type.Object({}, { additionalProperties: true, errorMessage: `\`${name}\` must be an object.` }))
const { model, models, routing_profile, provider, stream, messages, top_p } = ChatBody.properties

/** The outer shape of a prompt on the messages wire. */
const PROMPT = {
  model,
  messages: {
    ...messages,
    items: Type.Unknown({ documented: 'NativeMessage' }),
  },
  system: Type.Optional(Type.Unknown({ documented: 'NativeSystem' })),
  tools: toolDefinitions('NativeTool'),
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
    temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p,
    top_k: optional(Type.Integer({ minimum: 0 })),
    stop_sequences: optional(Type.Array(Type.String(), { maxItems: 8_192 })),
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
  fallbacks: [],
  inference_geo: ['global'],
  mcp_servers: [],
  service_tier: ['auto', 'standard_only'],
  speed: ['standard'],
}

const CONTEXT_MANAGEMENT_BETA = 'context-management-2025-06-27'
/** Edits that only remove content from the prompt, so that it costs no more than is held. */
const REMOVING_EDITS = ['clear_thinking_20251015', 'clear_tool_uses_20250919']
/**
 * Features that change no price and add nothing that the request does not show, by name without their date: a tool also has
 * to be declared. Others are not forwarded.
 */
const FREE_BETAS: ReadonlySet<string> = new Set([
  'advanced-tool-use',
  'claude-code',
  'compact',
  'computer-use',
  'context-management',
  'effort',
  'fine-grained-tool-streaming',
  'inline-tools',
  'interleaved-thinking',
  'mid-conversation-tool-changes',
  'structured-outputs',
  'token-efficient-tools',
  'tool-examples',
  'tool-search-tool',
])
const BETA = /^([a-z-]+)-(\d{8}|\d{4}-\d{2}-\d{2})$/

/** The features that a header `anthropic-beta` names and that are forwarded. */
const freeBetas = (header: string): string[] =>
  header
    .split(',')
    .map((name) => name.trim())
    .filter((name) => FREE_BETAS.has(BETA.exec(name)?.[1] ?? ''))

interface MessagesOptions {
  betaHeader?: string
  anyWire?: boolean
  open?: OpenReasoning
  sentJson?: SentJson | undefined
}

/**
 * Validates and normalizes a body of the messages wire: the fields for routing and the hold are read as for chat
 * completions, and the rest is kept to be forwarded. Throws ApiError `invalid_request` whose `param` is the JSON path
 * of the first offending field.
 * @param anyWire whether providers of other wires may serve the call; models must then support what it asks, as for an
 *   extended chat request
 */
export function parseMessagesRequest(
  body: MessagesBody,
  { betaHeader = '', anyWire = false, open = () => null, sentJson }: MessagesOptions = {},
): RequestOf<NativeContent> {
  const request = readNative(body, anyWire, sentJson)
  const edits = request.context_management === undefined ? [] : [CONTEXT_MANAGEMENT_BETA]
  const opened: Record<string, KeptReasoning> = {}
  const keep: OpenReasoning = (sealed) => {
    const kept = open(sealed)
    if (kept) opened[sealed] = kept
    return kept
  }
  const native = nativeContent(request, [...new Set([...freeBetas(betaHeader), ...edits])], keep)
  // Targets of this wire check it themselves.
  if (anyWire) checkPairs(native.messages, 'messages')
  const { model, models, routing_profile, provider, stream, max_tokens } = body
  const routed = { model, models, routing_profile, provider, stream, max_tokens, tools: body.tools ?? null }
  const required = anyWire ? 'but-hints' : 'none'
  const { content, ...rest } = requestOf({ ...routed, messages: [] }, noMessage, { sentJson }, required)
  const { routingProfile } = content
  return {
    ...rest,
    content: {
      ...native,
      ...(Object.keys(opened).length > 0 && { opened }),
      ...(anyWire && { anyWire }),
      ...(routingProfile && { routingProfile }),
      ...(sentJson && { sentJson }),
    },
  }
}

/**
 * The fields of a valid body that have no effect, for `x-ignored-parameters`. Where any wire may serve, planning names an hour
 * in the prompt cache that a target does not have.
 */
export const ignoredMessagesFields = (body: MessagesBody, { anyWire = false } = {}): string[] => [
  ...fieldsWithoutEffect(body, { ...MessagesBody.properties, ...COSTLY, context_management: true }),
  ...(!anyWire && hasLongCaching(body) ? [HOUR_IN_CACHE] : []),
]

const noMessage = (): never => {
  throw new Error('the messages of a native request are read by nativeContent')
}

/** Validates the body of a token count. Throws as `parseMessagesRequest`. */
export const parseCountRequest = (body: CountTokensBody, anyWire: boolean): NativeContent =>
  nativeContent(readNative(body, anyWire))

/** What a native call asks, read off what is to be forwarded. Throws ApiError where that is not valid. */
export const nativeContent = (
  request: NativeRequest,
  betas: readonly string[] = [],
  open: OpenReasoning = () => null,
): NativeContent => ({
  kind: 'native',
  request,
  ...(betas.length > 0 && { betas }),
  messages: toChatMessages(request.system, request.messages, open),
  parameters: chatParameters(request),
})

function readNative(body: object, anyWire: boolean, sentJson?: SentJson): NativeRequest {
  refuseDeepNesting(body, sentJson)
  const fields = body as Record<string, unknown>
  if (fields.thread != null) throw threadUnsupported()
  const passed = passedFields(body)
  for (const [name, free] of Object.entries(COSTLY)) {
    if (fields[name] == null || free.includes(fields[name])) continue
    if (anyWire && name === 'service_tier' && passed?.service_tier) continue
    throw invalid(
      name,
      `\`${name}\` is not supported here: what it may cost is not known before. Leave it out.`,
    )
  }
  const native = Object.fromEntries(
    FORWARDED.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]])),
  )
  // Only providers of other wires sell tiers by the call, see chatParameters.
  if (anyWire && passed?.service_tier) native.service_tier = passed.service_tier
  const edits = removingEdits(fields.context_management)
  if (edits.length > 0) native.context_management = { edits }
  for (const [index, tool] of toolsOf(native).entries()) checkTool(tool, `tools[${index}]`, anyWire)
  return anyWire ? native : withShortCaching(native)
}

/** The refusal of a conversation that the server keeps. Tool runners of the wire's libraries then send the whole history. */
const threadUnsupported = (): ApiError =>
  new ApiError(
    'invalid_request',
    '`thread` is not supported here: conversations are not kept. Send all turns in `messages`.',
    { param: 'thread', wireErrorCode: 'thread_unsupported_request' },
  )

/** The edits of the context to forward. Keeping all thinking removes nothing. */
function removingEdits(management: unknown): object[] {
  if (management == null) return []
  const path = 'context_management'
  if (!isObject(management)) throw invalid(path, `\`${path}\` must be an object.`)
  const { edits = [] } = management
  if (!Array.isArray(edits)) throw invalid(`${path}.edits`, `\`${path}.edits\` must be an array.`)
  for (const [index, edit] of edits.entries()) {
    if (isObject(edit) && REMOVING_EDITS.includes(edit.type as string)) continue
    const known = REMOVING_EDITS.join(', ')
    throw invalid(
      `${path}.edits[${index}].type`,
      `Only edits that remove content are supported here: ${known}. What others may cost is not known before.`,
    )
  }
  return edits.filter(({ type, keep }) => type !== 'clear_thinking_20251015' || keep !== 'all')
}

/** What other tools with a type of their own cost is not known before: their provider runs them. */
function checkTool(tool: Record<string, unknown>, path: string, anyWire: boolean): void {
  const isOwn = isOwnTool(tool)
  if (!isOwn && !anyWire)
    throw invalid(`${path}.type`, 'Only tools that you define and run yourself are supported. Omit `type`.')
  if (!isOwn && makersTool(tool.type) === null) {
    const type = String(tool.type).slice(0, TYPE_CHARS_MAX)
    throw invalid(
      `${path}.type`,
      `The tool \`${type}\` is not supported here: what it may cost is not known before. Leave it out.`,
    )
  }
  if (typeof tool.name !== 'string' || tool.name === '') throw invalid(`${path}.name`, 'A tool has a name.')
  if (isOwn && !isObject(tool.input_schema))
    throw invalid(`${path}.input_schema`, 'A tool has an `input_schema`, a JSON schema of an object.')
}
