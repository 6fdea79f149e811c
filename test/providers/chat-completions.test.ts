import { describe, expect, test } from 'vitest'
import type { CompletionEvent } from '../../src/core/calls/completion.ts'
import { ChatReader, failureOfErrorObject, failureOfStatus } from '../../src/providers/chat-completions.ts'

function read(value: unknown) {
  const events: CompletionEvent[] = []
  const data = typeof value === 'string' ? value : JSON.stringify(value)
  const signal = new ChatReader().event(data, (event) => events.push(event))
  return { signal, events }
}

const choice = (parts: object) => ({ id: 'upstream-1', model: 'secret', choices: [{ index: 0, ...parts }] })

describe('an event of a stream', () => {
  test('only known fields of a delta survive', () => {
    const { signal, events } = read({
      ...choice({ delta: { role: 'assistant', content: 'hi', provider: 'acme' }, logprobs: {} }),
      system_fingerprint: 'fp',
    })
    expect(signal).toBe('content')
    expect(events).toEqual([['text', 'hi']])
  })

  test('only choice 0 counts', () => {
    const { events } = read({
      choices: [
        { index: 1, delta: { content: 'other' } },
        { index: 0, delta: { content: 'first' } },
      ],
    })
    expect(events).toEqual([['text', 'first']])
  })

  test('a role or an empty delta is no content', () => {
    expect(read(choice({ delta: { role: 'assistant', content: '' } }))).toEqual({
      signal: 'other',
      events: [],
    })
    expect(read(choice({ delta: {} }))).toEqual({ signal: 'other', events: [] })
    expect(read({ choices: [] })).toEqual({ signal: 'other', events: [] })
  })

  test('thinking is no content, and no silence', () => {
    expect(read(choice({ delta: { reasoning_content: 'hm' } }))).toEqual({
      signal: 'thinking',
      events: [['thinking', 2]],
    })
  })

  test('tool-call deltas keep id, name and arguments, are numbered, and have nothing else', () => {
    const { events } = read(
      choice({
        delta: {
          content: null,
          tool_calls: [
            {
              index: 1,
              id: 'call_a',
              type: 'function',
              function: { name: 'f', arguments: '', secret: 1 },
              extra: 2,
            },
            { function: { arguments: '{"x"' } },
          ],
        },
      }),
    )
    expect(events).toEqual([
      [
        'tool-calls',
        [
          { index: 0, id: 'call_a', type: 'function', function: { name: 'f', arguments: '' } },
          { index: 0, function: { arguments: '{"x"' } },
        ],
      ],
    ])
  })

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'tool_calls'],
    ['content_filter', 'content_filter'],
    ['max_tokens', 'length'],
    ['SAFETY', 'content_filter'],
    ['something_new', { unknown: 'something_new' }],
    ['constructor', { unknown: 'constructor' }],
  ])('finish reason %s becomes %j', (given, expected) => {
    expect(read(choice({ delta: {}, finish_reason: given })).events).toEqual([['finish', expected]])
  })

  test('text, finish reason and usage may share an event', () => {
    const { events } = read({
      ...choice({ delta: { content: 'x' }, finish_reason: 'stop' }),
      usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
    })
    expect(events.map(([kind]) => kind)).toEqual(['text', 'finish', 'usage'])
  })

  test('audio, image and cache tokens of the prompt are read, and nothing else of its details', () => {
    const usage = {
      prompt_tokens: 30,
      completion_tokens: 1,
      prompt_tokens_details: { audio_tokens: 20, image_tokens: 5, cached_tokens: 4, text_tokens: '5' },
    }
    expect(read({ choices: [], usage }).events).toEqual([
      [
        'usage',
        { promptTokens: 30, completionTokens: 1, audioTokens: 20, imageTokens: 5, cachedTokens: 4 },
        0,
      ],
    ])
    const none = { ...usage, prompt_tokens_details: { audio_tokens: 0, image_tokens: null } }
    expect(read({ choices: [], usage: none }).events).toEqual([
      ['usage', { promptTokens: 30, completionTokens: 1 }, 0],
    ])
  })

  test('what an engine reused is not what its provider bills as cached', () => {
    const usage = { prompt_tokens: 64, completion_tokens: 6, num_cached_tokens: 32 }
    expect(read({ choices: [], usage }).events).toEqual([
      ['usage', { promptTokens: 64, completionTokens: 6 }, 0],
    ])
  })

  test('usage without both figures is no usage', () => {
    expect(read({ choices: [], usage: { prompt_tokens: 3 } }).events).toEqual([])
    expect(read({ choices: [], usage: null }).events).toEqual([])
  })

  test.each([
    [{ error: { message: 'boom' } }],
    [choice({ delta: {}, error: { message: 'boom' } })],
    [choice({ delta: {}, finish_reason: 'error' })],
    [choice({ delta: {}, finish_reason: 'network_error' })],
  ])('an error in an event is an error: %j', (value) => {
    expect(read(value).signal).toHaveProperty('error')
  })

  test.each(['{"choices":[', 'null', '[]', '"text"', '{}', 'not json'])('%s is malformed', (data) => {
    expect(read(data)).toEqual({ signal: 'malformed', events: [] })
  })

  test('[DONE] ends', () => {
    expect(read('[DONE]').signal).toBe('done')
    expect(read(' [DONE] ').signal).toBe('done')
  })
})

describe('a whole completion', () => {
  const whole = (body: unknown) => {
    const events: CompletionEvent[] = []
    return { reading: new ChatReader().whole(JSON.stringify(body), (event) => events.push(event)), events }
  }

  test('gives the same events as a stream', () => {
    const { reading, events } = whole({
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    })
    expect(reading).toBe('ok')
    expect(events).toEqual([
      ['text', 'hi'],
      ['finish', 'length'],
      ['usage', { promptTokens: 3, completionTokens: 1 }, 0],
    ])
  })

  test('an error body is an error, other JSON is malformed', () => {
    expect(whole({ error: { message: 'boom' } }).reading).toHaveProperty('error')
    expect(whole({ object: 'error', message: 'boom' }).reading).toHaveProperty('error')
    expect(whole({ hello: 1 }).reading).toBe('malformed')
    expect(new ChatReader().whole('{"choices":', () => undefined)).toBe('malformed')
  })
})

const body = (error: unknown) => JSON.stringify({ error })

describe('failureOfStatus', () => {
  test.each([
    [429, 'rate-limited'],
    [408, 'server-error'],
    [500, 'server-error'],
    [503, 'server-error'],
    [529, 'server-error'],
    [400, 'bad-request'],
    [422, 'bad-request'],
    [401, 'refused'],
    [402, 'refused'],
    [403, 'refused'],
    [404, 'refused'],
    [301, 'refused'],
    [413, 'context-length'],
  ])('status %d without words is %s', (status, kind) => {
    expect(failureOfStatus(status, '', null).kind).toBe(kind)
    expect(failureOfStatus(status, '<html>', null).kind).toBe(kind)
  })

  test.each([
    [{ code: 'context_length_exceeded', message: '' }],
    [
      {
        code: null,
        message: "This model's maximum context length is 8192 tokens, however you requested 9000",
      },
    ],
    [{ message: 'prompt is too long: 210000 tokens > 200000 maximum' }],
    ['Input is too long for requested model. Please reduce the length of the messages.'],
  ])('context length is recognized in %j', (error) => {
    expect(failureOfStatus(400, body(error), null).kind).toBe('context-length')
  })

  test.each([
    [{ code: 'content_policy_violation', message: '' }, null],
    [
      { code: 'content_filter', message: 'filtered', innererror: { code: 'ResponsibleAIPolicyViolation' } },
      null,
    ],
    [
      { message: 'Your request was flagged as violating our usage policies: violence, self-harm' },
      'self-harm, violence',
    ],
  ])('content policy is recognized in %j', (error, hint) => {
    expect(failureOfStatus(400, body(error), null)).toMatchObject({ kind: 'content-policy', hint })
  })

  test('only fields that we forward are named, and no upstream text', () => {
    const failure = failureOfStatus(
      400,
      body({ message: 'acme says no', param: 'messages.[0].content' }),
      null,
    )
    expect(failure).toMatchObject({ kind: 'bad-request', hint: 'messages' })
    expect(failureOfStatus(400, body({ message: 'x', param: 'acme_option' }), null).hint).toBeNull()
    const hintOf = (message: string) => failureOfStatus(400, body({ message }), null).hint
    expect(hintOf("Unsupported value: 'temperature' does not support 0.2")).toBe('temperature')
    expect(hintOf("Invalid schema for response_format 'q': schema must be an object")).toBe('response_format')
    expect(hintOf('The temperature of acme_option is wrong')).toBeNull()
    expect(JSON.stringify({ ...failure, providerMessage: null })).not.toContain('acme')
  })

  test.each([
    ['image input is not supported - hint: you may need to provide the mmproj', 'messages'],
    ['audio input is not supported', 'messages'],
    ['registry.example/library/small:latest does not support tools', 'tools'],
    ["This model doesn't support the video content block that you provided.", 'messages'],
    ['small-1 is not a multimodal model', 'messages'],
    ['this model is missing data required for image input', 'messages'],
    ['"small:latest" does not support thinking', 'reasoning_effort'],
  ])('a server error that the request causes is the request’s: %s', (message, hint) => {
    expect(failureOfStatus(500, body({ code: 500, message }), null)).toMatchObject({
      kind: 'bad-request',
      hint,
      httpStatus: 500,
    })
  })

  test.each([
    'failed to process image',
    'tool server unavailable',
    'This region does not support new traffic',
  ])('a server error is the server’s: %s', (message) => {
    expect(failureOfStatus(500, body({ message }), null).kind).toBe('server-error')
  })

  test('Retry-After belongs to 429', () => {
    expect(failureOfStatus(429, '', 2_000).retryAfterMs).toBe(2_000)
    expect(failureOfStatus(503, '', 2_000).retryAfterMs).toBeNull()
  })
})

describe('failureOfErrorObject', () => {
  test.each([
    [{ code: 429, message: 'slow down' }, 'rate-limited'],
    [{ code: '503', message: 'busy' }, 'server-error'],
    [{ status: 401 }, 'refused'],
    [{ code: 'rate_limit_exceeded' }, 'rate-limited'],
    [{ code: 'context_length_exceeded' }, 'context-length'],
    [{ code: 400, message: 'bad' }, 'bad-request'],
    [{ message: 'internal' }, 'server-error'],
    ['boom', 'server-error'],
    [null, 'server-error'],
    [[{ error: { code: 429 } }], 'rate-limited'],
    [{ error: { error: { code: 'context_length_exceeded' } } }, 'context-length'],
    [{ error: 'Bad Request', message: 'prompt is too long' }, 'context-length'],
  ])('%j in a 200 is %s', (error, kind) => {
    expect(failureOfErrorObject(error, 200).kind).toBe(kind)
  })
})
