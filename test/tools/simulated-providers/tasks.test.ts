import { inflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { audioLength } from '../../../src/core/media/audio-length.ts'
import { fileFormat } from '../../../src/core/media/file-format.ts'
import { imageSize } from '../../../src/core/media/image-size.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../../tools/simulated-providers/start-simulated-providers.ts'
import { encodeWav, toneSamples } from '../../../tools/simulated-providers/tasks/speech-audio.ts'

let providers: SimulatedProviders
beforeAll(async () => {
  providers = await startSimulatedProviders()
})
afterAll(() => providers.close())

const MODEL = 'sim-tag-task'

async function ask(path: string, body: Record<string, unknown> | FormData, provider = 'alpha') {
  const isForm = body instanceof FormData
  const response = await fetch(`${providers.url}/${provider}/v1/${path}`, {
    method: 'POST',
    body: isForm ? body : JSON.stringify({ model: MODEL, ...body }),
    ...(!isForm && { headers: { 'content-type': 'application/json' } }),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    bytes,
    text: bytes.toString(),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into arbitrary provider JSON.
const json = async (...call: Parameters<typeof ask>): Promise<any> => JSON.parse((await ask(...call)).text)

function form(fields: Record<string, string>, files: Record<string, Buffer>): FormData {
  const filled = new FormData()
  for (const [name, value] of Object.entries({ model: MODEL, ...fields })) filled.append(name, value)
  for (const [name, bytes] of Object.entries(files))
    filled.append(name, new Blob([new Uint8Array(bytes)]), 'file')
  return filled
}

const dot = (one: number[], other: number[]) => one.reduce((sum, value, at) => sum + value * other[at]!, 0)

describe('embeddings', () => {
  test('are of unit length, equal for equal texts and nearer for texts that share words', async () => {
    const input = ['a red train', 'a red tram', 'quarterly tax report']
    const { data, usage } = await json('embeddings', { input })
    const vectors = data.map(({ embedding }: { embedding: number[] }) => embedding)
    for (const vector of vectors) {
      expect(vector).toHaveLength(1_536)
      expect(dot(vector, vector)).toBeCloseTo(1, 5)
    }
    expect(dot(vectors[0], vectors[1])).toBeGreaterThan(dot(vectors[0], vectors[2]) + 0.3)
    expect(usage.prompt_tokens).toBeGreaterThan(0)
    expect((await json('embeddings', { input: input[0] }, 'beta')).data[0].embedding).toEqual(vectors[0])
  })

  test('as base64 are the same 32-bit floats, and have as many components as asked', async () => {
    const fields = { input: [[1, 2, 3]], dimensions: 64 }
    const [{ embedding }] = (await json('embeddings', fields)).data
    const [{ embedding: text }] = (await json('embeddings', { ...fields, encoding_format: 'base64' })).data
    const bytes = Buffer.from(text, 'base64')
    expect(embedding).toEqual(Array.from({ length: 64 }, (_, at) => bytes.readFloatLE(at * 4)))
  })
})

test('rerank orders documents by the words that they share with the query', async () => {
  const { results, meta } = await json('rerank', {
    query: 'capital of France',
    documents: ['Bananas are yellow', 'Paris is the capital of France', { text: 'A capital idea' }],
    top_n: 2,
    return_documents: true,
  })
  expect(results).toMatchObject([
    { index: 1, relevance_score: 1, document: { text: 'Paris is the capital of France' } },
    { index: 2 },
  ])
  expect(meta.billed_units.search_units).toBe(1)
})

test('moderations flag the categories that a text names', async () => {
  const { results } = await json('moderations', { input: ['a quiet day', 'graphic violence'] })
  expect(results.map(({ flagged }: { flagged: boolean }) => flagged)).toEqual([false, true])
  expect(results[1].categories).toMatchObject({ violence: true, hate: false })
  expect(results[1].category_scores.violence).toBeGreaterThan(0.5)
})

describe('images', () => {
  const pixelsOf = (png: Buffer) => {
    const at = png.indexOf('IDAT')
    return inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)))
  }

  test('are PNGs of the size that was asked for, the same for the same prompt', async () => {
    const { data } = await json('images/generations', { prompt: 'a fox', n: 2, size: '256x128' })
    const [first, second] = data.map(({ b64_json: image }: { b64_json: string }) => image)
    expect(imageSize(first)).toEqual({ width: 256, height: 128 })
    expect(pixelsOf(Buffer.from(first, 'base64'))).toHaveLength(128 * 257)
    expect(second).not.toBe(first)
    const again = await json('images/generations', { prompt: 'a fox', size: '256x128' }, 'beta')
    expect(again.data[0].b64_json).toBe(first)
  })

  test('are edited from the files of a form, and nothing that is no image is accepted', async () => {
    const { data } = await json('images/generations', { prompt: 'a fox', size: '64x64' })
    const image = Buffer.from(data[0].b64_json, 'base64')
    const fields = { prompt: 'add a hat', size: '64x64' }
    const edited = await json('images/edits', form(fields, { 'image[]': image, mask: image }))
    expect(imageSize(edited.data[0].b64_json)).toEqual({ width: 64, height: 64 })
    expect((await ask('images/edits', form(fields, { image: Buffer.from('GIF89a') }))).status).toBe(400)
    expect((await ask('images/edits', form(fields, {}))).status).toBe(400)
  })

  test('that are made of tokens have qualities, and come with the tokens of each kind', async () => {
    const asked = { model: 'sim-image-tokens-3', prompt: 'a red fox', size: '256x256' }
    const { data, usage } = await json('images/generations', { ...asked, n: 2, quality: 'high' })
    expect(data).toHaveLength(2)
    expect(usage).toEqual({
      input_tokens: 3,
      input_tokens_details: { text_tokens: 3, image_tokens: 0 },
      output_tokens: 9_518,
      output_tokens_details: { text_tokens: 0, image_tokens: 9_518 },
      total_tokens: 9_521,
    })
    const image = Buffer.from(data[0].b64_json, 'base64')
    const edited = await json('images/edits', form(asked, { image }))
    expect(edited.usage).toMatchObject({
      input_tokens_details: { image_tokens: 1_024 },
      output_tokens: 1_190,
    })
    for (const refused of [{ quality: 'max' }, { response_format: 'b64_json' }, { style: 'vivid' }]) {
      expect((await ask('images/generations', { ...asked, ...refused })).status).toBe(400)
    }
    const without = { ...asked, model: `${asked.model}.missing-usage` }
    expect(await json('images/generations', without)).not.toHaveProperty('usage')
  })

  test('have addresses where base64 is not asked for, or are noise, as the model name says', async () => {
    const asked = { prompt: 'a fox', size: '64x64' }
    const first = async (fields: object) =>
      (await json('images/generations', { ...asked, ...fields })).data[0]
    expect(Object.keys(await first({ model: 'sim-image-urls' }))).toEqual(['url'])
    const base64 = await first({ model: 'sim-image-urls', response_format: 'b64_json' })
    expect(imageSize(base64.b64_json)).toEqual({ width: 64, height: 64 })
    const { b64_json: noise } = await first({ model: 'sim-garbage' })
    expect(fileFormat(Buffer.from(noise, 'base64'))).toBeNull()
  })
})

describe('audio', () => {
  test('speech lasts as long as the text takes to say', async () => {
    const speech = { input: 'word '.repeat(12), voice: 'alloy', response_format: 'wav' }
    const { bytes, type } = await ask('audio/speech', speech)
    expect(type).toBe('audio/wav')
    expect(audioLength(bytes.toString('base64')).most).toBe(5)
    expect((await ask('audio/speech', { ...speech, speed: 2, response_format: 'pcm' })).bytes).toHaveLength(
      96_000,
    )
    const mp3 = await ask('audio/speech', { ...speech, response_format: 'mp3' })
    expect([mp3.type, mp3.bytes.subarray(0, 2)]).toEqual(['audio/mpeg', Buffer.from([0xff, 0xfb])])
    expect((await ask('audio/speech', { ...speech, response_format: 'midi' })).status).toBe(400)
  })

  test.each([
    ['opus', 'audio/ogg'],
    ['flac', 'audio/flac'],
    ['aac', null],
  ])('speech is a file of the format %s', async (format, mediaType) => {
    const speech = { input: 'word '.repeat(12), voice: 'alloy', response_format: format }
    const { bytes } = await ask('audio/speech', speech)
    expect(fileFormat(bytes)?.mediaType ?? null).toBe(mediaType)
    expect(bytes.length).toBeGreaterThan(300)
    const garbage = await ask('audio/speech', { ...speech, model: 'sim-garbage' })
    expect([garbage.bytes.length, fileFormat(garbage.bytes)]).toEqual([bytes.length, null])
  })

  test('speech that is held waits in its middle', async () => {
    const response = await fetch(`${providers.url}/alpha/v1/audio/speech`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-held-1', input: 'word', voice: 'alloy', response_format: 'pcm' }),
    })
    const reader = response.body!.getReader()
    const { value: begun } = await reader.read()
    expect(begun!.length).toBeGreaterThan(0)
    providers.release()
    let bytes = begun!.length
    for (let next = await reader.read(); !next.done; next = await reader.read()) bytes += next.value.length
    expect(bytes).toBe(12_800)
  })

  test('a recording becomes text and its duration, in the format that was asked for', async () => {
    const file = encodeWav(toneSamples(3.5, 1))
    const whole = await json('audio/transcriptions', form({ response_format: 'verbose_json' }, { file }))
    expect(whole).toMatchObject({
      task: 'transcribe',
      duration: 3.5,
      usage: { type: 'duration', seconds: 4 },
    })
    const { text } = await json('audio/transcriptions', form({}, { file }))
    expect(text).toBe(whole.text)
    const plain = await ask('audio/translations', form({ response_format: 'text' }, { file }))
    expect([plain.type, plain.text]).toEqual(['text/plain; charset=utf-8', `${text}\n`])
    expect((await ask('audio/translations', form({ language: 'de' }, { file }))).status).toBe(400)
    expect((await ask('audio/transcriptions', form({}, { file: Buffer.from('noise') }))).status).toBe(400)
    const mp3 = Buffer.concat([Buffer.from('ID3'), Buffer.alloc(15_997)])
    const absurd = form({ model: 'sim-absurd-usage', response_format: 'verbose_json' }, { file: mp3 })
    expect((await json('audio/transcriptions', absurd)).duration).toBe(1_000_000_000_000)
    const usual = await json('audio/transcriptions', form({ response_format: 'verbose_json' }, { file: mp3 }))
    expect(usual.duration).toBe(2)
  })

  test('the bytes of a form are recorded as its files', async () => {
    const file = encodeWav(toneSamples(0.1, 2))
    await ask('audio/transcriptions', form({ model: 'sim-tag-recorded' }, { file }))
    const { body } = await providers.log.arrived(({ model }) => model === 'sim-tag-recorded')
    expect(body).toMatchObject({ files: [{ field: 'file', bytes: file }] })
  })
})

test.each([
  ['embeddings', { input: 'x' }],
  ['audio/speech', { input: 'x', voice: 'v' }],
])('faults of a model name strike on %s as on chats', async (path, fields) => {
  const status = async (model: string) => (await ask(path, { ...fields, model })).status
  expect(await status('sim-status-429-retry-2')).toBe(429)
  expect(await status('sim-status-503')).toBe(503)
  expect(await status('sim-nothing-known')).toBe(404)
  expect(await status('sim-auth')).toBe(401)
  expect(await status('sim-flaky-1')).toBe(500)
  expect(await status('sim-flaky-1')).toBe(200)
  expect((await ask(path, { ...fields, model: 'sim-html-200' })).type).toBe('text/html')
  await expect(ask(path, { ...fields, model: 'sim-reset' })).rejects.toThrow()
  await expect(ask(path, { ...fields, model: 'sim-cut-after-5' })).rejects.toThrow()
  providers.reset()
})
