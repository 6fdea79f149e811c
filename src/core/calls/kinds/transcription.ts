import { type Static, Type } from 'typebox'
import { optional } from '../../api/request-fields.ts'
import { invalid } from '../../kernel/errors.ts'
import { audioFileLength } from '../../media/audio-length.ts'
import type { RequestOf } from '../call-request.ts'
import {
  type CallKind,
  ONLY_WHOLE,
  RESULT_FIELDS,
  RESULT_KIND,
  resultNeeds,
  resultRequest,
  unsupported,
} from './call-kind.ts'
import { type CallFile, callFile, type Form, readFields } from './form-fields.ts'

export interface TranscriptionContent {
  kind: 'transcription'
  /** Whether to translate into English. */
  translates: boolean
  file: CallFile
  /** Maximum length of the recording in seconds. */
  secondsBound: number
  language?: string
  prompt?: string
  temperature?: number
  granularities: ReadonlyArray<(typeof GRANULARITIES)[number]>
  format: (typeof FORMATS)[number]
}

export interface Transcript {
  text: string
  /** Seconds. */
  duration: number
  language: string
  segments: ReadonlyArray<Record<string, unknown>>
  words: ReadonlyArray<Record<string, unknown>>
}

const FORMATS = ['json', 'text', 'verbose_json'] as const
const GRANULARITIES = ['word', 'segment'] as const
const PROMPT_CHARS_MAX = 32_000

/** The form fields of POST /v1/audio/translations, without the file. */
const TranslationFields = Type.Object({
  ...RESULT_FIELDS,
  prompt: optional(Type.String({ maxLength: PROMPT_CHARS_MAX })),
  response_format: optional(Type.Enum([...FORMATS])),
  temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
})

/** The form fields of POST /v1/audio/transcriptions, without the file. */
const TranscriptionFields = Type.Object({
  ...TranslationFields.properties,
  language: optional(
    Type.String({
      pattern: '^[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?$',
      errorMessage: '`{param}` must be a code such as `en`.',
    }),
  ),
  timestamp_granularities: optional(Type.Array(Type.Enum([...GRANULARITIES]), { maxItems: 2 })),
  stream: ONLY_WHOLE,
})

const FILE = Type.Unsafe<string>({ type: 'string', format: 'binary' })
/** The forms with their file, for the API description. */
export const TranscriptionForm = Type.Object({ ...TranscriptionFields.properties, file: FILE })
export const TranslationForm = Type.Object({ ...TranslationFields.properties, file: FILE })

/** Throws ApiError `invalid_request`. */
export function normalizeTranscription(
  { fields, files }: Form,
  translates: boolean,
): RequestOf<TranscriptionContent> {
  const body: Static<typeof TranscriptionFields> = translates
    ? readFields(TranslationFields, fields)
    : readFields(TranscriptionFields, fields)
  const [file, ...others] = files
  if (file?.field !== 'file' || others.length > 0) throw invalid('file', 'Send one file, as `file`.')
  const { prompt, temperature, language } = body
  return resultRequest(body.model, body.provider, {
    kind: 'transcription',
    translates,
    file: callFile(file, 'audio'),
    secondsBound: Math.max(1, audioFileLength(file.head, file.bytes).most),
    ...(prompt != null && { prompt }),
    ...(temperature != null && { temperature }),
    ...(language != null && { language }),
    granularities: body.timestamp_granularities ?? [],
    format: body.response_format ?? 'json',
  })
}

export const transcription: CallKind<TranscriptionContent> = {
  surface: 'POST /v1/audio/transcriptions',
  ...RESULT_KIND,
  outlivesClient: true,
  needs: (content) =>
    resultNeeds(
      'transcription',
      {},
      {
        comesWhole: true,
        isDoneBy: ({ supportedParameters }) =>
          parametersOf(content).every((name) => supportedParameters.includes(name)),
        refusal: () => transcriptionRefused(content),
        unitsBound: () => content.secondsBound,
      },
    ),
}

/** The used parameters that not every transcription model supports, named as in the catalog. */
const parametersOf = ({ translates, granularities }: TranscriptionContent): string[] => [
  ...(translates ? ['translations'] : []),
  ...(granularities.includes('word') ? ['timestamp_granularities'] : []),
]

const transcriptionRefused = ({ translates }: TranscriptionContent) =>
  translates
    ? unsupported('model', 'The model does not support translation. Choose another model.')
    : unsupported(
        'timestamp_granularities',
        'The model does not support word timestamps. Request `segment` only.',
      )

/** The seconds of a recording as its vendor counts them: rounded, at least one, and at most those of the hold. */
export const secondsCharged = ({ secondsBound }: TranscriptionContent, duration: number): number =>
  Math.min(secondsBound, Math.max(1, Math.round(duration)))
