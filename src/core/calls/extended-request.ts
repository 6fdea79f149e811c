import { type Static, Type } from 'typebox'
import { optional } from '../api/request-fields.ts'
import { createValidator } from '../api/schema-validator.ts'
import { type Fields, isObject } from '../json/json-object.ts'
import type { ExactJson, SentJson } from '../json/json-text.ts'
import { ApiError, invalid } from '../kernel/errors.ts'
import {
  ChatBody,
  type ChatMessage,
  type ChatRequest,
  EXTENDED_ROLES,
  MAX_TOOLS,
  optionalString,
  readMessage,
  requestOf,
  type SamplingParameters,
  type ToolChoice,
} from './chat-request.ts'
import type { OpenReasoning, ToolCall } from './completion.ts'
import { effortAsked, withStandardParts, withToolsOfFunctions } from './field-spellings.ts'
import { fieldsWithoutEffect, passedFields } from './passed-fields.ts'
import { CHAT_MEMBERS } from './read-members.ts'
import { EXTENDED_PARAMETERS } from './request-parameters.ts'
import { sentMessages } from './sent-messages.ts'
import { checkPairs, joinTurns } from './tool-turns.ts'
import { isGiven } from './unread-members.ts'

/**
 * The extended dialect of a chat request (POST /v2/chat/completions): tool loops, and fields that the stable contract
 * lacks. It produces the same ChatRequest with more fields.
 */

const FUNCTION_NAME = '^[A-Za-z0-9_-]{1,64}$'
const FUNCTION_NAMES = new RegExp(FUNCTION_NAME)

const Definition = Type.Object({
  name: Type.String({
    pattern: FUNCTION_NAME,
    errorMessage: '`{param}` takes 1 to 64 letters, digits, underscores and hyphens.',
  }),
  description: optional(Type.String()),
  parameters: optional(Type.Unsafe<Record<string, unknown>>({ type: 'object' })),
  strict: optional(Type.Boolean()),
})

const ToolType = Type.Enum(['function'], {
  errorMessage:
    '`{param}` must be function. A tool that a provider runs has no price here; custom tools: POST /v2/responses.',
})

const Tool = Type.Object(
  { type: optional(ToolType), function: Definition },
  { errorMessage: { type: 'Each tool must be an object with `type` and `function`.' } },
)

const Named = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }

/** `any` is another word for `required`. */
const Choice = Type.Unsafe<'auto' | 'any' | ToolChoice | null>({
  anyOf: [
    { type: 'string', enum: ['none', 'auto', 'required', 'any'] },
    {
      type: 'object',
      required: ['function'],
      properties: { type: { enum: ['function', null] }, function: Named },
    },
    { type: 'null' },
  ],
  errorMessage: '`tool_choice` must be none, auto, required, or the function to call.',
})

const FunctionCall = Type.Unsafe<'auto' | 'none' | { name: string } | null>({
  anyOf: [{ type: 'string', enum: ['none', 'auto'] }, Named, { type: 'null' }],
  errorMessage: '`function_call` must be none, auto, or the function to call.',
})

const budget = optional(Type.Integer({ minimum: 0 }))
const effort = EXTENDED_PARAMETERS.reasoning_effort

/** The outer shape of an extended chat completion's body. Other top-level fields are dropped. */
export const ExtendedBody = Type.Object(
  {
    ...ChatBody.properties,
    messages: { ...ChatBody.properties.messages, items: Type.Unknown({ documented: 'ExtendedMessage' }) },
    tools: optional(
      Type.Array(Tool, {
        maxItems: MAX_TOOLS,
        errorMessage: { type: '`tools` must be an array.' },
      }),
    ),
    tool_choice: Type.Optional(Choice),
    parallel_tool_calls: optional(Type.Boolean()),
    functions: optional(Type.Array(Definition, { maxItems: MAX_TOOLS })),
    function_call: Type.Optional(FunctionCall),
    stop: EXTENDED_PARAMETERS.stop,
    seed: EXTENDED_PARAMETERS.seed,
    n: optional(
      Type.Integer({ minimum: 1, maximum: 1, errorMessage: '`n` must be 1: a call has one completion.' }),
    ),
    presence_penalty: EXTENDED_PARAMETERS.presence_penalty,
    frequency_penalty: EXTENDED_PARAMETERS.frequency_penalty,
    logprobs: optional(Type.Boolean()),
    top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
    reasoning_effort: effort,
    reasoning: optional(Type.Object({ effort, max_tokens: budget, enabled: optional(Type.Boolean()) })),
    thinking: optional(Type.Object({ type: optional(Type.String()), budget_tokens: budget })),
    stream_options: optional(Type.Object({ include_usage: optional(Type.Boolean()) })),
  },
  { errorMessage: { type: 'The request body must be a JSON object.' } },
)
export type ExtendedBody = Static<typeof ExtendedBody>

const refusalOf = createValidator(ExtendedBody)

/** Validates and normalizes a body of any shape. Throws ApiError `invalid_request`. */
export function parseExtendedRequest(
  body: unknown,
  exactJson?: ExactJson,
  open?: OpenReasoning,
): ChatRequest {
  const refusal = refusalOf(body)
  if (refusal) throw refusal
  return normalizeExtendedRequest(body as ExtendedBody, exactJson, open)
}

/**
 * Normalizes a body that matches its schema, and validates what the schema does not. Models must support the parameters
 * that are no hints, unless `provider.require_parameters` is false. Throws ApiError `invalid_request` whose `param` is the JSON path of
 * the first offending field.
 */
export function normalizeExtendedRequest(
  body: ExtendedBody,
  exactJson?: ExactJson,
  open: OpenReasoning = () => null,
  sentJson?: SentJson,
): ChatRequest {
  if (body.provider?.require_parameters !== false) refuseUnhonoured(body)
  const standard = withToolsOfFunctions(body)
  const exact = standard.tools === body.tools ? exactJson : { ...exactJson, tools: undefined }
  const read = (value: unknown, index: number) => readExtendedMessage(value, index, open)
  const request = requestOf(standard as ChatBody, read, { exactJson: exact, sentJson }, 'but-hints')
  const { messages, parameters } = request.content
  checkPairs(messages)
  checkBreakpoints(messages)
  Object.assign(parameters, extendedParameters(standard))
  const joined = joinTurns(messages)
  const sent = sentMessages(joined, body.messages, sentJson)
  return { ...request, content: { ...request.content, messages: joined, sentJson: sent, extended: true } }
}

/** Fields of the official client library that change what an answer is and that no model is sent, with what to use. */
const UNHONOURED = {
  audio: 'Speech has its own surface: POST /v2/audio/speech.',
  logit_bias: 'Tokens differ between models.',
  modalities: 'A completion is text.',
  moderation: 'Verdicts have their own surface: POST /v2/moderations.',
  web_search_options: 'Declare a function that searches as one of `tools`.',
}
function refuseUnhonoured(body: object): void {
  for (const [name, remedy] of Object.entries(UNHONOURED)) {
    const value = (body as Fields)[name]
    if (value === false || !isGiven(name, value)) continue
    const message = `\`${name}\` is not supported. ${remedy} Set \`provider.require_parameters\` to false to ignore it.`
    throw new ApiError('unsupported_shape', message, { param: name })
  }
}

/** The fields of a valid body that have no effect, for `x-ignored-parameters`. */
export const ignoredFields = (body: object): string[] =>
  fieldsWithoutEffect(body, ExtendedBody.properties, CHAT_MEMBERS)

function readExtendedMessage(given: unknown, index: number, open: OpenReasoning): ChatMessage {
  const value = withStandardParts(given)
  const path = `messages[${index}]`
  const message = withBreakpoints(readMessage(value, path, EXTENDED_ROLES), value, path)
  const {
    tool_calls: calls,
    reasoning,
    reasoning_content: reasoningContent,
    reasoning_details: details,
  } = value as Record<string, unknown>
  if (message.role === 'tool') {
    if (!message.tool_call_id)
      throw invalid(`${path}.tool_call_id`, 'A tool message names the call that it answers.')
    if (typeof message.content !== 'string' && message.content.some(({ type }) => type !== 'text'))
      throw invalid(`${path}.content`, 'The content of a tool message is text.')
  }
  if (message.role !== 'assistant' || calls == null) return message
  if (!Array.isArray(calls)) throw invalid(`${path}.tool_calls`, '`tool_calls` must be an array.')
  if (calls.length === 0) return message
  const toolCalls = calls.map((call, position) => readToolCall(call, `${path}.tool_calls[${position}]`))
  const thought = [reasoning, reasoningContent].find((text) => typeof text === 'string' && text !== '')
  const signed = (Array.isArray(details) ? details : []).flatMap((detail) =>
    isObject(detail) && typeof detail.data === 'string' ? (open(detail.data)?.signed ?? []) : [],
  )
  return {
    ...message,
    tool_calls: toolCalls,
    ...(typeof thought === 'string' && { reasoning: thought }),
    ...(signed.length > 0 && { signed }),
  }
}

/** Marks the parts of a message with `cache_control`. */
function withBreakpoints(message: ChatMessage, value: unknown, path: string): ChatMessage {
  const { content } = value as { content: unknown }
  if (typeof message.content === 'string' || !Array.isArray(content)) return message
  const parts = message.content.map((part, index) =>
    isBreakpoint(content[index].cache_control, `${path}.content[${index}].cache_control`)
      ? { ...part, cacheBreakpoint: true as const }
      : part,
  )
  return { ...message, content: parts }
}

/** All last five minutes: longer ones have other prices. */
const CACHE_LIFETIMES: ReadonlySet<unknown> = new Set(['5m', '1h'])

function isBreakpoint(control: unknown, path: string): boolean {
  if (control == null) return false
  if (isObject(control) && control.type === 'ephemeral' && CACHE_LIFETIMES.has(control.ttl ?? '5m'))
    return true
  throw invalid(path, '`cache_control` takes {"type": "ephemeral"}, which lasts five minutes.')
}

/** The maximum of the providers that support them. */
const BREAKPOINTS_MAX = 4

function checkBreakpoints(messages: readonly ChatMessage[]): void {
  const marked = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter((part) => part.cacheBreakpoint),
  )
  if (marked.length > BREAKPOINTS_MAX)
    throw invalid('messages', `\`cache_control\` may mark ${BREAKPOINTS_MAX} content parts at most.`)
}

function readToolCall(value: unknown, path: string): ToolCall {
  if (!isObject(value) || (value.type ?? 'function') !== 'function' || !isObject(value.function))
    throw invalid(path, 'A tool call must be an object with `id`, `type` "function" and `function`.')
  const id = optionalString(value.id, `${path}.id`)
  const name = optionalString(value.function.name, `${path}.function.name`)
  if (!id) throw invalid(`${path}.id`, 'A tool call has an id, which its tool message repeats.')
  if (!FUNCTION_NAMES.test(name ?? ''))
    throw invalid(
      `${path}.function.name`,
      'A function name must have 1 to 64 letters, digits, underscores and hyphens.',
    )
  const text = optionalString(value.function.arguments, `${path}.function.arguments`) ?? ''
  return { id, type: 'function', function: { name: name!, arguments: text } }
}

function extendedParameters(body: ExtendedBody): SamplingParameters {
  const { seed, presence_penalty, frequency_penalty, logprobs, top_logprobs: top } = body
  const effort = effortAsked(body)
  const passed = passedFields(body)
  const stop = typeof body.stop === 'string' ? [body.stop] : (body.stop ?? [])
  if (top && !logprobs) throw invalid('top_logprobs', '`top_logprobs` needs `logprobs` to be true.')
  const choice = toolChoice(body)
  return {
    ...(choice && { tool_choice: choice }),
    ...(body.tools?.length && body.parallel_tool_calls === false && { parallel_tool_calls: false }),
    ...(stop.length > 0 && { stop }),
    ...(seed != null && { seed }),
    ...(presence_penalty && { presence_penalty }),
    ...(frequency_penalty && { frequency_penalty }),
    ...(logprobs && { logprobs }),
    ...(top && { top_logprobs: top }),
    ...(effort && effort !== 'default' && { reasoning_effort: effort }),
    ...(passed && { passed }),
  }
}

/** Undefined if the model decides, or has no tools. Also checks that names of tools are unique. */
function toolChoice({ tools, tool_choice: choice }: ExtendedBody): ToolChoice | undefined {
  const names = (tools ?? []).map((tool) => tool.function.name)
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) < index)
      throw invalid(`tools[${index}].function.name`, `Two tools are named ${name}.`)
  }
  if (choice == null || choice === 'auto') return undefined
  if (names.length === 0) {
    if (choice === 'none') return undefined
    throw invalid('tool_choice', '`tool_choice` needs `tools` to choose from.')
  }
  if (typeof choice === 'string') return choice === 'any' ? 'required' : choice
  const { name } = choice.function
  if (!names.includes(name)) throw invalid('tool_choice.function.name', `No tool is named ${name}.`)
  return { type: 'function', function: { name } }
}
