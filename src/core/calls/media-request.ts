import { type Static, type TObject, Type } from 'typebox'
import { nullable } from '../api/request-fields.ts'
import { createValidator } from '../api/schema-validator.ts'
import { ApiError } from '../kernel/errors.ts'
import { audioFileLength } from '../media/audio-length.ts'
import { type FileFormat, fileFormat } from '../media/file-format.ts'
import type { ChatRequest } from './chat-request.ts'
import {
  BACKGROUNDS,
  charactersOf,
  GRANULARITIES,
  IMAGE_STYLES,
  type ImageTask,
  SPEECH_FORMATS,
  type TaskFile,
  TRANSCRIPT_FORMATS,
} from './media-task.ts'
import { TASK_FIELDS, taskRequest } from './task-request.ts'

/**
 * The requests of images and audio, and the tasks that they ask for. Fields that would change the price or the form of
 * the response in a way that is not held for are refused; other unknown ones are accepted and dropped.
 */

const PROMPT_CHARS_MAX = 32_000
const IMAGES_MAX = 10
const SOURCES_MAX = 16
const SPEECH_CHARS_MAX = 4_096

const onlyWhole = Type.Optional(
  nullable(Type.Literal(false, { errorMessage: '`{param}` must be false: responses are sent as a whole.' })),
)

const IMAGE_FIELDS = {
  prompt: Type.String({ minLength: 1, maxLength: PROMPT_CHARS_MAX }),
  n: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: IMAGES_MAX }))),
  size: Type.Optional(
    nullable(
      Type.String({
        pattern: '^(auto|[1-9]\\d{1,3}x[1-9]\\d{1,3})$',
        errorMessage: '`{param}` must be `auto` or a size such as `1024x1024`.',
      }),
    ),
  ),
  quality: Type.Optional(
    nullable(Type.Enum(['auto', 'low', 'medium', 'high', 'xhigh', 'max', 'standard', 'hd'])),
  ),
  background: Type.Optional(nullable(Type.Enum([...BACKGROUNDS]))),
  response_format: Type.Optional(
    nullable(
      Type.Enum(['b64_json'], { errorMessage: '`{param}` must be b64_json: images are not hosted here.' }),
    ),
  ),
  output_format: Type.Optional(nullable(Type.Enum(['png']))),
  stream: onlyWhole,
}

export const ImageGenerationBody = Type.Object({
  ...TASK_FIELDS,
  ...IMAGE_FIELDS,
  style: Type.Optional(nullable(Type.Enum([...IMAGE_STYLES]))),
})
export type ImageGenerationBody = Static<typeof ImageGenerationBody>

/** The fields of a form beside its files. */
const ImageEditFields = Type.Object({ ...TASK_FIELDS, ...IMAGE_FIELDS })

export const SpeechBody = Type.Object({
  ...TASK_FIELDS,
  input: Type.String({ minLength: 1 }),
  voice: Type.String({ minLength: 1, maxLength: 64, pattern: '^[\\w-]+$' }),
  response_format: Type.Optional(nullable(Type.Enum([...SPEECH_FORMATS]))),
  speed: Type.Optional(nullable(Type.Number({ minimum: 0.25, maximum: 4 }))),
  instructions: Type.Optional(
    nullable(
      Type.Enum([''], { errorMessage: '`{param}` is not supported: its price is not that of the text.' }),
    ),
  ),
  stream_format: Type.Optional(nullable(Type.Enum(['audio']))),
})
export type SpeechBody = Static<typeof SpeechBody>

const LISTENING_FIELDS = {
  ...TASK_FIELDS,
  prompt: Type.Optional(nullable(Type.String({ maxLength: PROMPT_CHARS_MAX }))),
  response_format: Type.Optional(nullable(Type.Enum([...TRANSCRIPT_FORMATS]))),
  temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
}

const TranslationFields = Type.Object(LISTENING_FIELDS)

const TranscriptionFields = Type.Object({
  ...LISTENING_FIELDS,
  language: Type.Optional(
    nullable(
      Type.String({
        pattern: '^[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?$',
        errorMessage: '`{param}` must be a code such as `en`.',
      }),
    ),
  ),
  timestamp_granularities: Type.Optional(
    nullable(Type.Array(Type.Enum([...GRANULARITIES]), { maxItems: 2 })),
  ),
  stream: onlyWhole,
})

/** What a form is, for its description. */
const FILE = Type.Unsafe<string>({ type: 'string', format: 'binary' })
export const ImageEditForm = Type.Object({
  ...ImageEditFields.properties,
  image: Type.Array(FILE, { minItems: 1, maxItems: SOURCES_MAX }),
  mask: Type.Optional(FILE),
})
export const TranscriptionForm = Type.Object({ ...TranscriptionFields.properties, file: FILE })
export const TranslationForm = Type.Object({ ...TranslationFields.properties, file: FILE })

export const normalizeImageGeneration = (body: ImageGenerationBody): ChatRequest =>
  taskRequest(body.model, body.provider, imageTask(body, []))

/** A file of a form as it was read. */
export interface FormFile {
  field: string
  ref: string
  bytes: number
  head: Buffer
}

interface Form {
  fields: ReadonlyMap<string, readonly string[]>
  files: readonly FormFile[]
}

/** Throws ApiError `invalid_request`. */
export function normalizeImageEdit({ fields, files }: Form): ChatRequest {
  const body = readFields(ImageEditFields, fields)
  const taken = files.map((file) => ({ field: file.field, ...taskFile(file, 'image') }))
  const sources = taken.filter(({ field }) => field === 'image')
  const masks = taken.filter(({ field }) => field === 'mask')
  if (sources.length === 0 || sources.length > SOURCES_MAX)
    throw invalid('image', `Send 1 to ${SOURCES_MAX} files as \`image\`.`)
  if (masks.length > 1 || sources.length + masks.length < files.length)
    throw invalid('mask', 'Beside `image`, only one file is taken, as `mask`.')
  const withoutField = ({ field: _, ...file }: TaskFile & { field: string }): TaskFile => file
  const task = imageTask(body, sources.map(withoutField), masks.map(withoutField)[0])
  return taskRequest(body.model, body.provider, task)
}

function imageTask(
  body: Static<typeof ImageEditFields> & Pick<ImageGenerationBody, 'style'>,
  sources: readonly TaskFile[],
  mask?: TaskFile,
): ImageTask {
  const { prompt, n, size, quality, background, style } = body
  return {
    kind: 'image',
    prompt,
    count: n ?? 1,
    ...(size != null && { size }),
    ...(quality != null && { quality }),
    ...(background != null && { background }),
    ...(style != null && { style }),
    sources,
    ...(mask && { mask }),
  }
}

/** Throws ApiError `invalid_request`. */
export function normalizeSpeech(body: SpeechBody): ChatRequest {
  const { input, voice, response_format: format, speed } = body
  if (charactersOf(input) > SPEECH_CHARS_MAX)
    throw invalid('input', `\`input\` takes a text of 1 to ${SPEECH_CHARS_MAX} characters.`)
  const task = { kind: 'speech', input, voice, format: format ?? 'mp3' } as const
  return taskRequest(body.model, body.provider, { ...task, ...(speed != null && { speed }) })
}

/** Throws ApiError `invalid_request`. */
export function normalizeTranscription({ fields, files }: Form, translates: boolean): ChatRequest {
  const body: Static<typeof TranscriptionFields> = translates
    ? readFields(TranslationFields, fields)
    : readFields(TranscriptionFields, fields)
  const [file, ...others] = files
  if (file?.field !== 'file' || others.length > 0) throw invalid('file', 'Send one file, as `file`.')
  const { prompt, temperature, language } = body
  return taskRequest(body.model, body.provider, {
    kind: 'transcription',
    translates,
    file: taskFile(file, 'audio'),
    secondsBound: Math.max(1, audioFileLength(file.head, file.bytes).most),
    ...(prompt != null && { prompt }),
    ...(temperature != null && { temperature }),
    ...(language != null && { language }),
    granularities: body.timestamp_granularities ?? [],
    format: body.response_format ?? 'json',
  })
}

const FORMATS: Record<FileFormat['modality'], string> = {
  image: 'a PNG, JPEG or WebP image',
  audio: 'audio as WAV, MP3, FLAC, Ogg, M4A or WebM',
}

function taskFile({ field, ref, bytes, head }: FormFile, modality: FileFormat['modality']): TaskFile {
  const format = fileFormat(head)
  if (format?.modality !== modality) throw invalid(field, `\`${field}\` must be ${FORMATS[modality]}.`)
  return { ref, bytes, mediaType: format.mediaType, fileName: `file.${format.extension}` }
}

/** The fields of a form as the body that a schema describes: texts become numbers, booleans, lists, and objects of JSON. */
function readFields<Schema extends TObject>(
  schema: Schema,
  fields: ReadonlyMap<string, readonly string[]>,
): Static<Schema> {
  const body: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    const values = fields.get(name)
    if (!values || values[0] === '') continue
    const types = [(property as { type?: string | string[] }).type].flat()
    if (!types.includes('array') && values.length > 1) throw invalid(name, `Send \`${name}\` once.`)
    body[name] = types.includes('array') ? values : readValue(values[0]!, types)
  }
  const error = validatorOf(schema)(body)
  if (error) throw error
  return body as Static<Schema>
}

function readValue(text: string, types: ReadonlyArray<string | undefined>): unknown {
  if (types.includes('object')) return parseObject(text) ?? text
  if (types.includes('boolean')) return text === 'true' || (text === 'false' ? false : text)
  const isNumeric = types.includes('number') || types.includes('integer')
  return isNumeric && /^-?\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : text
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // It is refused as a text.
    return null
  }
}

const validators = new WeakMap<TObject, ReturnType<typeof createValidator>>()

function validatorOf(schema: TObject) {
  const known = validators.get(schema) ?? createValidator(schema)
  validators.set(schema, known)
  return known
}

const invalid = (param: string, message: string) => new ApiError('invalid_request', message, { param })
