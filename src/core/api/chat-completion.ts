import { Type } from 'typebox'
import { nullable } from './request-fields.ts'

const ToolCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})

/** POST /v1/chat/completions without `stream`. Written as it comes, so that this describes it and serializes nothing. */
export const ChatCompletionBody = Type.Object({
  id: Type.String({ pattern: '^chatcmpl_' }),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String({ description: 'As it was asked for; `auto` stays `auto`' }),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: nullable(Type.String()),
        refusal: Type.Optional(nullable(Type.String())),
        tool_calls: Type.Optional(Type.Array(ToolCall)),
      }),
      finish_reason: Type.String(),
    }),
    { minItems: 1 },
  ),
  usage: Type.Optional(
    Type.Object({
      prompt_tokens: Type.Integer({ minimum: 0 }),
      completion_tokens: Type.Integer({ minimum: 0 }),
      total_tokens: Type.Integer({ minimum: 0 }),
    }),
  ),
})
