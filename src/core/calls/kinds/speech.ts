import { type Static, Type } from 'typebox'
import { optional } from '../../api/request-fields.ts'
import { invalid } from '../../kernel/errors.ts'
import type { RequestOf } from '../call-request.ts'
import { type CallKind, RESULT_FIELDS, RESULT_KIND, resultNeeds, resultRequest } from './call-kind.ts'

export interface SpeechContent {
  kind: 'speech'
  input: string
  voice: string
  format: SpeechFormat
  speed?: number
}

const FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
type SpeechFormat = (typeof FORMATS)[number]

const MEDIA_TYPES: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

export const speechType = ({ format }: Pick<SpeechContent, 'format'>): string => MEDIA_TYPES[format]

const CHARS_MAX = 4_096

/**
 * The body of POST /v1/audio/speech. Fields that would change the form of the response, or a price that the hold does
 * not cover, are refused; other unknown fields are accepted and dropped.
 */
export const SpeechBody = Type.Object({
  ...RESULT_FIELDS,
  input: Type.String({ minLength: 1 }),
  voice: Type.String({ minLength: 1, maxLength: 64, pattern: '^[\\w-]+$' }),
  response_format: optional(Type.Enum([...FORMATS])),
  speed: optional(Type.Number({ minimum: 0.25, maximum: 4 })),
  instructions: optional(
    Type.Enum([''], { errorMessage: '`{param}` is not supported: its price is not that of the text.' }),
  ),
  stream_format: optional(Type.Enum(['audio'])),
})

/** Throws ApiError `invalid_request`. */
export function normalizeSpeech(body: Static<typeof SpeechBody>): RequestOf<SpeechContent> {
  const { input, voice, response_format: format, speed } = body
  if (charactersOf(input) > CHARS_MAX)
    throw invalid('input', `\`input\` takes a text of 1 to ${CHARS_MAX} characters.`)
  return resultRequest(body.model, body.provider, {
    kind: 'speech',
    input,
    voice,
    format: format ?? 'mp3',
    ...(speed != null && { speed }),
  })
}

export const speech: CallKind<SpeechContent> = {
  surface: 'POST /v1/audio/speech',
  ...RESULT_KIND,
  outlivesClient: true,
  // The price is per character of the text.
  needs: ({ input }) =>
    resultNeeds('speech', {}, { comesWhole: true, unitsBound: () => charactersOf(input) }),
}

/** Unicode characters, the unit of speech. */
const charactersOf = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}
