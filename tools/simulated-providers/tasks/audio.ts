import type { Behaviour } from '../behaviour.ts'
import { prose, textHash } from '../completion.ts'
import { listOf } from '../simulated-request.ts'
import { silentAac, silentFlac, silentMp3, silentOpus } from './silent-audio.ts'
import { hasOnly, jsonReply, noise, reportedCount, type SimulatedTask } from './simulated-task.ts'
import { encodeWav, secondsOf, toneSamples } from './speech-audio.ts'

const CHARACTERS_PER_SECOND = 15
const CHARACTERS_MAX = 4_096

/** A recording that lasts as long as the text takes to say. */
export const SPEECH: SimulatedTask = {
  reply({ fields, files }, { behaviour }) {
    if (!hasOnly(fields, ['model', 'input', 'voice', 'response_format', 'speed', 'instructions'])) return null
    const { input, voice, response_format: format = 'mp3', speed = 1 } = fields
    if (files.length > 0 || typeof input !== 'string' || input === '' || [...input].length > CHARACTERS_MAX)
      return null
    if (typeof voice !== 'string' || typeof speed !== 'number' || speed < 0.25 || speed > 4) return null
    const seconds = behaviour.style === 'empty' ? 0 : input.length / CHARACTERS_PER_SECOND / speed
    const speech = recordingOf(format, seconds, textHash(`${voice}:${input}`))
    return speech && behaviour.garbage ? { ...speech, body: noise(speech.body.length) } : speech
  },
}

/** A tone, or in formats that are compressed silence. */
function recordingOf(format: unknown, seconds: number, seed: number) {
  switch (format) {
    case 'mp3':
      return { contentType: 'audio/mpeg', body: silentMp3(seconds) }
    case 'opus':
      return { contentType: 'audio/ogg', body: silentOpus(seconds) }
    case 'aac':
      return { contentType: 'audio/aac', body: silentAac(seconds) }
    case 'flac':
      return { contentType: 'audio/flac', body: silentFlac(seconds) }
    case 'wav':
      return { contentType: 'audio/wav', body: encodeWav(toneSamples(seconds, seed)) }
    case 'pcm':
      return { contentType: 'audio/pcm', body: toneSamples(seconds, seed) }
    default:
      return null
  }
}

const LISTENING_FIELDS = ['model', 'prompt', 'response_format', 'temperature']
const WORDS_PER_SECOND = 2.5

/** Text whose length follows the duration of the recording. */
function listening(task: 'transcribe' | 'translate', fieldNames: readonly string[]): SimulatedTask {
  return {
    reply({ fields, files }, { behaviour, provider }) {
      const [file, ...others] = files
      if (file?.field !== 'file' || others.length > 0 || !hasOnly(fields, fieldNames)) return null
      const duration = secondsOf(file.bytes)
      if (duration === null) return null
      if (behaviour.garbage) return { contentType: 'application/json', body: noise(file.bytes.length) }
      const seed = textHash(file.bytes.toString('latin1'))
      const words = Math.max(1, Math.round(duration * WORDS_PER_SECOND))
      const text = behaviour.style === 'empty' ? '' : prose('', words, seed)
      const seconds = reportedCount(Math.ceil(duration), behaviour)
      const usage = seconds === undefined ? {} : { usage: { type: 'duration', seconds } }
      switch (fields.response_format ?? 'json') {
        case 'text':
          return { contentType: 'text/plain; charset=utf-8', body: `${text}\n` }
        case 'json':
          return jsonReply({ text, ...usage, provider }, behaviour)
        case 'verbose_json': {
          const span = { start: 0, end: duration }
          const wordTimes = listOf(fields.timestamp_granularities).includes('word')
            ? {
                words: text
                  .split(' ')
                  .map((word, at, all) => ({ word, ...spanOf(at, all.length, duration) })),
              }
            : {}
          const segments = text === '' ? [] : [{ id: 0, seek: 0, ...span, text, tokens: [], temperature: 0 }]
          const language = task === 'translate' ? 'english' : (fields.language ?? 'english')
          return jsonReply(
            {
              task,
              language,
              ...lengthOf(duration, behaviour),
              text,
              segments,
              ...wordTimes,
              ...usage,
              provider,
            },
            behaviour,
          )
        }
        default:
          return null
      }
    },
  }
}

/** As reported: it is what is paid for. */
function lengthOf(duration: number, behaviour: Behaviour): { duration?: number } {
  const reported = reportedCount(duration, behaviour)
  return reported === undefined ? {} : { duration: reported }
}

const spanOf = (at: number, count: number, duration: number) => ({
  start: (at / count) * duration,
  end: ((at + 1) / count) * duration,
})

export const TRANSCRIPTIONS = listening('transcribe', [
  ...LISTENING_FIELDS,
  'language',
  'timestamp_granularities',
])

export const TRANSLATIONS = listening('translate', LISTENING_FIELDS)
