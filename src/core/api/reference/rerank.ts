import { Type } from 'typebox'
import {
  EXAMPLE_ID,
  jsonResponse,
  type KindReference,
  RESULT_HEAD,
  ResultTokens,
} from './surface-reference.ts'

/** POST /v1/rerank. */
export const RerankResponse = Type.Object({
  ...RESULT_HEAD,
  results: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'Index of the document in the request' }),
      relevance_score: Type.Number(),
      document: Type.Optional(Type.Object({ text: Type.String() })),
    }),
  ),
  usage: Type.Optional(ResultTokens),
  meta: Type.Optional(Type.Object({ billed_units: Type.Object({ search_units: Type.Integer() }) })),
})

export const rerank: KindReference = {
  rerank: {
    request: {
      body: {
        model: 'cohere/rerank-v3.5',
        query: 'Why do trains need shunting yards?',
        documents: ['A shunting yard sorts cars into trains.', 'Bread is baked from flour.'],
      },
    },
    response: jsonResponse('The documents, the most relevant first', RerankResponse),
    answer: {
      id: EXAMPLE_ID,
      model: 'cohere/rerank-v3.5',
      results: [
        { index: 0, relevance_score: 0.97 },
        { index: 1, relevance_score: 0.01 },
      ],
      meta: { billed_units: { search_units: 1 } },
    },
  },
}
