import { Type } from 'typebox'
import {
  EXAMPLE_ID,
  jsonResponse,
  type KindReference,
  RESULT_HEAD,
  ResultTokens,
} from './surface-reference.ts'

/** Vectors. */
export const EmbeddingsResponse = Type.Object({
  ...RESULT_HEAD,
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
  usage: Type.Optional(ResultTokens),
})

export const embeddings: KindReference = {
  embeddings: {
    request: { body: { model: 'text-embedding-3-small', input: 'Why do trains need shunting yards?' } },
    response: jsonResponse('The vectors, in the order of the inputs', EmbeddingsResponse),
    answer: {
      id: EXAMPLE_ID,
      object: 'list',
      model: 'text-embedding-3-small',
      data: [{ object: 'embedding', index: 0, embedding: [0.6, -0.8] }],
      usage: { prompt_tokens: 8, total_tokens: 8 },
    },
  },
}
