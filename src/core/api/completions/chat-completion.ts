import { type TSchema, Type } from 'typebox'
import { nullable, optional } from '../request-fields.ts'

const ToolCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
})

const completion = <Message extends TSchema, Used extends TSchema>(
  message: Message,
  usage: Used,
  choice = {},
) =>
  Type.Object({
    id: Type.String({ pattern: '^chatcmpl_' }),
    object: Type.Literal('chat.completion'),
    created: Type.Integer({ description: 'Unix seconds' }),
    model: Type.String({ description: 'As requested; `auto` stays `auto`' }),
    choices: Type.Array(
      Type.Object({ index: Type.Integer(), message, ...choice, finish_reason: Type.String() }),
      { minItems: 1 },
    ),
    usage: Type.Optional(usage),
  })

const tokens = Type.Integer({ minimum: 0 })
const USAGE = { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens }
const MESSAGE = {
  role: Type.Literal('assistant'),
  content: nullable(Type.String()),
  refusal: optional(Type.String()),
  tool_calls: Type.Optional(Type.Array(ToolCall)),
}

/** POST /v1/chat/completions without `stream`. For documentation only: the response is serialized elsewhere. */
export const ChatCompletionBody = completion(Type.Object(MESSAGE), Type.Object(USAGE))

/** What a call is charged, in its usage. */
export const COST = {
  cost: Type.Optional(Type.Number({ description: 'The charge, USD' })),
  cost_usd: Type.Optional(Type.String({ description: 'The same as an exact decimal string' })),
}

/** Usage in responses of POST /v2/chat/completions. */
export const ExtendedUsage = Type.Object({
  ...USAGE,
  prompt_tokens_details: Type.Object({ cached_tokens: tokens, cache_write_tokens: Type.Optional(tokens) }),
  completion_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: tokens })),
  ...COST,
})

const TOKEN = {
  token: Type.String(),
  logprob: Type.Number(),
  bytes: Type.Unsafe<number[] | null>({ type: ['array', 'null'], items: { type: 'integer' } }),
}

/** Log probabilities of a text. */
export const Logprobs = nullable(
  Type.Object({
    content: Type.Array(Type.Object({ ...TOKEN, top_logprobs: Type.Array(Type.Object(TOKEN)) })),
    refusal: Type.Null(),
  }),
)

/** The fields of a message or a delta that the stable contract lacks. */
export const EXTENDED_MESSAGE = {
  reasoning: Type.Optional(Type.String()),
  reasoning_details: Type.Optional(
    Type.Array(Type.Object({ type: Type.String(), data: Type.String() }), {
      description: 'What the provider signed, sealed for the account: return it with the message',
    }),
  ),
  annotations: Type.Optional(
    Type.Array(Type.Object({ type: Type.String() }, { additionalProperties: true }), {
      description: 'What the provider adds, such as `url_citation`, as it writes it',
    }),
  ),
}

/** POST /v2/chat/completions without `stream`. */
export const ExtendedCompletionBody = Type.Object({
  ...completion(Type.Object({ ...MESSAGE, ...EXTENDED_MESSAGE }), ExtendedUsage, { logprobs: Logprobs })
    .properties,
  system_fingerprint: Type.Null(),
})
