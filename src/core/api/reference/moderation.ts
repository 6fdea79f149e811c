import { Type } from 'typebox'
import { DEFAULT_MODERATION_MODEL } from '../../calls/kinds/moderation.ts'
import { EXAMPLE_ID, jsonResponse, type KindReference, RESULT_HEAD } from './surface-reference.ts'

/** POST /v1/moderations. */
export const ModerationsResponse = Type.Object({
  ...RESULT_HEAD,
  results: Type.Array(
    Type.Object({
      flagged: Type.Boolean(),
      categories: Type.Record(Type.String(), Type.Boolean()),
      category_scores: Type.Record(Type.String(), Type.Number()),
      category_applied_input_types: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
    }),
  ),
})

export const moderation: KindReference = {
  moderations: {
    request: { body: { model: DEFAULT_MODERATION_MODEL, input: 'Why do trains need shunting yards?' } },
    response: jsonResponse('The verdicts', ModerationsResponse),
    answer: {
      id: EXAMPLE_ID,
      model: DEFAULT_MODERATION_MODEL,
      results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.0001 } }],
    },
  },
}
