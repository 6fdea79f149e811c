import type { SurfaceId } from './surface-registry.ts'

/** A request to show in the documentation. */
export interface SurfaceExample {
  /** Values of the path's parameters. */
  path?: Record<string, string>
  query?: Record<string, string>
  /** A JSON body. */
  body?: Record<string, unknown>
  /** The fields of a multipart body; a value `@name` is a file. */
  form?: Record<string, string>
  /** The file for a response that is not JSON. */
  output?: string
}

const QUESTION = [{ role: 'user', content: 'Why do trains need switchyards?' }]
const PROVIDER_KEY = { id: 'pkey_01JABCDEFGHJKMNPQRSTVWXYZ0' }

/** Examples of the surfaces whose request has more than a method and a path. */
export const SURFACE_EXAMPLES: Readonly<Partial<Record<SurfaceId, SurfaceExample>>> = {
  'chat-completions': {
    body: { model: 'auto', messages: QUESTION },
  },
  'chat-completions.extended': { body: { model: 'auto', messages: QUESTION, stop: ['\n\n'] } },
  messages: { body: { model: 'auto', max_tokens: 500, messages: QUESTION } },
  'messages.count-tokens': { body: { model: 'auto', messages: QUESTION } },
  embeddings: { body: { model: 'text-embedding-3-small', input: 'Why do trains need switchyards?' } },
  rerank: {
    body: {
      model: 'cohere/rerank-v3.5',
      query: 'Why do trains need switchyards?',
      documents: ['A switchyard sorts cars into trains.', 'Bread is baked from flour.'],
    },
  },
  moderations: { body: { model: 'omni-moderation-latest', input: 'Why do trains need switchyards?' } },
  'images.generations': {
    body: { model: 'gpt-image-2', prompt: 'A freight train in a switchyard, watercolour', size: '1024x1024' },
  },
  'images.edits': {
    form: { model: 'gpt-image-2', prompt: 'Add a signal tower', image: '@yard.png' },
  },
  'audio.speech': {
    body: { model: 'tts-1', voice: 'alloy', input: 'The train on track two departs.' },
    output: 'speech.mp3',
  },
  'audio.transcriptions': { form: { model: 'whisper-1', file: '@meeting.mp3' } },
  'audio.translations': { form: { model: 'whisper-1', file: '@meeting.mp3' } },
  responses: { body: { model: 'auto', input: 'Why do trains need switchyards?' } },
  generation: { path: { id: 'chatcmpl_01JABCDEFGHJKMNPQRSTVWXYZ0' } },
  usage: { query: { group_by: 'model' } },
  'usage.calls': { query: { limit: '20' } },
  'provider-keys.create': {
    body: { provider: 'openai', key: 'your-key-at-the-provider', name: 'team', allow_fallback: true },
  },
  'provider-keys.update': { path: PROVIDER_KEY, body: { disabled: true } },
  'provider-keys.delete': { path: PROVIDER_KEY },
}
