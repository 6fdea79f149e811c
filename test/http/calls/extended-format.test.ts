import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Delta } from '../../../src/core/calls/completion.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { ChunkRenderer } from '../../../src/http/calls/chat-format.ts'
import { extendedFormat } from '../../../src/http/calls/extended-format.ts'

const head = { id: 'chatcmpl_1', created: 7, model: 'auto' } as const
const usage = { promptTokens: 3, completionTokens: 5, reasoningTokens: 2 }
const USAGE = {
  prompt_tokens: 3,
  completion_tokens: 5,
  total_tokens: 8,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 2 },
}
const token = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }
const open = (includeUsage: boolean | null = false) =>
  extendedFormat({ includeUsage, seal: JSON.stringify }).stream(head)
const json = (event: string) => JSON.parse(event.slice('data: '.length))

describe('the format of extended calls', () => {
  const delta: fc.Arbitrary<Delta> = fc.oneof(
    fc.tuple(fc.constantFrom('text' as const, 'refusal' as const), fc.string({ unit: 'binary' })),
    fc.string().map((text): Delta => ['tool-calls', [{ index: 0, function: { arguments: text } }]]),
  )

  test('renders what the stable contract knows as that does, and ends like it', () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 5 }), (deltas) => {
        const [stable, extended] = [new ChunkRenderer(head), open()]
        for (const each of deltas) expect(extended.delta(each)).toBe(stable.delta(each as ['text', string]))
        expect(extended.finish(['finish', 'stop', usage])).toBe(stable.finish(['finish', 'stop', null]))
        const failure = new ApiError('all_providers_failed', 'm')
        expect(extended.error(failure, 'r')).toBe(stable.error(failure, 'r'))
      }),
      { numRuns: 50 },
    )
  })

  test('has reasoning in the delta, and log probabilities beside it', () => {
    const renderer = open()
    expect(json(renderer.delta(['reasoning', 'Hm.'])).choices).toEqual([
      { index: 0, delta: { role: 'assistant', reasoning: 'Hm.' }, finish_reason: null },
    ])
    expect(json(renderer.delta(['logprobs', [token]])).choices).toEqual([
      { index: 0, delta: {}, logprobs: { content: [token], refusal: null }, finish_reason: null },
    ])
  })

  test('has annotations in the delta, and in the message', () => {
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }]
    expect(json(open().delta(['annotations', annotations])).choices[0].delta).toMatchObject({ annotations })
    const whole = extendedFormat({ includeUsage: false, seal: JSON.stringify }).whole(head, [
      'completion',
      0,
      { content: 'a', annotations },
      'stop',
      null,
    ])
    expect(JSON.parse(whole).choices[0].message).toEqual({ role: 'assistant', content: 'a', annotations })
  })

  test('has usage in a chunk without choices, before the end marker', () => {
    const [last, used, done] = open(true).finish(['finish', 'length', usage]).split('\n\n')
    expect(json(last!)).not.toHaveProperty('usage')
    expect(json(used!)).toMatchObject({ object: 'chat.completion.chunk', choices: [], usage: USAGE })
    expect(done).toBe('data: [DONE]')
  })

  test('has usage in its last chunk where the client does not ask, and none where it declines', () => {
    expect(json(open(null).finish(['finish', 'stop', usage]).split('\n\n')[0]!)).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      usage: USAGE,
    })
    expect(open(false).finish(['finish', 'stop', usage])).not.toContain('usage')
  })

  test('names the service tier that was served, streamed and whole', () => {
    const tiered = { ...usage, tier: 'flex' }
    for (const includeUsage of [true, false, null])
      expect(json(open(includeUsage).finish(['finish', 'stop', tiered]).split('\n\n')[0]!)).toMatchObject({
        choices: [{ finish_reason: 'stop' }],
        service_tier: 'flex',
      })
    const format = extendedFormat({ includeUsage: false, seal: JSON.stringify })
    const whole = format.whole(head, ['completion', 0, { content: 'a' }, 'stop', tiered])
    expect(JSON.parse(whole)).toHaveProperty('service_tier', 'flex')
  })

  test('has all of it in a whole response', () => {
    const message = { content: 'a', reasoning: 'Hm.', logprobs: [token] }
    const text = extendedFormat({ includeUsage: false, seal: JSON.stringify }).whole(head, [
      'completion',
      0,
      message,
      'stop',
      usage,
    ])
    expect(JSON.parse(text)).toEqual({
      ...head,
      object: 'chat.completion',
      system_fingerprint: null,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'a', reasoning: 'Hm.' },
          logprobs: { content: [token], refusal: null },
          finish_reason: 'stop',
        },
      ],
      usage: USAGE,
    })
  })
})

test('a client that sent functions reads the first tool call as a function call, whole and streamed', () => {
  const format = extendedFormat({ includeUsage: false, asFunctions: true, seal: JSON.stringify })
  const head = { id: 'chatcmpl_1' as const, created: 1, model: 'test/words' }
  const called = { name: 'find', arguments: '{}' }
  const calls = ['a', 'b'].map((id) => ({ id, type: 'function' as const, function: called }))
  const whole = format.whole(head, [
    'completion',
    0,
    { content: null, tool_calls: calls },
    'tool_calls',
    null,
  ])
  expect(JSON.parse(whole as string).choices).toEqual([
    {
      index: 0,
      message: { role: 'assistant', content: null, function_call: called },
      logprobs: null,
      finish_reason: 'function_call',
    },
  ])
  const stream = format.stream(head)
  const deltas = [
    { index: 0, id: 'a', type: 'function' as const, function: { name: 'find', arguments: '' } },
    { index: 1, id: 'b', type: 'function' as const, function: { name: 'find', arguments: '' } },
    { index: 0, function: { arguments: '{}' } },
  ]
  const text = deltas.map((delta) => stream.delta(['tool-calls', [delta]])).join('')
  const chunks = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!).choices[0].delta)
  expect(chunks).toEqual([
    { role: 'assistant', function_call: { name: 'find', arguments: '' } },
    { function_call: { arguments: '{}' } },
  ])
  expect(stream.finish(['finish', 'tool_calls', null])).toContain('"finish_reason":"function_call"')
})
