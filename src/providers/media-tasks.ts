import {
  type ImageChoice,
  type ImageTask,
  type MadeFile,
  type MediaTask,
  type SpeechTask,
  secondsCharged,
  speechType,
  type Transcript,
  type TranscriptionTask,
} from '../core/calls/media-task.ts'
import type { Usage } from '../core/calls/usage.ts'
import { fileFormat } from '../core/media/file-format.ts'
import type { FormFile } from './http/form-body.ts'
import type { FilePlace, ReplyFile } from './reply-files.ts'
import { type Fields, isObject } from './wire.ts'

/** Images, speech and transcriptions: what a provider is sent, and what of its reply is passed on. Pure. */

/** A request beside the path of its kind: a JSON body, or a form. */
export type MediaRequest =
  | { path: string; body: Fields }
  | {
      path: string
      fields: ReadonlyArray<readonly [name: string, value: string]>
      files: readonly FormFile[]
    }

export interface MediaModel {
  upstreamModel: string
  /** Of a task that makes images. */
  image?: ImageChoice | undefined
  /** It sends addresses of images unless it is asked for base64. */
  asksForBase64?: boolean | undefined
}

/** What a provider is sent. */
export function mediaRequest(task: MediaTask, model: MediaModel): MediaRequest {
  switch (task.kind) {
    case 'image':
      return imageRequest(task, model)
    case 'speech': {
      const { input, voice, format, speed } = task
      const body = { model: model.upstreamModel, input, voice, response_format: format }
      return { path: '', body: { ...body, ...(speed !== undefined && { speed }) } }
    }
    case 'transcription':
      return transcriptionRequest(task, model)
    default:
      return task satisfies never
  }
}

function imageRequest(task: ImageTask, { upstreamModel, image, asksForBase64 }: MediaModel): MediaRequest {
  if (!image) throw new Error('an image was planned that its model does not make')
  const { prompt, count: n, background, style, sources, mask } = task
  const body = {
    model: upstreamModel,
    prompt,
    n,
    // Always named, so that what is made is what is held for.
    size: image.size,
    ...(image.quality !== '' && { quality: image.quality }),
    // What it is by default; not every provider knows the field.
    ...(background && background !== 'auto' && { background }),
    ...(style && { style }),
    ...(asksForBase64 && { response_format: 'b64_json' }),
  }
  if (sources.length === 0) return { path: '/generations', body }
  const field = sources.length === 1 ? 'image' : 'image[]'
  return {
    path: '/edits',
    fields: Object.entries(body).map(([name, value]) => [name, String(value)]),
    files: [...sources.map((file) => ({ ...file, field })), ...(mask ? [{ ...mask, field: 'mask' }] : [])],
  }
}

function transcriptionRequest(task: TranscriptionTask, { upstreamModel }: MediaModel): MediaRequest {
  const { translates, file, language, prompt, temperature, granularities } = task
  return {
    path: translates ? '/translations' : '/transcriptions',
    fields: [
      ['model', upstreamModel],
      // The only format that says how long the recording is; the client's own is made from it.
      ['response_format', 'verbose_json'],
      ...(language === undefined ? [] : [['language', language] as const]),
      ...(prompt === undefined ? [] : [['prompt', prompt] as const]),
      ...(temperature === undefined ? [] : [['temperature', String(temperature)] as const]),
      ...granularities.map((granularity) => ['timestamp_granularities[]', granularity] as const),
    ],
    files: [{ ...file, field: 'file' }],
  }
}

const IMAGE_FIELD = 'b64_json'
/** Names and values of a transcript with a time for every word of some hours. */
const TRANSCRIPT_VALUES_MAX = 400_000
/** Of so many bytes is the longest reply: ten images of the largest size, as base64. */
export const MEDIA_REPLY_BYTES_MAX = 160 * 1024 * 1024

/** How a reply is to be read. */
export function mediaReply({ kind }: MediaTask): { files?: FilePlace; wholeValuesMax?: number } {
  switch (kind) {
    case 'image':
      return { files: { kind: 'field', name: IMAGE_FIELD } }
    case 'speech':
      return { files: { kind: 'body' } }
    case 'transcription':
      return { wholeValuesMax: TRANSCRIPT_VALUES_MAX }
    default:
      return kind satisfies never
  }
}

/** What a reply answers, and what it used as far as it says; null if it is no answer to all of the task. */
export interface MediaAnswer {
  answer: ReadonlyArray<MadeFile | Transcript>
  usage: Usage | null
}

/** Speech. */
export function readSpeech(task: SpeechTask, [file]: readonly ReplyFile[]): MediaAnswer | null {
  if (!file || !isSpeech(task, file.head)) return null
  return { answer: [{ ref: file.ref, bytes: file.bytes }], usage: null }
}

/** Whether the first bytes of a reply can be the speech that was asked for. Samples and AAC have no certain start. */
function isSpeech(task: SpeechTask, head: Uint8Array): boolean {
  if (head.length === 0) return false
  if (task.format === 'pcm' || task.format === 'aac') return head[0] !== 0x7b && head[0] !== 0x3c
  return fileFormat(head)?.mediaType === speechType(task)
}

const PNG_START = 'iVBORw0KGgo'

/** The images of a reply, one at least and no more than asked. */
export function readImages(
  task: ImageTask,
  image: ImageChoice,
  { data, usage }: Fields,
  files: readonly ReplyFile[],
): MediaAnswer | null {
  if (!Array.isArray(data) || data.length === 0 || data.length > task.count) return null
  const answer: MadeFile[] = []
  for (const entry of data) {
    if (!isObject(entry)) return null
    const file = files[Number(entry[IMAGE_FIELD] ?? Number.NaN)]
    if (!file?.head.toString('latin1').startsWith(PNG_START)) return null
    const { revised_prompt: revised } = entry
    answer.push({
      ref: file.ref,
      bytes: file.bytes,
      ...(typeof revised === 'string' && { revisedPrompt: revised }),
    })
  }
  return { answer, usage: imageUsage(usage, answer.length * image.unitsEach) }
}

/** Tokens of the prompt and its images where the provider reports them; of the output it may report fewer than planned. */
function imageUsage(reported: unknown, units: number): Usage {
  const { input_tokens: input, input_tokens_details: details, output_tokens: output } = fieldsOf(reported)
  const { image_tokens: imageTokens } = fieldsOf(details)
  return {
    promptTokens: typeof input === 'number' ? input : 0,
    completionTokens: 0,
    ...(typeof imageTokens === 'number' && { imageTokens }),
    units: typeof output === 'number' && output > 0 ? Math.min(units, output) : units,
  }
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

const SEGMENT_FIELDS = [
  'id',
  'seek',
  'start',
  'end',
  'text',
  'tokens',
  'temperature',
  'avg_logprob',
  'compression_ratio',
  'no_speech_prob',
]
const WORD_FIELDS = ['word', 'start', 'end']

/** A transcript, and the seconds that are charged for. */
export function readTranscript(task: TranscriptionTask, reply: Fields): MediaAnswer | null {
  if (typeof reply.text !== 'string') return null
  const { duration } = reply
  if (typeof duration !== 'number' || !Number.isFinite(duration) || duration < 0) return null
  const transcript: Transcript = {
    text: reply.text,
    duration,
    language: typeof reply.language === 'string' ? reply.language : (task.language ?? ''),
    segments: entriesOf(reply.segments, SEGMENT_FIELDS),
    words: entriesOf(reply.words, WORD_FIELDS),
  }
  return {
    answer: [transcript],
    usage: { promptTokens: 0, completionTokens: 0, units: secondsCharged(task, duration) },
  }
}

/** Entries of a list with these fields only. */
const entriesOf = (list: unknown, names: readonly string[]): Fields[] =>
  Array.isArray(list)
    ? list
        .filter(isObject)
        .map((entry) =>
          Object.fromEntries(names.flatMap((name) => (name in entry ? [[name, entry[name]]] : []))),
        )
    : []
