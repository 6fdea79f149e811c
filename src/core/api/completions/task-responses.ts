import { Type } from 'typebox'

/** Responses of surfaces other than chats. For documentation only: they are serialized elsewhere. */

const Tokens = Type.Object({
  prompt_tokens: Type.Integer({ minimum: 0 }),
  total_tokens: Type.Integer({ minimum: 0 }),
})

const head = { id: Type.String({ pattern: '^chatcmpl_' }), model: Type.String() }

/** Vectors. */
export const EmbeddingsResponse = Type.Object({
  ...head,
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      object: Type.Literal('embedding'),
      index: Type.Integer(),
      embedding: Type.Union([
        Type.Array(Type.Number()),
        Type.String({ description: '32-bit floats, little-endian, in base64' }),
      ]),
    }),
  ),
  usage: Type.Optional(Tokens),
})

/** POST /v1/rerank. */
export const RerankResponse = Type.Object({
  ...head,
  results: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'Index of the document in the request' }),
      relevance_score: Type.Number(),
      document: Type.Optional(Type.Object({ text: Type.String() })),
    }),
  ),
  usage: Type.Optional(Tokens),
  meta: Type.Optional(Type.Object({ billed_units: Type.Object({ search_units: Type.Integer() }) })),
})

/** POST /v1/images/generations and /v1/images/edits. */
export const ImagesResponse = Type.Object({
  created: Type.Integer({ description: 'Unix seconds' }),
  data: Type.Array(
    Type.Object({
      b64_json: Type.String({ description: 'A PNG, base64' }),
      revised_prompt: Type.Optional(Type.String()),
    }),
  ),
  usage: Type.Optional(
    Type.Object({
      input_tokens: Type.Integer(),
      input_tokens_details: Type.Object({ text_tokens: Type.Integer(), image_tokens: Type.Integer() }),
      output_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
    }),
  ),
})

/** POST /v1/audio/transcriptions and /v1/audio/translations. */
export const TranscriptResponse = Type.Object({
  text: Type.String(),
  usage: Type.Object({ type: Type.Literal('duration'), seconds: Type.Integer({ minimum: 1 }) }),
  task: Type.Optional(Type.Enum(['transcribe', 'translate'])),
  language: Type.Optional(Type.String()),
  duration: Type.Optional(Type.Number({ description: 'Seconds' })),
  segments: Type.Optional(Type.Array(Type.Unknown())),
  words: Type.Optional(Type.Array(Type.Unknown())),
})

/** POST /v1/moderations. */
export const ModerationsResponse = Type.Object({
  ...head,
  results: Type.Array(
    Type.Object({
      flagged: Type.Boolean(),
      categories: Type.Record(Type.String(), Type.Boolean()),
      category_scores: Type.Record(Type.String(), Type.Number()),
      category_applied_input_types: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
    }),
  ),
})
