import { expect, test } from 'vitest'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { messagesError, stableMessagesError } from '../../../src/http/calls/messages-error.ts'
import { messagesFormat } from '../../../src/http/calls/messages-format.ts'

const FORMAT = messagesFormat(JSON.stringify)
const HEAD = { id: 'chatcmpl_1', created: 7, model: 'auto' } as const
const STOP = { stop_reason: 'end_turn', stop_sequence: null }
const USAGE = { promptTokens: 10, completionTokens: 2, cachedTokens: 3, cacheWriteTokens: 1 }
const NATIVE_USAGE = {
  input_tokens: 6,
  cache_creation_input_tokens: 1,
  cache_read_input_tokens: 3,
  output_tokens: 2,
}

const events = (text: string) =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event)!
      expect(JSON.parse(data!).type).toBe(name)
      return JSON.parse(data!)
    })

test.each([
  ['flex', 'flex'],
  ['default', 'standard'],
])('usage names the service tier that was served: %s', (tier, shown) => {
  const ended = events(FORMAT.stream(HEAD).finish(['finish', 'stop', { ...USAGE, tier }, STOP]))
  expect(ended.find(({ type }) => type === 'message_delta').usage).toHaveProperty('service_tier', shown)
})

test('a stream begins with the message under its own name, and ends with its usage', () => {
  const renderer = FORMAT.stream(HEAD)
  const tool = { type: 'tool_use', id: 'toolu_1', name: 'f', json: '' } as const
  const text =
    renderer.delta(['native', { type: 'message_start', usage: null }]) +
    renderer.delta(['native', { type: 'content_block_start', index: 0, content_block: tool }]) +
    renderer.finish(['finish', 'stop', USAGE, STOP])
  expect(events(text)).toEqual([
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'auto',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: expect.objectContaining({ input_tokens: 0, output_tokens: 0 }),
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
    },
    { type: 'message_delta', delta: STOP, usage: NATIVE_USAGE },
    { type: 'message_stop' },
  ])
})

test('an empty answer is a message; a broken one has no end', () => {
  const empty = events(FORMAT.stream(HEAD).finish(['finish', 'length', USAGE, STOP]))
  expect(empty.map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_stop'])
  const broken = events(FORMAT.stream(HEAD).error(new ApiError('all_providers_failed', 'm'), 'r'))
  expect(broken).toEqual([
    {
      type: 'error',
      error: expect.objectContaining({ type: 'api_error', message: 'm', code: 'all_providers_failed' }),
      request_id: 'r',
    },
  ])
})

test('a whole message has its blocks with their input read; one that was cut off is empty', () => {
  const tool = (json: string) => ({ type: 'tool_use', id: 'toolu_1', name: 'f', json }) as const
  const native = [{ type: 'text', text: 'Hi' } as const, tool('{"a":1}'), tool('{"a":'), tool('[1]')]
  const body = FORMAT.whole(HEAD, ['completion', 0, { content: null, native }, 'stop', USAGE, STOP])
  expect(JSON.parse(body)).toEqual({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'auto',
    content: [
      { type: 'text', text: 'Hi' },
      ...[{ a: 1 }, {}, {}].map((input) => ({ type: 'tool_use', id: 'toolu_1', name: 'f', input })),
    ],
    ...STOP,
    usage: NATIVE_USAGE,
  })
})

test.each([
  ['invalid_json', 'invalid_request_error'],
  ['invalid_api_key', 'authentication_error'],
  ['insufficient_balance', 'billing_error'],
  ['not_permitted', 'permission_error'],
  ['model_not_found', 'not_found_error'],
  ['request_timeout', 'timeout_error'],
  ['request_too_large', 'request_too_large'],
  ['unsupported_shape', 'invalid_request_error'],
  ['rate_limit_exceeded', 'rate_limit_error'],
  ['internal_error', 'api_error'],
  ['all_providers_failed', 'api_error'],
  ['overloaded', 'overloaded_error'],
  ['upstream_timeout', 'timeout_error'],
] as const)('%s is an error of type %s', (code, type) => {
  const error = new ApiError(code, 'm', { param: 'p', metadata: { a: 1 } })
  expect(messagesError(error, 'r')).toEqual({
    type: 'error',
    error: { type, message: 'm', param: 'p', code, request_id: 'r', metadata: { a: 1 } },
    request_id: 'r',
  })
})

test('under /v1 a surface that is not available answers as everywhere', () => {
  expect(stableMessagesError(new ApiError('surface_unavailable', 'm'), 'r')).toEqual({
    error: {
      type: 'not_found_error',
      message: 'm',
      param: null,
      code: 'surface_unavailable',
      request_id: 'r',
    },
  })
})
