import type { Static } from 'typebox'
import { describe, expect, test } from 'vitest'
import { createValidator } from '../../../../src/core/api/schema-validator.ts'
import type { Form } from '../../../../src/core/calls/kinds/form-fields.ts'
import {
  ImageGenerationBody,
  image,
  normalizeImageEdit,
  normalizeImageGeneration,
} from '../../../../src/core/calls/kinds/image.ts'
import { normalizeSpeech, SpeechBody, speech } from '../../../../src/core/calls/kinds/speech.ts'
import { normalizeTranscription, secondsCharged } from '../../../../src/core/calls/kinds/transcription.ts'
import { fileFormat } from '../../../../src/core/media/file-format.ts'
import { encodePng } from '../../../../tools/simulated-providers/tasks/png.ts'
import { silentMp3 } from '../../../../tools/simulated-providers/tasks/silent-audio.ts'
import { encodeWav, toneSamples } from '../../../../tools/simulated-providers/tasks/speech-audio.ts'
import { model } from '../../../helpers/planned-catalog.ts'

type FormFile = Form['files'][number]
type ImageBody = Partial<Static<typeof ImageGenerationBody>>

const png = encodePng(64, 64, 1)
const wav = encodeWav(toneSamples(2.4, 1))
const file = (field: string, content: Buffer): FormFile => ({
  field,
  ref: `acct_1/chatcmpl_1/${field}`,
  bytes: content.length,
  head: content.subarray(0, 65_536),
})
const form = (fields: Record<string, string | string[]>, ...files: FormFile[]) => ({
  fields: new Map(Object.entries({ model: 'm', ...fields }).map(([name, value]) => [name, [value].flat()])),
  files,
})

const editTask = (given: ReturnType<typeof form>) => normalizeImageEdit(given).content
const transcriptionTask = (given: ReturnType<typeof form>, translates: boolean) =>
  normalizeTranscription(given, translates).content

/** Quality and size of a model whose images are priced in units of a cent. */
const TABLE = { 'standard/1024x1024': 4, 'standard/1792x1024': 8, 'hd/1024x1024': 8, 'hd/1792x1024': 12 }

describe('images', () => {
  const needs = (fields: ImageBody = {}) =>
    image.needs(normalizeImageGeneration({ model: 'm', prompt: 'a fox', ...fields }).content).result!
  const modelOf = (imageUnits: Record<string, number>) =>
    model('m', [], { imageUnits, supportedParameters: [] })

  test.each<[ImageBody, number | null]>([
    [{}, 4],
    [{ quality: 'auto', size: 'auto', n: 3 }, 12],
    [{ size: '1792x1024' }, 8],
    [{ quality: 'hd' }, 8],
    [{ quality: 'hd', size: '1792x1024', n: 10 }, 120],
    [{ quality: null, size: null, n: null }, 4],
    [{ size: '512x512' }, null],
    [{ quality: 'low' }, null],
  ])('%j takes at most %s units', (fields, units) => {
    const { isDoneBy, unitsBound } = needs(fields)
    expect(isDoneBy!(modelOf(TABLE))).toBe(units !== null)
    expect(unitsBound(modelOf(TABLE))).toBe(units ?? 0)
  })

  test('of a model without qualities are chosen by size alone', () => {
    const model = modelOf({ '/1024x1024': 10, '/256x256': 8 })
    expect(needs({ size: '256x256' }).image!(model)).toEqual({
      quality: '',
      size: '256x256',
      unitsEach: 8,
    })
    expect(needs({ quality: 'hd' }).image!(model)).toBeNull()
  })

  const validate = createValidator(ImageGenerationBody)
  test.each<[string, Record<string, unknown>]>([
    ['prompt', {}],
    ['prompt', { prompt: '' }],
    ['n', { prompt: 'x', n: 11 }],
    ['n', { prompt: 'x', n: 0 }],
    ['size', { prompt: 'x', size: '1024' }],
    ['size', { prompt: 'x', size: '99999x1' }],
    ['quality', { prompt: 'x', quality: 'best' }],
    ['response_format', { prompt: 'x', response_format: 'url' }],
    ['output_format', { prompt: 'x', output_format: 'webp' }],
    ['stream', { prompt: 'x', stream: true }],
  ])('are refused for their %s: %j', (param, body) => {
    expect(validate({ model: 'm', ...body })).toMatchObject({ code: 'invalid_request', details: { param } })
  })

  test('are edited from files that are images by their content, whatever they are called', () => {
    const { fields, files } = form(
      { prompt: 'a hat', n: '2', size: '1024x1024' },
      file('image', png),
      file('mask', png),
    )
    expect(editTask({ fields, files })).toEqual({
      kind: 'image',
      prompt: 'a hat',
      count: 2,
      size: '1024x1024',
      sources: [
        { ref: 'acct_1/chatcmpl_1/image', bytes: png.length, mediaType: 'image/png', fileName: 'file.png' },
      ],
      mask: {
        ref: 'acct_1/chatcmpl_1/mask',
        bytes: png.length,
        mediaType: 'image/png',
        fileName: 'file.png',
      },
    })
  })

  test.each<[string, string, ReturnType<typeof form>]>([
    ['no image', 'image', form({ prompt: 'x' })],
    [
      'too many images',
      'image',
      form({ prompt: 'x' }, ...Array.from({ length: 17 }, () => file('image', png))),
    ],
    ['two masks', 'mask', form({ prompt: 'x' }, file('image', png), file('mask', png), file('mask', png))],
    ['another file', 'mask', form({ prompt: 'x' }, file('image', png), file('other', png))],
    ['audio as an image', 'image', form({ prompt: 'x' }, file('image', wav))],
    ['a number that is none', 'n', form({ prompt: 'x', n: '2e0' }, file('image', png))],
    ['a field twice', 'prompt', form({ prompt: ['x', 'y'] }, file('image', png))],
    ['no prompt', 'prompt', form({}, file('image', png))],
    ['no model', 'model', form({ model: '' }, file('image', png))],
    [
      'preferences that are no JSON',
      'provider',
      form({ prompt: 'x', provider: 'alpha' }, file('image', png)),
    ],
    ['a stream', 'stream', form({ prompt: 'x', stream: 'true' }, file('image', png))],
  ])('are not edited: %s', (_, param, given) => {
    expect(() => editTask(given)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ param }) }),
    )
  })
})

test('a form has preferences as JSON', () => {
  const given = form({ prompt: 'x', provider: '{"only":["alpha"]}' }, file('image', png))
  expect(normalizeImageEdit(given)).toMatchObject({ models: ['m'], preferences: { only: ['alpha'] } })
})

describe('speech', () => {
  test('is counted in Unicode characters, up to 4,096 of them', () => {
    const asked = (input: string) => normalizeSpeech({ model: 'm', input, voice: 'alloy' }).content
    const units = (input: string) => speech.needs(asked(input)).result!.unitsBound({})
    expect(asked('Grüße 🎉')).toEqual({ kind: 'speech', input: 'Grüße 🎉', voice: 'alloy', format: 'mp3' })
    expect(units('Grüße 🎉')).toBe(7)
    expect(units('🎉'.repeat(4_096))).toBe(4_096)
    expect(() => asked('x'.repeat(4_097))).toThrow(/1 to 4096 characters/)
  })

  const validate = createValidator(SpeechBody)
  test.each<[string, Record<string, unknown>]>([
    ['input', { voice: 'alloy' }],
    ['voice', { input: 'x' }],
    ['voice', { input: 'x', voice: '../x' }],
    ['response_format', { input: 'x', voice: 'alloy', response_format: 'ogg' }],
    ['speed', { input: 'x', voice: 'alloy', speed: 5 }],
    ['instructions', { input: 'x', voice: 'alloy', instructions: 'Whisper.' }],
    ['stream_format', { input: 'x', voice: 'alloy', stream_format: 'sse' }],
  ])('is refused for its %s: %j', (param, body) => {
    expect(validate({ model: 'm', ...body })).toMatchObject({ code: 'invalid_request', details: { param } })
  })
})

describe('transcriptions', () => {
  test('hold for the duration that no header can shorten', () => {
    const task = (content: Buffer) => transcriptionTask(form({}, file('file', content)), false)
    expect(task(wav)).toMatchObject({ secondsBound: 3, format: 'json', file: { fileName: 'file.wav' } })
    // 8 kbit/s is the lowest bitrate of MPEG audio.
    expect(task(silentMp3(60))).toMatchObject({ secondsBound: 240, file: { mediaType: 'audio/mpeg' } })
    const claimsLess = Buffer.from(wav)
    claimsLess.writeUInt32LE(100, 40)
    expect(task(claimsLess).secondsBound).toBe(3)
  })

  test('are charged by the nearest second, one at least, and never beyond the hold', () => {
    const task = transcriptionTask(form({}, file('file', wav)), false)
    expect([0, 0.4, 1.4, 1.5, 2.6, 1e9].map((duration) => secondsCharged(task, duration))).toEqual([
      1, 1, 1, 2, 3, 3,
    ])
  })

  test('read the fields of a form; translations have fewer', () => {
    const fields = {
      language: 'de',
      temperature: '0.2',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    }
    const given = form(fields, file('file', wav))
    expect(transcriptionTask(given, false)).toMatchObject({
      translates: false,
      language: 'de',
      temperature: 0.2,
      format: 'verbose_json',
      granularities: ['word', 'segment'],
    })
    expect(transcriptionTask(given, true)).toMatchObject({ translates: true, granularities: [] })
    expect(transcriptionTask(given, true)).not.toHaveProperty('language')
  })

  test.each<[string, string, ReturnType<typeof form>]>([
    ['no file', 'file', form({})],
    ['a file of another name', 'file', form({}, file('audio', wav))],
    ['two files', 'file', form({}, file('file', wav), file('file', wav))],
    ['an image', 'file', form({}, file('file', png))],
    ['subtitles', 'response_format', form({ response_format: 'srt' }, file('file', wav))],
    ['a stream', 'stream', form({ stream: 'true' }, file('file', wav))],
    ['a language that is none', 'language', form({ language: 'German!' }, file('file', wav))],
  ])('are refused: %s', (_, param, given) => {
    expect(() => transcriptionTask(given, false)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ param }) }),
    )
  })
})

test.each<[string, string | null]>([
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['\xff\xd8\xff\xe0', 'image/jpeg'],
  ['RIFF\0\0\0\0WEBPVP8 ', 'image/webp'],
  ['RIFF\0\0\0\0WAVEfmt ', 'audio/wav'],
  ['RIFF\0\0\0\0AVI ', null],
  ['ID3\x04\0\0', 'audio/mpeg'],
  ['\xff\xfb\x90\0', 'audio/mpeg'],
  ['\xff\xf1\x50\x80', null],
  ['fLaC\0\0', 'audio/flac'],
  ['OggS\0\x02', 'audio/ogg'],
  ['\0\0\0\x20ftypM4A ', 'audio/mp4'],
  ['\x1aE\xdf\xa3', 'audio/webm'],
  ['<svg xmlns', null],
  ['', null],
])('a file that begins %j is %s', (head, mediaType) => {
  expect(fileFormat(Buffer.from(head, 'latin1'))?.mediaType ?? null).toBe(mediaType)
})
