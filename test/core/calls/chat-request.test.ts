import { describe, expect, test } from 'vitest'
import { MAX_MESSAGES, parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { contentParts } from '../../helpers/content-parts.ts'

const hello = [{ role: 'user', content: 'Hello' }]
const parse = (body: Record<string, unknown>) => parseChatRequest({ messages: hello, ...body })

function refusal(body: unknown): { code: string; param: string | undefined } {
  try {
    parseChatRequest(body)
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, param: error.details.param }
    throw error
  }
  throw new Error('the request was accepted')
}

describe('a chat request', () => {
  test('defaults to auto, without stream and limits', () => {
    const request = parse({})
    expect(request.models).toEqual(['auto'])
    expect(request.stream).toBe(false)
    expect(request.completionLimit).toBeUndefined()
    expect(request.preferences).toMatchObject({ allowFallbacks: true, zdr: false, only: undefined })
  })

  test('keeps only role, content, name and tool_call_id of a message', () => {
    const parts = [
      { type: 'text', text: 'Hi' },
      { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } },
    ]
    const {
      content: { messages },
    } = parse({
      messages: [
        { role: 'user', content: parts, name: 'ann', extra: 1 },
        { role: 'assistant', content: null, tool_calls: [{ id: 'x' }] },
        { role: 'tool', content: 'ok', tool_call_id: 'x' },
      ],
    })
    expect(messages).toEqual([
      { role: 'user', content: contentParts(...parts), name: 'ann' },
      { role: 'assistant', content: '' },
      { role: 'tool', content: 'ok', tool_call_id: 'x' },
    ])
  })

  test('forwards tools on the first request only', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    expect(parse({ tools }).content.parameters.tools).toEqual(tools)
    const history = [...hello, { role: 'tool', content: 'r', tool_call_id: 'x' }]
    expect(parse({ messages: history, tools }).content.parameters.tools).toBeUndefined()
  })

  test('accepts ignored and unknown fields whatever their type and drops them', () => {
    const ignored = {
      stop: 5,
      n: 'many',
      seed: {},
      user: [],
      stream_options: 1,
      logprobs: 'x',
      tool_choice: 3,
      whatever: null,
    }
    expect(parse(ignored)).toEqual(parse({}))
  })

  test('treats null as absent', () => {
    const nulls = {
      model: null,
      models: null,
      stream: null,
      max_tokens: null,
      temperature: null,
      tools: null,
      provider: null,
    }
    expect(parse(nulls)).toEqual(parse({}))
  })

  test('tries model first, then models', () => {
    expect(parse({ model: 'a', models: ['b', 'c'] }).models).toEqual(['a', 'b', 'c'])
    expect(parse({ model: 'a', models: ['a', 'b'] }).models).toEqual(['a', 'b'])
    expect(parse({ models: ['b', 'c'] }).models).toEqual(['b', 'c'])
  })

  test.each([
    ['no object', [], undefined],
    ['no messages', {}, 'messages'],
    ['empty messages', { messages: [] }, 'messages'],
    ['too many messages', { messages: Array(MAX_MESSAGES + 1).fill(hello[0]) }, 'messages'],
    ['the role developer', { messages: [hello[0], { role: 'developer', content: 'x' }] }, 'messages[1].role'],
    ['a user message without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    [
      'a content part without type',
      { messages: [{ role: 'user', content: [{}] }] },
      'messages[0].content[0].type',
    ],
    ['both token limits', { messages: hello, max_tokens: 1, max_completion_tokens: 1 }, 'max_tokens'],
    ['a fractional limit', { messages: hello, max_tokens: 1.5 }, 'max_tokens'],
    ['a limit of zero', { messages: hello, max_completion_tokens: 0 }, 'max_completion_tokens'],
    ['a stream flag that is no boolean', { messages: hello, stream: 'yes' }, 'stream'],
    ['a temperature out of range', { messages: hello, temperature: 2.1 }, 'temperature'],
    ['an unknown routing profile', { messages: hello, routing_profile: 'fast' }, 'routing_profile'],
    ['nine models', { messages: hello, models: Array(9).fill('a') }, 'models'],
    ['no models', { messages: hello, models: [] }, 'models'],
    ['models that contradict model', { messages: hello, model: 'b', models: ['a', 'b'] }, 'models'],
    ['a mistyped preference', { messages: hello, provider: { zrd: true } }, 'provider.zrd'],
    ['a zdr that is no boolean', { messages: hello, provider: { zdr: 'true' } }, 'provider.zdr'],
    [
      'a negative price cap',
      { messages: hello, provider: { max_price: { prompt: -1 } } },
      'provider.max_price.prompt',
    ],
    [
      'an unknown price cap',
      { messages: hello, provider: { max_price: { total: 1 } } },
      'provider.max_price.total',
    ],
  ])('is refused with the path of the field: %s', (_, body, param) => {
    expect(refusal(body)).toEqual({ code: 'invalid_request', param })
  })

  test('reads price caps from numbers and decimal strings exactly', () => {
    const { maxPrice } = parse({
      provider: { max_price: { prompt: 0.1, completion: '2.5', request: 1e-7 } },
    }).preferences
    expect(maxPrice).toEqual({ prompt: 100_000n, completion: 2_500_000n, request: 100_000n })
  })

  test('takes every JSON number as a price cap, however large or small', () => {
    const { maxPrice } = parse({
      provider: { max_price: { prompt: 1e18, completion: Number.MAX_VALUE, request: 5e-324 } },
    }).preferences
    expect(maxPrice.prompt).toBe(10n ** 24n)
    expect(maxPrice.completion).toBeGreaterThan(10n ** 308n)
    expect(maxPrice.request).toBe(0n)
    const huge = { messages: hello, provider: { max_price: { prompt: '1e+999' } } }
    expect(refusal(huge)).toEqual({ code: 'invalid_request', param: 'provider.max_price.prompt' })
  })
})
