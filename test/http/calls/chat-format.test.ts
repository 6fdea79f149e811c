import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { ChunkRenderer, renderCompletion } from '../../../src/http/calls/chat-format.ts'

const head = { id: 'chatcmpl_1', created: 7, model: 'auto' } as const
const events = (text: string) => text.split('\n\n').filter(Boolean)
const json = (event: string) => JSON.parse(event.slice('data: '.length))

describe('a rendered stream', () => {
  test('carries the role once, finishes with usage, and ends with [DONE]', () => {
    const renderer = new ChunkRenderer(head)
    const text =
      renderer.delta(['text', 'Hé "x"\n']) +
      renderer.delta(['text', '!']) +
      renderer.finish(['finish', 'stop', { promptTokens: 3, completionTokens: 2 }])
    const [first, second, last, done] = events(text)
    const envelope = { id: 'chatcmpl_1', object: 'chat.completion.chunk', created: 7, model: 'auto' }
    expect(json(first!)).toEqual({
      ...envelope,
      choices: [{ index: 0, delta: { role: 'assistant', content: 'Hé "x"\n' }, finish_reason: null }],
    })
    expect(json(second!)).toEqual({
      ...envelope,
      choices: [{ index: 0, delta: { content: '!' }, finish_reason: null }],
    })
    expect(json(last!)).toEqual({
      ...envelope,
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    })
    expect(done).toBe('data: [DONE]')
  })

  test('ends an error without [DONE]', () => {
    const error = {
      message: 'm',
      type: 'upstream_error',
      param: null,
      code: 'all_providers_failed',
      request_id: 'r',
    } as const
    const failure = new ApiError('all_providers_failed', 'm')
    const [only, ...rest] = events(new ChunkRenderer(head).error(failure, 'r'))
    expect(json(only!)).toMatchObject({ error, choices: [{ delta: {}, finish_reason: 'error' }] })
    expect(rest).toEqual([])
  })

  test('gives an empty answer its role', () => {
    const [last] = events(new ChunkRenderer(head).finish(['finish', 'stop', null]))
    expect(json(last!).choices[0]).toEqual({ index: 0, delta: { role: 'assistant' }, finish_reason: 'stop' })
  })
})

describe('a rendered completion', () => {
  test('holds the fields of the contract and no others', () => {
    const body = JSON.parse(
      renderCompletion(head, { content: 'Hi' }, 'stop', { promptTokens: 1, completionTokens: 2 }),
    )
    expect(body).toEqual({
      id: 'chatcmpl_1',
      object: 'chat.completion',
      created: 7,
      model: 'auto',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    })
  })
})
