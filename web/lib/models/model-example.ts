import type { ShownRequest } from '../playground/request-code.ts'

type Example = Pick<ShownRequest, 'path' | 'output'> & {
  fields: Record<string, unknown>
  /** It is sent as a form, with this file. */
  file?: string
}

const QUESTION = 'Why do trains need shunting yards?'

/** A first request to a model that is no chat model, by its kind. */
const EXAMPLES: Readonly<Record<string, Example>> = {
  embeddings: { path: '/v1/embeddings', fields: { input: QUESTION } },
  rerank: {
    path: '/v1/rerank',
    fields: {
      query: QUESTION,
      documents: ['A shunting yard sorts cars into trains.', 'Bread is baked from flour.'],
    },
  },
  moderation: { path: '/v1/moderations', fields: { input: QUESTION } },
  image: {
    path: '/v1/images/generations',
    fields: { prompt: 'A freight train in a shunting yard, watercolour' },
  },
  speech: {
    path: '/v1/audio/speech',
    fields: { voice: 'alloy', input: 'The train on track two departs.' },
    output: 'speech.mp3',
  },
  transcription: { path: '/v1/audio/transcriptions', fields: {}, file: 'meeting.mp3' },
}

/** A first request to a model; null for chat models. */
export function exampleRequest(
  { id, kind = 'chat' }: { id: string; kind?: string },
  origin: string,
): ShownRequest | null {
  const example = EXAMPLES[kind]
  if (!example) return null
  const { path, fields, file, output } = example
  return {
    origin,
    path,
    ...(file === undefined
      ? { body: { model: id, ...fields } }
      : {
          form: [
            ['model', id],
            ['file', { file }],
          ],
        }),
    ...(output !== undefined && { output }),
  }
}
