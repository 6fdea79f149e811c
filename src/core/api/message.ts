import { Type } from 'typebox'
import { nullable } from './request-fields.ts'

const Block = Type.Object({
  type: Type.String({ description: 'text, thinking, redacted_thinking, tool_use' }),
})

/** POST /v1/messages without `stream`. Written as it comes, so that this describes it and serializes nothing. */
export const MessageBody = Type.Object({
  id: Type.String({ pattern: '^msg_' }),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String({ description: 'As it was asked for; `auto` stays `auto`' }),
  content: Type.Array(Block),
  stop_reason: nullable(Type.String()),
  stop_sequence: nullable(Type.String()),
  usage: Type.Object({
    input_tokens: Type.Integer({ minimum: 0 }),
    cache_creation_input_tokens: Type.Integer({ minimum: 0 }),
    cache_read_input_tokens: Type.Integer({ minimum: 0 }),
    output_tokens: Type.Integer({ minimum: 0 }),
  }),
})
