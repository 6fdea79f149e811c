import { type Static, Type } from 'typebox'
import { optional } from '../api/request-fields.ts'
import { isObject } from '../json/json-object.ts'
import { isNestedDeeperThan, MAX_NESTING } from '../json/json-text.ts'
import { ApiError, invalid } from '../kernel/errors.ts'
import { ChatBody, type ChatRequest, nestedTooDeep } from './chat-request.ts'
import { ExtendedBody, parseExtendedRequest } from './extended-request.ts'
import { type HostedRequest, hostedInput } from './hosted-tools.ts'
import { fieldsWithoutEffect, passedFields } from './passed-fields.ts'
import { RESPONSES_MEMBERS } from './read-members.ts'
import { GIVEN_EFFORTS } from './request-parameters.ts'
import { type InputContext, type InputItems, readInput } from './responses-input.ts'
import { addedTools, type ResponsesTools, readTools } from './responses-tools.ts'
import { plainName } from './unread-members.ts'

/**
 * The dialect of POST /v1/responses: one turn, which may continue stored ones. It is mapped to an extended chat request,
 * which validates it.
 */

/** What is included in a response if it asks. */
export const ENCRYPTED_REASONING = 'reasoning.encrypted_content'
const LOGPROBS = 'message.output_text.logprobs'

const Metadata = Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), {
  maxProperties: 16,
  errorMessage: '`metadata` must be an object of at most 16 texts of at most 512 characters.',
})

const Format = Type.Object(
  {
    type: Type.Enum(['text', 'json_object', 'json_schema']),
    name: Type.Optional(Type.String()),
    description: optional(Type.String()),
    schema: Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: 'object' })),
    strict: optional(Type.Boolean()),
  },
  { errorMessage: { type: '`text.format` must be an object with a `type`.' } },
)

/** The outer shape of a response's body. Other top-level fields are accepted and dropped. */
export const ResponsesBody = Type.Object(
  {
    input: Type.Unsafe<string | unknown[]>({
      type: ['string', 'array'],
      minLength: 1,
      minItems: 1,
      description:
        'A text, or items: message, function_call, function_call_output, custom_tool_call, custom_tool_call_output, reasoning, compaction, compaction_trigger',
      documented: 'ResponsesInput',
      errorMessage: '`input` is required: a text, or an array of at least one item.',
    }),
    instructions: optional(Type.String()),
    tools: optional(
      Type.Array(Type.Unsafe<Record<string, unknown>>({ type: 'object', documented: 'ResponsesTool' }), {
        errorMessage: { type: '`tools` must be an array.' },
      }),
    ),
    tool_choice: Type.Optional(Type.Unknown({ documented: 'ResponsesToolChoice' })),
    parallel_tool_calls: optional(Type.Boolean()),
    max_output_tokens: ChatBody.properties.max_tokens,
    temperature: ChatBody.properties.temperature,
    top_p: ChatBody.properties.top_p,
    include: optional(
      Type.Array(Type.String(), {
        description:
          '`reasoning.encrypted_content`: reasoning items can be passed back. `message.output_text.logprobs`: log probabilities. Others are ignored',
      }),
    ),
    text: optional(Type.Object({ format: optional(Format) })),
    reasoning: optional(
      Type.Object({
        effort: optional(Type.String({ documented: { enum: [...GIVEN_EFFORTS, null] } })),
      }),
    ),
    model: ChatBody.properties.model,
    top_logprobs: ExtendedBody.properties.top_logprobs,
    models: ChatBody.properties.models,
    routing_profile: ChatBody.properties.routing_profile,
    provider: ChatBody.properties.provider,
    stream: ChatBody.properties.stream,
    store: optional(
      Type.Boolean({ description: 'Default true: the response can be read and continued for 30 days' }),
    ),
    background: optional(Type.Boolean({ description: 'Returns at once; the response is read by its id' })),
    previous_response_id: optional(
      Type.String({ maxLength: 200, description: 'The stored response that this one continues' }),
    ),
    metadata: optional(Metadata),
    conversation: Type.Optional(Type.Unknown({ documented: { type: 'null' } })),
    prompt: Type.Optional(Type.Unknown({ documented: { type: 'null' } })),
  },
  { errorMessage: { type: 'The request body must be a JSON object.' } },
)
export type ResponsesBody = Static<typeof ResponsesBody>

/** A request for a response. */
export interface ResponsesRequest {
  call: ChatRequest
  /** By the names of the functions that they are offered as. */
  declaredTools: ResponsesTools['declared']
  /** What the call leaves out of the body. */
  ignored: string[]
  /** The completion is a summary of the conversation. */
  compacts: boolean
}

/**
 * Normalizes a body that matches its schema. Throws ApiError `invalid_request` whose `param` is the JSON path of the
 * first offending field.
 */
export function normalizeResponsesRequest(body: ResponsesBody, context: InputContext): ResponsesRequest {
  if (isNestedDeeperThan(body, MAX_NESTING)) throw nestedTooDeep()
  refuseUnsupported(body)
  const { model, models, routing_profile, provider, stream, temperature, top_p, parallel_tool_calls } = body
  const added = addedTools(body.input)
  const tools = readTools(added.length > 0 ? [...(body.tools ?? []), ...added] : body.tools, body.tool_choice)
  const input = readInput(body, context, tools.functionName)
  const chat = {
    model,
    models,
    routing_profile,
    provider,
    stream,
    temperature,
    top_p,
    parallel_tool_calls,
    messages: input.messages,
    max_completion_tokens: body.max_output_tokens,
    tools: tools.tools,
    ...(input.compacts
      ? // The tools that the conversation called stay declared.
        tools.tools?.length && { tool_choice: 'none' }
      : { tool_choice: tools.choice, response_format: toResponseFormat(body.text?.format) }),
    reasoning_effort: body.reasoning?.effort,
    ...((body.top_logprobs || body.include?.includes(LOGPROBS)) && {
      ...{ logprobs: true, top_logprobs: body.top_logprobs },
    }),
    ...passedFields(body),
  }
  try {
    const call = parseExtendedRequest(chat, undefined, context.openReasoning)
    call.content.hosted = hostedOf(body, context, tools, input)
    const fields = fieldsWithoutEffect(body, ResponsesBody.properties, RESPONSES_MEMBERS)
    const included = (body.include ?? []).filter(
      (name) =>
        name !== ENCRYPTED_REASONING && name !== LOGPROBS && !(call.content.hosted && isOfHosted(name)),
    )
    const ignored = [
      ...[...tools.ignored, ...input.ignored, ...fields],
      ...included.map((name) => `include (${plainName(name)})`),
    ]
    return { call, declaredTools: tools.declared, ignored, compacts: input.compacts }
  } catch (error) {
    throw error instanceof ApiError ? inOwnWords(error, input, tools) : error
  }
}

/** What is included in a response of the tools of its provider. */
const isOfHosted = (name: string): boolean =>
  /^(web_search_call|code_interpreter_call|computer_call_output)\./.test(name)

/** Names in the header of what is left out; clients bound it. */
const NAMED_ITEMS_MAX = 32

/** What only a provider of this wire gets; undefined: nothing. */
function hostedOf(
  { input, instructions, include }: ResponsesBody,
  { history, openReasoning }: InputContext,
  { hosted: tools, functionName }: ResponsesTools,
  { hosted: items, compacts }: InputItems,
): HostedRequest | undefined {
  if (compacts || (tools.length === 0 && items.length === 0)) return undefined
  const given = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const sent =
    items.length === 0
      ? null
      : hostedInput([...history, ...given].filter(isObject), functionName, openReasoning)
  if (sent && instructions) sent.unshift({ type: 'message', role: 'system', content: instructions })
  return {
    tools,
    itemNames: items.slice(0, NAMED_ITEMS_MAX),
    include: (include ?? []).filter(isOfHosted),
    ...(sent && { input: sent }),
  }
}

/** State and options that are kept elsewhere than in stored responses. */
const UNSUPPORTED = {
  conversation:
    'Continue a response with `previous_response_id`, or send the items of earlier turns in `input`.',
  prompt: 'Send `instructions` and `input`.',
} as const

function refuseUnsupported(body: ResponsesBody): void {
  for (const [param, instead] of Object.entries(UNSUPPORTED))
    if (body[param as keyof typeof UNSUPPORTED] != null)
      throw new ApiError('unsupported_shape', `\`${param}\` is not supported. ${instead}`, { param })
  if (!body.background) return
  if (body.store === false) throw invalid('store', 'A response in `background` is stored. Leave out `store`.')
}

function toResponseFormat(format: Static<typeof Format> | null | undefined): object | undefined {
  if (format == null || format.type === 'text') return undefined
  const { type, ...definition } = format
  return type === 'json_object' ? { type } : { type, json_schema: definition }
}

/** The paths of the chat request in a response's body. */
const PATHS: ReadonlyArray<readonly [RegExp, string]> = [
  [/^tool_choice\.function\b/, 'tool_choice'],
  [/^response_format\b/, 'text.format'],
  [/^reasoning_effort\b/, 'reasoning.effort'],
  [/^max_completion_tokens\b/, 'max_output_tokens'],
]

/** Converts an error of the chat request to one of the response request it was made from. */
function inOwnWords(error: ApiError, { pathOf }: InputItems, tools: ResponsesTools): ApiError {
  const { param } = error.details
  if (param === undefined) return error
  const [, message, content = ''] = /^messages(?:\[(\d+)\](\.content.*)?)?/.exec(param) ?? []
  const own = param.startsWith('messages')
    ? `${pathOf(message === undefined ? null : Number(message))}${content}`
    : PATHS.reduce((path, [theirs, ours]) => path.replace(theirs, ours), param).replace(
        /^tools\[(\d+)\](?:\.function\b)?/,
        (_, index) => tools.pathOf(Number(index)),
      )
  return new ApiError(error.code, error.message.replaceAll(`\`${param}\``, `\`${own}\``), {
    ...error.details,
    param: own,
  })
}
