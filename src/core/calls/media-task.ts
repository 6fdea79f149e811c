/**
 * Calls that make or read files: images, speech, transcriptions. They are priced by units: images by their size and
 * quality, characters, seconds. All functions here are pure.
 */
export type MediaTask = ImageTask | SpeechTask | TranscriptionTask

/** A file in the store of bodies. */
export interface TaskFile {
  ref: string
  bytes: number
  mediaType: string
  /** With an ending that says its format; never the client's own name. */
  fileName: string
}

export const BACKGROUNDS = ['transparent', 'opaque', 'auto'] as const
export const IMAGE_STYLES = ['vivid', 'natural'] as const

export interface ImageTask {
  kind: 'image'
  prompt: string
  count: number
  /** As asked; absent or `auto`: as the model's table of units begins. */
  size?: string
  quality?: string
  background?: (typeof BACKGROUNDS)[number]
  style?: (typeof IMAGE_STYLES)[number]
  /** The images that are edited; empty: it is made from the prompt alone. */
  sources: readonly TaskFile[]
  mask?: TaskFile
}

export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export type SpeechFormat = (typeof SPEECH_FORMATS)[number]

const SPEECH_TYPES: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** The media type of speech. */
export const speechType = ({ format }: Pick<SpeechTask, 'format'>): string => SPEECH_TYPES[format]

export interface SpeechTask {
  kind: 'speech'
  input: string
  voice: string
  format: SpeechFormat
  speed?: number
}

export const TRANSCRIPT_FORMATS = ['json', 'text', 'verbose_json'] as const
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]

export const GRANULARITIES = ['word', 'segment'] as const

export interface TranscriptionTask {
  kind: 'transcription'
  /** Into English. */
  translates: boolean
  file: TaskFile
  /** The recording lasts so many seconds at most. */
  secondsBound: number
  language?: string
  prompt?: string
  temperature?: number
  granularities: ReadonlyArray<(typeof GRANULARITIES)[number]>
  format: TranscriptFormat
}

/** A file that was made, in the answer to an image or speech task: an image is stored as base64. */
export interface MadeFile {
  ref: string
  bytes: number
  revisedPrompt?: string
}

/** The answer to a transcription task. */
export interface Transcript {
  text: string
  /** Seconds. */
  duration: number
  language: string
  segments: ReadonlyArray<Record<string, unknown>>
  words: ReadonlyArray<Record<string, unknown>>
}

/**
 * Units of one image by `<quality>/<size>`, as `high/1024x1024`; `/1024x1024` of a model without qualities. The first
 * is what the model makes when nothing is asked. Only what is in it can be made, so that every price is known.
 */
export type ImageUnits = Readonly<Record<string, number>>

export interface ImageChoice {
  /** Empty: the model has no qualities. */
  quality: string
  size: string
  unitsEach: number
}

const AUTO = 'auto'

/** What a model makes of a request; null if it makes no such image. */
export function imageChoice({ quality, size }: ImageTask, table: ImageUnits = {}): ImageChoice | null {
  const fits = (asked: string | undefined, offered: string) =>
    asked === undefined || asked === AUTO || asked === offered
  for (const [key, unitsEach] of Object.entries(table)) {
    const [offeredQuality = '', offeredSize = ''] = key.split('/')
    if (fits(quality, offeredQuality) && fits(size, offeredSize))
      return { quality: offeredQuality, size: offeredSize, unitsEach }
  }
  return null
}

/** What a task asks that not every model of its kind knows, named as in the catalog. */
export function mediaParameters(task: MediaTask): string[] {
  switch (task.kind) {
    case 'image':
      return [
        ...(task.background === undefined || task.background === AUTO ? [] : ['background']),
        ...(task.style === undefined ? [] : ['style']),
      ]
    case 'speech':
      return []
    case 'transcription':
      return [
        ...(task.translates ? ['translations'] : []),
        ...(task.granularities.includes('word') ? ['timestamp_granularities'] : []),
      ]
    default:
      return task satisfies never
  }
}

/** The units that a task takes at most; null if the model cannot do it. `table`: of a model for images. */
export function mediaUnitsBound(task: MediaTask, table?: ImageUnits): number | null {
  switch (task.kind) {
    case 'image': {
      const choice = imageChoice(task, table)
      return choice && choice.unitsEach * task.count
    }
    case 'speech':
      return charactersOf(task.input)
    case 'transcription':
      return task.secondsBound
    default:
      return task satisfies never
  }
}

/** Unicode characters, which is what speech is priced by. */
export const charactersOf = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Seconds of a recording as its maker counts them: to the nearest, one at least, and never beyond what is held. */
export const secondsCharged = ({ secondsBound }: TranscriptionTask, duration: number): number =>
  Math.min(secondsBound, Math.max(1, Math.round(duration)))
