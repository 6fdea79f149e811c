import { Type } from 'typebox'
import { type DescribedResponse, jsonResponse, type KindReference } from './surface-reference.ts'

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

export const transcription: KindReference = {
  'audio.transcriptions': {
    request: { form: { model: 'whisper-1', file: '@meeting.mp3' } },
    response: transcriptResponse('The transcript'),
    answer: {
      text: 'The train on track two departs.',
      usage: { type: 'duration', seconds: 3 },
    },
  },
  'audio.translations': {
    request: { form: { model: 'whisper-1', file: '@meeting.mp3' } },
    response: transcriptResponse('The transcript, in English'),
  },
}

function transcriptResponse(description: string): DescribedResponse {
  const { content } = jsonResponse(description, TranscriptResponse)
  return { description, content: { ...content, 'text/plain': { schema: { type: 'string' } } } }
}
