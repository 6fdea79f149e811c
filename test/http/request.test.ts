import { describe, expect, test } from 'vitest'
import type { RecordedRequest } from '../../tools/simulated-providers/request-log.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { CHAT_PATH, MESSAGES } from './wire.ts'

/** The simulated model that most tests call; its name finds the request at the provider. */
const UPSTREAM = 'words-12'
const TOOL = { type: 'function', function: { name: 'find_train', parameters: { type: 'object' } } }
const SCHEMA_FORMAT = {
  type: 'json_schema',
  json_schema: { name: 'train', strict: true, schema: { type: 'object', properties: {} } },
}

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: UPSTREAM }],
    'test/small': { max_output_tokens: 100, offers: [{ at: 'alpha', model: 'words-12.tag-small' }] },
    'test/vision': {
      input_modalities: ['text', 'image', 'audio', 'file'],
      offers: [{ at: 'alpha', model: 'words-12.tag-vision' }],
    },
  },
  environment: { DEFAULT_COMPLETION_LIMIT: '777' },
})
const owner = testAccount(stack, '20.00')

type Body = Record<string, unknown>

/** Sends a body, or its text, and returns what arrived at the provider, found by a word that only this request says. */
async function forwarded(
  body: Body | string,
  headers: Record<string, string> = {},
): Promise<RecordedRequest & { body: Body }> {
  stack.providers.log.clear()
  const response = await fetch(stack.url + CHAT_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
    body:
      typeof body === 'string' ? body : JSON.stringify({ model: 'test/plain', messages: MESSAGES, ...body }),
  })
  expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 200 })
  expect(stack.providers.log.requests).toHaveLength(1)
  return stack.providers.log.requests[0] as RecordedRequest & { body: Body }
}

/** What every request to a provider holds; nothing else may be there without having been asked for. */
const ALWAYS = {
  model: UPSTREAM,
  messages: MESSAGES,
  stream: true,
  stream_options: { include_usage: true },
  max_tokens: 777,
}

describe('what reaches the provider', () => {
  test('is the bare minimum where the client asks nothing else', async () => {
    expect((await forwarded({})).body).toEqual(ALWAYS)
    expect((await forwarded({ stream: true })).body).toEqual(ALWAYS)
  })

  test('holds every supported field as sent', async () => {
    const supported = { temperature: 0, top_p: 1, tools: [TOOL], response_format: SCHEMA_FORMAT }
    const { body } = await forwarded(supported)
    expect(body).toEqual({ ...ALWAYS, ...supported })
    expect(JSON.stringify(body.response_format)).toBe(JSON.stringify(SCHEMA_FORMAT))
  })

  test.each(['max_tokens', 'max_completion_tokens'])(
    'takes %s as the one completion limit',
    async (field) => {
      expect((await forwarded({ [field]: 33 })).body).toEqual({ ...ALWAYS, max_tokens: 33 })
    },
  )

  test("a completion limit is bounded by the model's own maximum", async () => {
    expect((await forwarded({ model: 'test/small' })).body.max_tokens).toBe(100)
    expect((await forwarded({ model: 'test/small', max_tokens: 5_000 })).body.max_tokens).toBe(100)
  })

  test('never holds an ignored or unknown field, of whatever type', async () => {
    for (const value of [null, 0, -1, true, 'text', [], {}, [{ deep: [1] }], { include_usage: false }]) {
      const ignored = Object.fromEntries(IGNORED.map((field) => [field, value]))
      expect((await forwarded(ignored)).body).toEqual(ALWAYS)
    }
  })

  test('holds no routing field', async () => {
    const { body } = await forwarded({
      model: 'test/plain:floor',
      models: ['test/plain:floor', 'test/small'],
      routing_profile: 'eco',
      provider: { order: ['alpha'], zdr: true, sort: 'price' },
    })
    expect(body).toEqual(ALWAYS)
  })

  test('carries no header of the client', async () => {
    const { headers } = await forwarded(
      {},
      {
        cookie: 'session=secret',
        'user-agent': 'client/1.0',
        'x-request-id': 'the-clients-own',
        'x-forwarded-for': '203.0.113.9',
        'x-api-key': 'other-secret',
        'openai-organization': 'org-of-client',
        'idempotency-key': 'headers-1',
        referer: 'https://client.example',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
    )
    const expected = ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host']
    expect(Object.keys(headers).sort()).toEqual(expected)
    expect(headers['content-type']).toBe('application/json')
  })
})

const IGNORED = [
  'tool_choice',
  'parallel_tool_calls',
  'stream_options',
  'stop',
  'n',
  'seed',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'user',
  'modalities',
  'audio',
  'reasoning_effort',
  'metadata',
  'store',
  'functions',
  'function_call',
  'service_tier',
  'transforms',
  'an_unknown_field',
  'base_url',
  'api_key',
]

describe('messages', () => {
  test('keep only role, content, name and tool_call_id', async () => {
    const { body } = await forwarded({
      messages: [
        { role: 'system', content: 'Be brief.', cache_control: { type: 'ephemeral' } },
        { role: 'user', name: 'ann', content: 'Hello.', id: 7, metadata: {} },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find_train', arguments: '{}' } }],
          function_call: { name: 'x', arguments: '' },
          reasoning_content: 'hm',
          audio: { id: 'a' },
        },
        { role: 'tool', tool_call_id: 'call_1', name: 'find_train', content: '{}', extra: true },
        { role: 'assistant', content: 'Well.', prefix: true },
        { role: 'user', content: 'Yes?' },
      ],
    })
    // Without its call a result answers nothing, so it is told in words.
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: 'ann:\n\nHello.\n\nResult of the tool call (find_train, call_1):\n\n{}',
      },
      { role: 'assistant', content: 'Well.' },
      { role: 'user', content: 'Yes?' },
    ])
  })

  test('keep the known fields of multimodal arrays to the byte, and no others', async () => {
    const content = [
      { type: 'text', text: 'Grüße 漢字 🎉 \u0000 \u2028 "quoted" \\' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://images.example/cat.png?a=1&b=2' } },
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      { type: 'text', text: '' },
    ]
    const sent = content.map((part) => ({ cache_control: { type: 'ephemeral' }, ...part, other: [[1]] }))
    const { body } = await forwarded({ model: 'test/vision', messages: [{ role: 'user', content: sent }] })
    const [message] = body.messages as [{ content: unknown }]
    expect(JSON.stringify(message.content)).toBe(JSON.stringify(content))
  })

  test('keep every character of a string, but for half a surrogate pair, which strict servers refuse', async () => {
    const text = `\u0000\u0007\t\r\n\u007f\u2028\u2029 \ud800 lone, 👩‍👩‍👧 joined, e\u0301 combined, \ufeff mark, "\\/`
    const { body } = await forwarded({ messages: [{ role: 'user', content: text }] })
    expect((body.messages as [{ content: string }])[0].content).toBe(text.toWellFormed())
  })

  test('up to 2,048 messages are forwarded', async () => {
    const messages = Array.from({ length: 2_048 }, (_, index) => ({ role: 'user', content: `${index}` }))
    expect((await forwarded({ messages })).body.messages).toEqual(messages)
  })
})

describe('tools', () => {
  test('reach the first request, whatever else the history holds', async () => {
    const messages = [...MESSAGES, { role: 'assistant', content: 'Yes?' }, ...MESSAGES]
    expect((await forwarded({ messages, tools: [TOOL] })).body.tools).toEqual([TOOL])
  })

  test('do not reach a request whose history holds a tool result', async () => {
    const messages = [...MESSAGES, { role: 'tool', tool_call_id: 'call_1', content: '{}' }]
    expect((await forwarded({ messages, tools: [TOOL] })).body).not.toHaveProperty('tools')
  })

  test('reach the provider with numbers and order of names as written', async () => {
    const parameters = '{"properties":{"10":{"maximum":9223372036854775807},"2":{"default":1.0}}}'
    const tools = `[{"type":"function","function":{"name":"find_train","parameters":${parameters}}}]`
    const format = `{"type":"json_schema","json_schema":{"name":"train","schema":${parameters}}}`
    const { text } = await forwarded(
      `{"model":"test/plain","messages":${JSON.stringify(MESSAGES)},"tools": ${tools},"response_format":${format}}`,
    )
    expect(text).toContain(`"tools":${tools}`)
    expect(text).toContain(`"response_format":${format}`)
  })

  test('that differ only in what parsing loses make another request for an Idempotency-Key', async () => {
    const send = (maximum: string) =>
      fetch(stack.url + CHAT_PATH, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${owner.key}`,
          'content-type': 'application/json',
          'idempotency-key': 'schemas that differ',
        },
        body: `{"model":"test/plain","messages":${JSON.stringify(MESSAGES)},"tools":[{"maximum":${maximum}}]}`,
      })
    expect((await send('9223372036854775807')).status).toBe(200)
    expect((await send('9223372036854775806')).status).toBe(409)
    expect((await send('9223372036854775807')).status).toBe(200)
  })

  test('that are empty are left out', async () => {
    expect((await forwarded({ tools: [] })).body).toEqual(ALWAYS)
  })
})

describe('`null` equals an absent field', () => {
  test('in every optional field', async () => {
    const optional = [
      'models',
      'routing_profile',
      'stream',
      'max_tokens',
      'max_completion_tokens',
      'provider',
    ]
    const parameters = ['temperature', 'top_p', 'tools', 'response_format']
    const nulls = Object.fromEntries([...optional, ...parameters].map((field) => [field, null]))
    expect((await forwarded(nulls)).body).toEqual(ALWAYS)
  })
})
