import type { MadeFile } from '../../core/calls/kinds/image.ts'
import { normalizeSpeech, SpeechBody, type SpeechContent, speechType } from '../../core/calls/kinds/speech.ts'
import {
  normalizeTranscription,
  type Transcript,
  type TranscriptionContent,
  TranscriptionForm,
  TranslationForm,
} from '../../core/calls/kinds/transcription.ts'
import type { WholeBody } from '../calls/completion-writer.ts'
import type { ResultOf } from '../calls/result-format.ts'
import { formRoute, jsonRoute } from './result-routes.ts'

const MEGABYTE = 1024 * 1024
const RECORDING = { files: 1, fileBytes: 25 * MEGABYTE, bodyBytes: 26 * MEGABYTE }

/** The routes that make speech or read recordings. */
export const AUDIO_ROUTES = {
  'audio.speech': jsonRoute({
    makesFiles: true,
    summary: 'Speech from a text',
    body: SpeechBody,
    normalize: normalizeSpeech,
    write: speechBody,
  }),
  'audio.transcriptions': formRoute({
    summary: 'The text of a recording',
    body: TranscriptionForm,
    normalize: (form) => normalizeTranscription(form, false),
    files: RECORDING,
    write: transcriptBody,
  }),
  'audio.translations': formRoute({
    summary: 'The text of a recording, in English',
    body: TranslationForm,
    normalize: (form) => normalizeTranscription(form, true),
    files: RECORDING,
    write: transcriptBody,
  }),
}

export function speechBody({ result, content }: ResultOf<SpeechContent>): WholeBody {
  return { contentType: speechType(content), pieces: JSON.parse(result) as MadeFile[] }
}

/** In the format that the client requested, with the charged seconds. */
export function transcriptBody({ result, usage, content }: ResultOf<TranscriptionContent>): WholeBody {
  const { format, translates, granularities } = content
  const [transcript] = JSON.parse(result) as Transcript[]
  const { text, duration, language, segments, words } = transcript!
  if (format === 'text') return { contentType: 'text/plain; charset=utf-8', pieces: [`${text}\n`] }
  const used = { type: 'duration', seconds: usage?.units ?? 0 }
  const body =
    format === 'json'
      ? { text, usage: used }
      : {
          task: translates ? 'translate' : 'transcribe',
          language,
          duration,
          text,
          ...(granularities.includes('word') && { words }),
          ...((granularities.length === 0 || granularities.includes('segment')) && { segments }),
          usage: used,
        }
  return { contentType: 'application/json; charset=utf-8', pieces: [JSON.stringify(body)] }
}
