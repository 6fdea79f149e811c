import { describe, expect, test } from 'vitest'
import type { ReportedUsage } from '../../../src/core/calls/frames.ts'
import type { TranscriptionContent } from '../../../src/core/calls/kinds/transcription.ts'
import { resultFormat, type WriteResult } from '../../../src/http/calls/result-format.ts'
import { speechBody, transcriptBody } from '../../../src/http/public/audio.ts'
import { imagesBody } from '../../../src/http/public/images.ts'

const HEAD = { id: 'chatcmpl_1', created: 5, model: 'm' } as const
const FILE = { ref: 'a/c/f', bytes: 1, mediaType: '', fileName: '' }
const USAGE = { promptTokens: 0, completionTokens: 0, units: 3 }

/** What a client receives of an answer; files stand as their references. */
function written<Content>(
  write: WriteResult<Content>,
  content: Content,
  result: unknown[],
  usage: ReportedUsage | null = USAGE,
) {
  const message = { content: null, result: JSON.stringify(result) }
  const body = resultFormat(content, write).whole(HEAD, ['completion', 0, message, 'stop', usage])
  if (typeof body === 'string') return { contentType: 'application/json', text: body }
  const text = body.pieces.map((piece) => (typeof piece === 'string' ? piece : piece.ref)).join('')
  return { contentType: body.contentType, text }
}

describe('images', () => {
  test('stand in JSON, with what the provider made of the prompt', () => {
    const images = [
      { ref: 'one', bytes: 3 },
      { ref: 'two', bytes: 3, revisedPrompt: 'a "fox"' },
    ]
    expect(JSON.parse(written(imagesBody, null, images).text)).toEqual({
      created: 5,
      data: [{ b64_json: 'one' }, { b64_json: 'two', revised_prompt: 'a "fox"' }],
    })
  })

  test('have a usage where tokens are counted', () => {
    const usage = { promptTokens: 9, imageTokens: 4, completionTokens: 0, units: 100 }
    expect(JSON.parse(written(imagesBody, null, [{ ref: 'one', bytes: 3 }], usage).text).usage).toEqual({
      input_tokens: 9,
      input_tokens_details: { text_tokens: 5, image_tokens: 4 },
      output_tokens: 100,
      total_tokens: 109,
    })
  })
})

test('speech is the file itself, of the type that was asked for', () => {
  const content = { kind: 'speech', input: 'x', voice: 'v', format: 'opus' } as const
  expect(written(speechBody, content, [{ ref: 'sound', bytes: 9 }])).toEqual({
    contentType: 'audio/ogg',
    text: 'sound',
  })
})

describe('a transcript', () => {
  const asked: TranscriptionContent = {
    kind: 'transcription',
    translates: false,
    file: FILE,
    secondsBound: 3,
    granularities: [],
    format: 'json',
  }
  const transcript = {
    text: 'So be it',
    ...{ duration: 2.6, language: 'english', segments: [{ id: 0 }], words: [{ word: 'So' }] },
  }
  const json = (fields: object) =>
    JSON.parse(written(transcriptBody, { ...asked, ...fields }, [transcript]).text)

  test('is written in every format', () => {
    const usage = { type: 'duration', seconds: 3 }
    expect(json({})).toEqual({ text: 'So be it', usage })
    expect(written(transcriptBody, { ...asked, format: 'text' }, [transcript])).toEqual({
      contentType: 'text/plain; charset=utf-8',
      text: 'So be it\n',
    })
    const { words, ...verbose } = transcript
    expect(json({ format: 'verbose_json' })).toEqual({ task: 'transcribe', ...verbose, usage })
    const { segments: _, ...timed } = verbose
    expect(json({ format: 'verbose_json', granularities: ['word'], translates: true })).toEqual({
      task: 'translate',
      ...timed,
      ...{ words, usage },
    })
  })
})
