import { describe, expect, test } from 'vitest'
import type { ReportedUsage } from '../../../src/core/calls/frames.ts'
import type { TranscriptionTask } from '../../../src/core/calls/media-task.ts'
import type { Task } from '../../../src/core/calls/task.ts'
import { taskFormat } from '../../../src/http/calls/task-format.ts'

const HEAD = { id: 'chatcmpl_1', created: 5, model: 'm' } as const
const FILE = { ref: 'a/c/f', bytes: 1, mediaType: '', fileName: '' }
const USAGE = { promptTokens: 0, completionTokens: 0, units: 3 }

/** What a client receives of an answer; files stand as their references. */
function written(task: Task, answer: unknown[], usage: ReportedUsage | null = USAGE) {
  const message = { content: JSON.stringify(answer) }
  const body = taskFormat(task).whole(HEAD, ['completion', 0, message, 'stop', usage])
  if (typeof body === 'string') return { contentType: 'application/json', text: body }
  const text = body.pieces.map((piece) => (typeof piece === 'string' ? piece : piece.ref)).join('')
  return { contentType: body.contentType, text }
}

describe('images', () => {
  const task = { kind: 'image', prompt: 'x', count: 2, sources: [] } as const

  test('stand in JSON, with what the provider made of the prompt', () => {
    const images = [
      { ref: 'one', bytes: 3 },
      { ref: 'two', bytes: 3, revisedPrompt: 'a "fox"' },
    ]
    expect(JSON.parse(written(task, images).text)).toEqual({
      created: 5,
      data: [{ b64_json: 'one' }, { b64_json: 'two', revised_prompt: 'a "fox"' }],
    })
  })

  test('have a usage where tokens are counted', () => {
    const usage = { promptTokens: 9, imageTokens: 4, completionTokens: 0, units: 100 }
    expect(JSON.parse(written(task, [{ ref: 'one', bytes: 3 }], usage).text).usage).toEqual({
      input_tokens: 9,
      input_tokens_details: { text_tokens: 5, image_tokens: 4 },
      output_tokens: 100,
      total_tokens: 109,
    })
  })
})

test('speech is the file itself, of the type that was asked for', () => {
  const task = { kind: 'speech', input: 'x', voice: 'v', format: 'opus' } as const
  expect(written(task, [{ ref: 'sound', bytes: 9 }])).toEqual({ contentType: 'audio/ogg', text: 'sound' })
})

describe('a transcript', () => {
  const task: TranscriptionTask = {
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
  const json = (fields: object) => JSON.parse(written({ ...task, ...fields }, [transcript]).text)

  test('is written in every format', () => {
    const usage = { type: 'duration', seconds: 3 }
    expect(json({})).toEqual({ text: 'So be it', usage })
    expect(written({ ...task, format: 'text' }, [transcript])).toEqual({
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
