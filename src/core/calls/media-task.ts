import type { CallFile } from './kinds/form-fields.ts'
import type { ImageContent } from './kinds/image.ts'
import type { SpeechContent } from './kinds/speech.ts'
import type { TranscriptionContent } from './kinds/transcription.ts'

export type MediaTask = ImageContent | SpeechContent | TranscriptionContent
export type ImageTask = ImageContent
export type SpeechTask = SpeechContent
export type TranscriptionTask = TranscriptionContent
export type TaskFile = CallFile
export type { ImageChoice } from './kinds/call-kind.ts'
export type { MadeFile } from './kinds/image.ts'
export { speechType } from './kinds/speech.ts'
export { secondsCharged, type Transcript } from './kinds/transcription.ts'
