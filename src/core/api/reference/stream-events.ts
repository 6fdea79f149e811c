import { type TSchema, Type } from 'typebox'
import {
  ChatCompletionBody,
  EXTENDED_MESSAGE,
  ExtendedUsage,
  Logprobs,
} from '../completions/chat-completion.ts'
import { MessageBody, MessageUsage, NativeBlock } from '../completions/message.ts'
import { ResponseBody, ResponseContent, ResponseItem } from '../completions/response.ts'
import { nullable } from '../request-fields.ts'
import { ErrorBody } from '../shared.ts'

/** The data of the server-sent events of each surface. For documentation only: they are serialized elsewhere. */

const { id, created, model, usage } = ChatCompletionBody.properties

const ToolCallDelta = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  id: Type.Optional(Type.String()),
  type: Type.Optional(Type.Literal('function')),
  function: Type.Optional(
    Type.Object({ name: Type.Optional(Type.String()), arguments: Type.Optional(Type.String()) }),
  ),
})

const delta = {
  role: Type.Optional(Type.Literal('assistant')),
  content: Type.Optional(Type.String()),
  refusal: Type.Optional(Type.String()),
  tool_calls: Type.Optional(Type.Array(ToolCallDelta)),
}

const chunk = (fields: Record<string, TSchema>, choice: Record<string, TSchema>, used: TSchema) =>
  Type.Object({
    id,
    object: Type.Literal('chat.completion.chunk'),
    created,
    model,
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        delta: Type.Object(fields),
        ...choice,
        finish_reason: nullable(Type.String({ description: '`error` in the last chunk of a broken stream' })),
      }),
    ),
    usage: used,
    error: Type.Optional(ErrorBody.properties.error),
  })

const Done = Type.Literal('[DONE]')

/** Of POST /v1/chat/completions. */
export const ChatEvents = Type.Union([chunk(delta, {}, usage), Done])

/** Of POST /v2/chat/completions. */
export const ExtendedEvents = Type.Union([
  chunk(
    { ...delta, ...EXTENDED_MESSAGE },
    { logprobs: Type.Optional(Logprobs) },
    Type.Optional(ExtendedUsage),
  ),
  Done,
])

const event = (type: string, fields: Record<string, TSchema> = {}) =>
  Type.Object({ type: Type.Literal(type), ...fields })
const index = Type.Integer({ minimum: 0 })
const piece = (type: string, field: string) => event(type, { [field]: Type.String() })

/** Of POST /v1/messages. */
export const MessagesEvents = Type.Union([
  event('message_start', { message: MessageBody }),
  event('content_block_start', { index, content_block: NativeBlock }),
  event('content_block_delta', {
    index,
    delta: Type.Union([
      piece('text_delta', 'text'),
      piece('thinking_delta', 'thinking'),
      piece('signature_delta', 'signature'),
      piece('input_json_delta', 'partial_json'),
      event('citations_delta', { citation: Type.Object({}) }),
    ]),
  }),
  event('content_block_stop', { index }),
  event('message_delta', {
    delta: Type.Object({
      stop_reason: MessageBody.properties.stop_reason,
      stop_sequence: MessageBody.properties.stop_sequence,
    }),
    usage: MessageUsage,
  }),
  event('message_stop'),
  event('ping'),
  event('error', { error: ErrorBody.properties.error, request_id: Type.String() }),
])

const numbered = (type: string, fields: Record<string, TSchema>) =>
  event(type, { sequence_number: index, ...fields })
const ofItem = { item_id: Type.String(), output_index: index }
const ofPart = { ...ofItem, content_index: index }
const text = Type.String()

/** Of POST /v1/responses. */
export const ResponsesEvents = Type.Union([
  ...['created', 'in_progress', 'completed', 'incomplete', 'failed'].map((state) =>
    numbered(`response.${state}`, { response: ResponseBody }),
  ),
  ...['added', 'done'].flatMap((state) => [
    numbered(`response.output_item.${state}`, { output_index: index, item: ResponseItem }),
    numbered(`response.content_part.${state}`, { ...ofPart, part: ResponseContent }),
  ]),
  ...['output_text', 'reasoning_text'].flatMap((kind) => [
    numbered(`response.${kind}.delta`, { ...ofPart, delta: text }),
    numbered(`response.${kind}.done`, { ...ofPart, text }),
  ]),
  numbered('response.refusal.delta', { ...ofPart, delta: text }),
  numbered('response.refusal.done', { ...ofPart, refusal: text }),
  numbered('response.function_call_arguments.delta', { ...ofItem, delta: text }),
  numbered('response.function_call_arguments.done', { ...ofItem, name: text, arguments: text }),
  numbered('response.custom_tool_call_input.delta', { ...ofItem, delta: text }),
  numbered('response.custom_tool_call_input.done', { ...ofItem, input: text }),
])

/** The schema of one server-sent event, whose data is JSON of this schema. */
export const eventSchema = (data: object) => ({
  type: 'object',
  description: 'One event',
  properties: {
    event: { type: 'string', description: 'The type in the data, where events are named' },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema: data },
  },
  required: ['data'],
})

/** The response of a route that streams server-sent events with this data. */
export const eventsOf = (...data: TSchema[]) => ({
  response: {
    200: Type.Unsafe<unknown>({
      description: 'Server-sent events',
      content: { 'text/event-stream': { schema: eventSchema(Type.Union(data)) } },
    }),
  },
})
