import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImageTask, SpeechTask, TranscriptionTask } from '../../src/core/calls/media-task.ts'
import { imageSize } from '../../src/core/media/image-size.ts'
import {
  imagesResponse,
  isSpeech,
  type MediaRequest,
  mediaRequest,
  readImages,
  readTranscript,
  speechType,
  transcriptResponse,
} from '../../src/providers/media-tasks.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../tools/simulated-providers/start-simulated-providers.ts'
import { encodePng } from '../../tools/simulated-providers/tasks/png.ts'
import { encodeWav, toneSamples } from '../../tools/simulated-providers/tasks/speech-audio.ts'

let providers: SimulatedProviders
beforeAll(async () => {
  providers = await startSimulatedProviders()
})
afterAll(() => providers.close())

const MODEL = { upstreamModel: 'sim-tag-media', imageUnits: { '/64x64': 3, '/128x64': 5 } }
const png = encodePng(64, 64, 1)
const wav = encodeWav(toneSamples(2.6, 1))
const IMAGE: ImageTask = { kind: 'image', prompt: 'a fox', count: 2, sources: [] }
const SPEECH: SpeechTask = { kind: 'speech', input: 'Hello there', voice: 'alloy', format: 'wav' }
const FILE = {
  ref: 'acct_1/chatcmpl_1/file-0',
  bytes: wav.length,
  mediaType: 'audio/wav',
  fileName: 'file.wav',
}
const TRANSCRIPTION: TranscriptionTask = {
  kind: 'transcription',
  translates: false,
  file: FILE,
  secondsBound: 3,
  granularities: [],
  format: 'json',
}

/** Sends a request to a provider that refuses unknown fields, with these bytes as its files. */
async function send(request: MediaRequest, bytes: Buffer) {
  let body: string | FormData
  if ('body' in request) body = JSON.stringify(request.body)
  else {
    body = new FormData()
    for (const [name, value] of request.fields) body.append(name, value)
    for (const { field, fileName, mediaType } of request.files)
      body.append(field, new Blob([new Uint8Array(bytes)], { type: mediaType }), fileName)
  }
  const response = await fetch(`${providers.url}/alpha/v1${request.path}`, { method: 'POST', body })
  expect(response.status).toBe(200)
  return { type: response.headers.get('content-type'), bytes: Buffer.from(await response.arrayBuffer()) }
}

describe('images', () => {
  const image = `{"b64_json":"${png.toString('base64')}"}`

  test.each<[string, Partial<ImageTask>, string]>([
    ['generated', {}, '/images/generations'],
    [
      'edited',
      { sources: [{ ...FILE, mediaType: 'image/png', fileName: 'file.png' }], mask: FILE },
      '/images/edits',
    ],
    ['edited from several', { sources: [FILE, FILE] }, '/images/edits'],
  ])('are %s in the size that is held for, and charged by number', async (_, fields, path) => {
    const task = { ...IMAGE, size: '128x64', ...fields }
    const request = mediaRequest(task, MODEL)
    expect(request.path).toBe(path)
    const { bytes } = await send(request, png)
    const read = readImages(task, MODEL, bytes.toString())!
    expect(read.units).toBe(10)
    expect(read.images.map(({ b64_json }) => imageSize(b64_json))).toEqual(
      Array.from({ length: 2 }, () => ({ width: 128, height: 64 })),
    )
    expect(imagesResponse(read.images, 5)).toEqual({ created: 5, data: read.images })
  })

  test('name size and quality upstream where the client named none, and base64 where it is not the default', () => {
    const model = { ...MODEL, imageUnits: { 'low/64x64': 1 }, asksForBase64: true }
    expect(mediaRequest({ ...IMAGE, quality: 'auto' }, model)).toMatchObject({
      body: { model: 'sim-tag-media', size: '64x64', quality: 'low', response_format: 'b64_json', n: 2 },
    })
  })

  test('of a reply are passed on without anything else, and charged for as many as there are', () => {
    const text = `{"created":1,"provider":"alpha","data":[${image.replace('}', ',"revised_prompt":"a red fox","url":"https://x"}')}]}`
    expect(readImages(IMAGE, MODEL, text)).toEqual({
      images: [{ b64_json: png.toString('base64'), revised_prompt: 'a red fox' }],
      units: 3,
    })
  })

  test.each([
    ['more than asked', `{"data":[${image},${image},${image}]}`],
    ['none', '{"data":[]}'],
    ['an address', '{"data":[{"url":"https://images.example/1.png"}]}'],
    ['no image', '{"data":[{"b64_json":"PGh0bWw+"}]}'],
    ['no JSON', '<html>'],
  ])('are malformed: %s', (_, text) => {
    expect(readImages(IMAGE, MODEL, text)).toBeNull()
  })
})

test.each(['wav', 'mp3', 'pcm'] as const)(
  'speech comes as %s and is known by its first bytes',
  async (format) => {
    const task = { ...SPEECH, format, speed: 2 }
    const { bytes, type } = await send(mediaRequest(task, MODEL), wav)
    expect(type).toBe(speechType(task))
    expect(isSpeech(task, bytes)).toBe(true)
    expect(isSpeech(task, Buffer.from('{"error":{}}'))).toBe(false)
    expect(isSpeech(task, Buffer.from('<html>'))).toBe(false)
    expect(isSpeech(task, Buffer.alloc(0))).toBe(false)
  },
)

describe('a transcript', () => {
  test('is charged by its duration and written in every format', async () => {
    const { bytes } = await send(
      mediaRequest({ ...TRANSCRIPTION, language: 'de', granularities: ['word'] }, MODEL),
      wav,
    )
    const { transcript, units } = readTranscript(TRANSCRIPTION, bytes.toString())!
    expect([transcript.duration, units]).toEqual([2.6, 3])
    const written = (fields: Partial<TranscriptionTask>) =>
      transcriptResponse({ ...TRANSCRIPTION, ...fields }, transcript, units)
    const { text } = transcript
    expect(JSON.parse(written({}).body)).toEqual({ text, usage: { type: 'duration', seconds: 3 } })
    expect(written({ format: 'text' })).toEqual({
      contentType: 'text/plain; charset=utf-8',
      body: `${text}\n`,
    })
    const verbose = JSON.parse(written({ format: 'verbose_json' }).body)
    expect(verbose).toMatchObject({ task: 'transcribe', language: 'de', duration: 2.6, segments: [{ text }] })
    expect(verbose).not.toHaveProperty('provider')
    expect(JSON.parse(written({ format: 'verbose_json', granularities: ['word'] }).body).words).toHaveLength(
      text.split(' ').length,
    )
  })

  test('is translated at a path of its own', async () => {
    const task = { ...TRANSCRIPTION, translates: true, prompt: 'names', temperature: 0.5 }
    const { bytes } = await send(mediaRequest(task, MODEL), wav)
    const { transcript, units } = readTranscript(task, bytes.toString())!
    expect(
      JSON.parse(transcriptResponse({ ...task, format: 'verbose_json' }, transcript, units).body).task,
    ).toBe('translate')
  })

  test.each([
    '{"text":"x"}',
    '{"text":"x","duration":-1}',
    '{"text":"x","duration":"2"}',
    '{"duration":2}',
    'text',
  ])('is malformed without a text and its duration: %s', (reply) => {
    expect(readTranscript(TRANSCRIPTION, reply)).toBeNull()
  })

  test('never costs more than is held, whatever its provider says', () => {
    expect(readTranscript(TRANSCRIPTION, '{"text":"x","duration":1e12}')?.units).toBe(3)
  })
})
