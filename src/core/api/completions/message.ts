import { Type } from 'typebox'
import { nullable } from '../request-fields.ts'
import { ErrorBody } from '../shared.ts'

/** A block of a message; in a stream it starts empty. */
export const NativeBlock = Type.Union([
  Type.Object({
    type: Type.Literal('text'),
    text: Type.String(),
    citations: Type.Optional(Type.Array(Type.Object({}))),
  }),
  Type.Object({ type: Type.Literal('thinking'), thinking: Type.String(), signature: Type.String() }),
  Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() }),
  Type.Object({
    type: Type.Enum(['tool_use', 'server_tool_use']),
    id: Type.String(),
    name: Type.String(),
    input: Type.Object({}),
    caller: Type.Optional(Type.Object({ type: Type.String() })),
  }),
  Type.Object(
    { type: Type.String({ pattern: '_tool_result$' }), tool_use_id: Type.String(), content: Type.Unknown() },
    { description: 'The result of a tool that the provider ran, as it wrote it' },
  ),
])

export const MessageUsage = Type.Object({
  input_tokens: Type.Integer({ minimum: 0 }),
  cache_creation_input_tokens: Type.Integer({ minimum: 0 }),
  cache_read_input_tokens: Type.Integer({ minimum: 0 }),
  output_tokens: Type.Integer({ minimum: 0 }),
  cache_creation: Type.Optional(
    Type.Object({
      ephemeral_5m_input_tokens: Type.Integer({ minimum: 0 }),
      ephemeral_1h_input_tokens: Type.Integer({ minimum: 0 }),
    }),
  ),
  server_tool_use: Type.Optional(Type.Object({ web_search_requests: Type.Integer({ minimum: 0 }) })),
})

/** POST /v1/messages without `stream`. For documentation only: the response is serialized elsewhere. */
export const MessageBody = Type.Object({
  id: Type.String({ pattern: '^msg_' }),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String({ description: 'As requested; `auto` stays `auto`' }),
  content: Type.Array(NativeBlock),
  stop_reason: nullable(Type.String()),
  stop_sequence: nullable(Type.String()),
  usage: MessageUsage,
})

/** An error on the messages wire; `type` is the wire's own. */
export const MessagesErrorBody = Type.Object({
  type: Type.Literal('error'),
  error: ErrorBody.properties.error,
  request_id: Type.String(),
})
