import type { KindReference } from './surface-reference.ts'

export const speech: KindReference = {
  'audio.speech': {
    request: {
      body: { model: 'tts-1', voice: 'alloy', input: 'The train on track two departs.' },
      output: 'speech.mp3',
    },
    response: {
      description: 'The speech, in the requested format',
      content: { 'audio/*': { schema: { type: 'string', format: 'binary' } } },
    },
  },
}
