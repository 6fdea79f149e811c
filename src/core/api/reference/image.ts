import { Type } from 'typebox'
import { jsonResponse, type KindReference } from './surface-reference.ts'

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

export const image: KindReference = {
  'images.generations': {
    request: {
      body: {
        model: 'gpt-image-2',
        prompt: 'A freight train in a shunting yard, watercolour',
        size: '1024x1024',
      },
    },
    response: jsonResponse('The images', ImagesResponse),
  },
  'images.edits': {
    request: { form: { model: 'gpt-image-2', prompt: 'Add a signal tower', image: '@yard.png' } },
    response: jsonResponse('The images', ImagesResponse),
  },
}
