import {
  secondsCharged,
  type Transcript,
  type TranscriptionContent,
} from '../../core/calls/kinds/transcription.ts'
import { type Fields, isObject } from '../wire.ts'
import { FormParts, type ResultKind } from './result-kind.ts'

export const transcription: ResultKind<TranscriptionContent> = {
  path: '/audio',
  request(content, { upstreamModel }) {
    const { translates, file, language, prompt, temperature, granularities } = content
    return {
      path: translates ? '/translations' : '/transcriptions',
      body: new FormParts(
        [
          ['model', upstreamModel],
          // The only format that has the recording's duration. The client's format is made from it.
          ['response_format', 'verbose_json'],
          ...(language === undefined ? [] : [['language', language] as const]),
          ...(prompt === undefined ? [] : [['prompt', prompt] as const]),
          ...(temperature === undefined ? [] : [['temperature', String(temperature)] as const]),
          ...granularities.map((granularity) => ['timestamp_granularities[]', granularity] as const),
        ],
        [{ ...file, field: 'file' }],
      ),
    }
  },
  isMedia: true,
  /** A transcript, and the seconds that are charged. */
  read(content, { body: { text, duration, language, segments, words } }) {
    if (typeof text !== 'string') return null
    if (typeof duration !== 'number' || !Number.isFinite(duration) || duration < 0) return null
    const transcript: Transcript = {
      text,
      duration,
      language: typeof language === 'string' ? language : (content.language ?? ''),
      segments: entriesOf(segments, SEGMENT_FIELDS),
      words: entriesOf(words, WORD_FIELDS),
    }
    const units = secondsCharged(content, duration)
    return { result: [transcript], usage: { promptTokens: 0, completionTokens: 0, units } }
  },
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

/** The entries of a list, with only these fields. */
const entriesOf = (list: unknown, names: readonly string[]): Fields[] =>
  Array.isArray(list)
    ? list
        .filter(isObject)
        .map((entry) =>
          Object.fromEntries(names.flatMap((name) => (name in entry ? [[name, entry[name]]] : []))),
        )
    : []
