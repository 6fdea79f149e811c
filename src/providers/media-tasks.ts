import {
  type ImageTask,
  type ImageUnits,
  imageChoice,
  type MediaTask,
  type SpeechTask,
  secondsCharged,
  type TaskFile,
  type TranscriptionTask,
} from '../core/calls/media-task.ts'
import { fileFormat } from '../core/media/file-format.ts'
import { type Fields, isObject, parseObject } from './wire.ts'

/** Images, speech and transcriptions on the chat-completions wire: what is sent, and what of a reply is passed on. Pure. */

/** A request beside the path of chat completions: a JSON body, or a form. */
export type MediaRequest =
  | { path: string; body: Fields }
  | {
      path: string
      fields: ReadonlyArray<readonly [name: string, value: string]>
      files: readonly SentFile[]
    }

export interface SentFile extends TaskFile {
  field: string
}

export interface MediaModel {
  upstreamModel: string
  /** Of a model for images. */
  imageUnits?: ImageUnits
  /** It sends addresses of images unless it is asked for base64. */
  asksForBase64?: boolean
}

/** What a provider is sent. The model's table has an entry for what an image task asks. */
export function mediaRequest(task: MediaTask, model: MediaModel): MediaRequest {
  switch (task.kind) {
    case 'image':
      return imageRequest(task, model)
    case 'speech': {
      const { input, voice, format, speed } = task
      const body = { model: model.upstreamModel, input, voice, response_format: format }
      return { path: '/audio/speech', body: { ...body, ...(speed !== undefined && { speed }) } }
    }
    case 'transcription':
      return transcriptionRequest(task, model)
    default:
      return task satisfies never
  }
}

function imageRequest(
  task: ImageTask,
  { upstreamModel, imageUnits = {}, asksForBase64 }: MediaModel,
): MediaRequest {
  const choice = imageChoice(task, imageUnits)
  if (!choice) throw new Error('an image was planned that its model does not make')
  const { prompt, count: n, background, style, sources, mask } = task
  const body = {
    model: upstreamModel,
    prompt,
    n,
    // Always named, so that what is made is what is held for.
    size: choice.size,
    ...(choice.quality !== '' && { quality: choice.quality }),
    ...(background && { background }),
    ...(style && { style }),
    ...(asksForBase64 && { response_format: 'b64_json' }),
  }
  if (sources.length === 0) return { path: '/images/generations', body }
  const field = sources.length === 1 ? 'image' : 'image[]'
  return {
    path: '/images/edits',
    fields: Object.entries(body).map(([name, value]) => [name, String(value)]),
    files: [...sources.map((file) => ({ ...file, field })), ...(mask ? [{ ...mask, field: 'mask' }] : [])],
  }
}

function transcriptionRequest(task: TranscriptionTask, { upstreamModel }: MediaModel): MediaRequest {
  const { translates, file, language, prompt, temperature, granularities } = task
  return {
    path: translates ? '/audio/translations' : '/audio/transcriptions',
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

export interface MadeImage {
  b64_json: string
  revised_prompt?: string
}

const PNG_START = 'iVBORw0KGgo'

/** The images of a reply and the units they take; null if it has none, more than asked, or something else. */
export function readImages(
  task: ImageTask,
  { imageUnits = {} }: Pick<MediaModel, 'imageUnits'>,
  text: string,
): { images: MadeImage[]; units: number } | null {
  const data = parseObject(text)?.data
  if (!Array.isArray(data) || data.length === 0 || data.length > task.count) return null
  const images: MadeImage[] = []
  for (const entry of data) {
    if (!isObject(entry) || typeof entry.b64_json !== 'string' || !entry.b64_json.startsWith(PNG_START))
      return null
    const { b64_json, revised_prompt: revised } = entry
    images.push({ b64_json, ...(typeof revised === 'string' && { revised_prompt: revised }) })
  }
  return { images, units: images.length * (imageChoice(task, imageUnits)?.unitsEach ?? 0) }
}

/** As clients read it. `created`: unix seconds. */
export const imagesResponse = (images: readonly MadeImage[], created: number): Fields => ({
  created,
  data: images,
})

const SPEECH_TYPES: Record<SpeechTask['format'], string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

export const speechType = ({ format }: SpeechTask): string => SPEECH_TYPES[format]

/** Whether the first bytes of a reply can be the speech that was asked for. Samples and AAC have no certain start. */
export function isSpeech({ format }: SpeechTask, head: Uint8Array): boolean {
  if (head.length === 0) return false
  if (format === 'pcm' || format === 'aac') return head[0] !== 0x7b && head[0] !== 0x3c
  return fileFormat(head)?.mediaType === SPEECH_TYPES[format]
}

export interface Transcript {
  text: string
  /** Seconds. */
  duration: number
  language: string
  segments: readonly Fields[]
  words: readonly Fields[]
}

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

/** The transcript of a reply and the seconds charged for; null if it is none. */
export function readTranscript(
  task: TranscriptionTask,
  text: string,
): { transcript: Transcript; units: number } | null {
  const reply = parseObject(text)
  if (typeof reply?.text !== 'string') return null
  const { duration } = reply
  if (typeof duration !== 'number' || !Number.isFinite(duration) || duration < 0) return null
  const transcript: Transcript = {
    text: reply.text,
    duration,
    language: typeof reply.language === 'string' ? reply.language : (task.language ?? ''),
    segments: entriesOf(reply.segments, SEGMENT_FIELDS),
    words: entriesOf(reply.words, WORD_FIELDS),
  }
  return { transcript, units: secondsCharged(task, duration) }
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

/** A transcript in the format that the client asked for. `seconds`: those charged. */
export function transcriptResponse(
  { format, translates, granularities }: TranscriptionTask,
  { text, duration, language, segments, words }: Transcript,
  seconds: number,
): { contentType: string; body: string } {
  if (format === 'text') return { contentType: 'text/plain; charset=utf-8', body: `${text}\n` }
  const usage = { type: 'duration', seconds }
  const details = {
    task: translates ? 'translate' : 'transcribe',
    language,
    duration,
    text,
    ...(granularities.includes('word') && { words }),
    ...((granularities.length === 0 || granularities.includes('segment')) && { segments }),
    usage,
  }
  const body = JSON.stringify(format === 'json' ? { text, usage } : details)
  return { contentType: 'application/json; charset=utf-8', body }
}
