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

  test('that is no object is refused', () => {
    expect(refusal([])).toEqual({ code: 'invalid_request', param: undefined })
  })

  const message = (fields: unknown) => ({ messages: [fields] })
  const user = (content: unknown) => message({ role: 'user', content })
  test.each<[string, Record<string, unknown>, string]>([
    ['no messages', { messages: undefined }, 'messages'],
    ['null for messages', { messages: null }, 'messages'],
    ['a text for messages', { messages: 'hello' }, 'messages'],
    ['empty messages', { messages: [] }, 'messages'],
    ['too many messages', { messages: Array(MAX_MESSAGES + 1).fill(hello[0]) }, 'messages'],
    ['a message that is a text', message('hello'), 'messages[0]'],
    ['a message that is an array', { messages: [...hello, []] }, 'messages[1]'],
    ['the role developer', { messages: [...hello, { role: 'developer', content: 'x' }] }, 'messages[1].role'],
    ['a role in capitals', message({ role: 'User', content: 'x' }), 'messages[0].role'],
    ['no role', message({ content: 'x' }), 'messages[0].role'],
    ['a role of the prototype', message({ role: 'constructor', content: 'x' }), 'messages[0].role'],
    ['no content of a user', message({ role: 'user' }), 'messages[0].content'],
    ['null as content of a user', user(null), 'messages[0].content'],
    ['a number as content', user(7), 'messages[0].content'],
    ['empty content', user([]), 'messages[0].content'],
    ['a content part that is a text', user(['x']), 'messages[0].content[0]'],
    ['a content part without type', user([{ text: 'x' }]), 'messages[0].content[0].type'],
    ['a number as name', message({ ...hello[0], name: 1 }), 'messages[0].name'],
    [
      'an object as tool_call_id',
      message({ role: 'tool', content: 'x', tool_call_id: {} }),
      'messages[0].tool_call_id',
    ],
    ['a number as model', { model: 7 }, 'model'],
    ['an empty model', { model: '' }, 'model'],
    ['a model beyond all bounds', { model: 'x'.repeat(257) }, 'model'],
    ['a text for models', { models: 'a' }, 'models'],
    ['no models', { models: [] }, 'models'],
    ['nine models', { models: Array(9).fill('a') }, 'models'],
    ['null among models', { model: undefined, models: ['a', null] }, 'models[1]'],
    ['models that contradict model', { model: 'b', models: ['a', 'b'] }, 'models'],
    ['an unknown routing profile', { routing_profile: 'fast' }, 'routing_profile'],
    ['a stream flag that is no boolean', { stream: 'yes' }, 'stream'],
    ['both token limits', { max_tokens: 1, max_completion_tokens: 1 }, 'max_tokens'],
    ['a limit of zero', { max_tokens: 0 }, 'max_tokens'],
    ['a fractional limit', { max_tokens: 1.5 }, 'max_tokens'],
    ['a text as limit', { max_completion_tokens: '5' }, 'max_completion_tokens'],
    ['a temperature out of range', { temperature: 2.1 }, 'temperature'],
    ['a text as temperature', { temperature: '1' }, 'temperature'],
    ['top_p out of range', { top_p: -0.1 }, 'top_p'],
    ['an object for tools', { tools: {} }, 'tools'],
    ['a tool that is a text', { tools: ['find_train'] }, 'tools'],
    ['a text as response_format', { response_format: 'json_object' }, 'response_format'],
    ['a response_format without type', { response_format: {} }, 'response_format'],
    ['a text for provider', { provider: 'alpha' }, 'provider'],
    ['a mistyped preference', { provider: { ZDR: true } }, 'provider.ZDR'],
    ['a zdr that is no boolean', { provider: { zdr: 'true' } }, 'provider.zdr'],
    ['a text for order', { provider: { order: 'alpha' } }, 'provider.order'],
    ['an unknown sort', { provider: { sort: 'quality' } }, 'provider.sort'],
    ['an unknown price cap', { provider: { max_price: { image: 1 } } }, 'provider.max_price.image'],
    ['a negative price cap', { provider: { max_price: { prompt: -1 } } }, 'provider.max_price.prompt'],
  ])('is refused with the path of the field: %s', (_, fields, param) => {
    expect(refusal({ messages: hello, ...fields })).toEqual({ code: 'invalid_request', param })
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
