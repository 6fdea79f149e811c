import { Type } from 'typebox'
import { nullable, optional } from '../request-fields.ts'
import { COST } from './chat-completion.ts'

const STATUS = Type.Enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'])
const tokens = Type.Integer({ minimum: 0 })

/** A part of a message, or of reasoning. */
export const ResponseContent = Type.Union([
  Type.Object({
    type: Type.Literal('output_text'),
    text: Type.String(),
    annotations: Type.Array(Type.Unknown()),
    logprobs: Type.Array(Type.Unknown()),
  }),
  Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() }),
  Type.Object({ type: Type.Literal('reasoning_text'), text: Type.String() }),
])

/** One item of the output. */
export const ResponseItem = Type.Union([
  Type.Object({
    id: Type.String(),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    status: STATUS,
    content: Type.Array(ResponseContent),
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('function_call'),
    status: STATUS,
    call_id: Type.String({ description: 'Repeated in its `function_call_output`' }),
    namespace: Type.Optional(Type.String({ description: 'Of a tool that is declared in one' })),
    name: Type.String(),
    arguments: Type.String({ description: 'JSON' }),
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('custom_tool_call'),
    status: STATUS,
    call_id: Type.String({ description: 'Repeated in its `custom_tool_call_output`' }),
    namespace: Type.Optional(Type.String()),
    name: Type.String(),
    input: Type.String(),
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('reasoning'),
    status: STATUS,
    summary: Type.Array(Type.Unknown()),
    content: Type.Array(ResponseContent),
    encrypted_content: optional(Type.String()),
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('compaction'),
    encrypted_content: Type.String({
      description: 'For this account: what came before, except messages of the user',
    }),
  }),
])

const USAGE = nullable(
  Type.Object({
    input_tokens: tokens,
    input_tokens_details: Type.Object({
      cached_tokens: tokens,
      cache_write_tokens: Type.Optional(tokens),
    }),
    output_tokens: tokens,
    output_tokens_details: Type.Object({ reasoning_tokens: tokens }),
    total_tokens: tokens,
    ...COST,
  }),
)

/** POST /v1/responses without `stream`. For documentation only: the response is serialized elsewhere. */
export const ResponseBody = Type.Object({
  id: Type.String({ pattern: '^resp_' }),
  object: Type.Literal('response'),
  created_at: Type.Integer({ description: 'Unix seconds' }),
  completed_at: Type.Null(),
  status: STATUS,
  model: Type.String({ description: 'As requested; `auto` stays `auto`' }),
  output: Type.Array(ResponseItem),
  usage: USAGE,
  error: nullable(Type.Object({ code: Type.String(), message: Type.String(), type: Type.String() })),
  incomplete_details: nullable(Type.Object({ reason: Type.Enum(['max_output_tokens', 'content_filter']) })),
  max_output_tokens: nullable(Type.Integer()),
  parallel_tool_calls: Type.Boolean(),
  reasoning: Type.Object({ effort: nullable(Type.String()), summary: Type.Null() }),
  temperature: nullable(Type.Number()),
  top_p: nullable(Type.Number()),
  presence_penalty: Type.Null(),
  frequency_penalty: Type.Null(),
  text: Type.Object({ format: Type.Object({ type: Type.String() }) }),
  tool_choice: Type.Union([
    Type.String(),
    Type.Object({
      type: Type.Enum(['function', 'custom']),
      namespace: Type.Optional(Type.String()),
      name: Type.String(),
    }),
  ]),
  store: Type.Boolean({ description: 'Whether it is stored. False also if it could not be' }),
  background: Type.Boolean(),
  truncation: Type.Literal('disabled'),
  instructions: Type.Null({ description: 'Not returned, like `tools`' }),
  metadata: nullable(Type.Record(Type.String(), Type.String())),
  tools: Type.Array(Type.Unknown(), { maxItems: 0 }),
  previous_response_id: nullable(Type.String()),
})

/** DELETE /v1/responses/{id}. For documentation only, as is the following. */
export const DeletedResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  deleted: Type.Literal(true),
})

/** POST /v2/responses/compact. */
export const CompactedResponse = Type.Object({
  id: Type.String({ pattern: '^resp_' }),
  object: Type.Literal('response.compaction'),
  created_at: Type.Integer({ description: 'Unix seconds' }),
  output: Type.Array(Type.Object({ id: Type.String(), type: Type.Enum(['message', 'compaction']) }), {
    description: 'The messages of the user, then the summary: the next input begins with them',
  }),
  usage: USAGE,
})

/** GET /v1/responses/{id}/input_items. */
export const ResponseInputItems = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Type.Object({ id: Type.String(), type: Type.String() }, { additionalProperties: true })),
  first_id: nullable(Type.String()),
  last_id: nullable(Type.String()),
  has_more: Type.Boolean(),
})
