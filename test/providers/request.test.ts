import { describe, expect, test } from 'vitest'
import type { ChatMessage, SamplingParameters } from '../../src/core/calls/chat-request.ts'
import type { Offer, Provider, ProviderQuirks } from '../../src/core/catalog/catalog.ts'
import * as chat from '../../src/providers/chat-completions.ts'
import * as google from '../../src/providers/chat-to-google.ts'
import * as anthropic from '../../src/providers/chat-to-messages.ts'
import { type ChatAttempt, requestHeaders } from '../../src/providers/wire.ts'
import { contentParts } from '../helpers/content-parts.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

interface Changes {
  messages?: ChatMessage[]
  parameters?: SamplingParameters
  quirks?: ProviderQuirks
  provider?: Partial<Provider>
  offer?: Partial<Offer>
}

function attempt({ messages, parameters = {}, quirks, provider, offer: more }: Changes = {}): ChatAttempt {
  const offer = offerAt('https://api.example/v1', more)
  return {
    offer: { ...offer, provider: { ...offer.provider, ...provider, ...(quirks && { quirks }) } },
    messages: messages ?? [{ role: 'user', content: 'Hi' }],
    parameters,
    accountId: 'acct_1',
    completionLimit: 64,
    limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
    signal: new AbortController().signal,
  }
}

const chatBody = (changes?: Changes) => JSON.parse(String(chat.requestBody(attempt(changes))))
const anthropicBody = (changes?: Changes) => JSON.parse(String(anthropic.requestBody(attempt(changes))))
const googleBody = (changes?: Changes) => JSON.parse(google.requestBody(attempt(changes)))

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const BY_SCHEMA = { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA, strict: true } }
const TOOLS = [
  { type: 'function', function: { name: 'weather', description: 'Tells it', parameters: SCHEMA } },
  { type: 'function', function: { name: 'now' } },
  { type: 'web_search' },
]
const EVERY_ROLE: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Weather?', name: 'ada' },
  { role: 'assistant', content: '' },
  { role: 'tool', content: '{"degrees":7}', tool_call_id: 'call_1', name: 'weather' },
  { role: 'user', content: [{ type: 'text', text: 'And now?' }] },
  { role: 'system', content: 'In French.' },
  { role: 'assistant', content: 'Il fait ' },
]
const NO_TOOLS: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Weather?', name: 'ada' },
  { role: 'assistant', content: 'Where?', name: 'weather' },
  { role: 'user', content: [{ type: 'text', text: 'Here.' }] },
  { role: 'system', content: 'In French.' },
  { role: 'assistant', content: 'Il fait ' },
]
const PICTURES: ChatMessage[] = [
  {
    role: 'user',
    content: contentParts(
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/4AA=', detail: 'high' } },
      { type: 'image_url', image_url: { url: 'https://images.example/cat.webp?size=2' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
    ),
  },
]

describe('quirks of the chat-completions wire', () => {
  test('a provider without quirks gets the messages as they are', () => {
    expect(chatBody({ messages: NO_TOOLS, parameters: { tools: TOOLS } })).toEqual({
      model: 'large-1',
      messages: NO_TOOLS,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 64,
      tools: TOOLS,
    })
  })

  test('schemas are forwarded as written, in words where the provider takes none, and as parsed on other wires', () => {
    const tools = '[{"type":"function","function":{"name":"now","parameters":{"maximum":1.0}}}]'
    const format = '{"type":"json_schema","json_schema":{"name":"place","schema":{"minimum":1.0}}}'
    const parameters = { tools: JSON.parse(tools), response_format: JSON.parse(format) }
    const exactJson = { tools, response_format: format }
    const plain = chat.requestBody({ ...attempt({ parameters }), exactJson })
    expect(plain).toContain(`"tools":${tools},"response_format":${format}`)
    expect(JSON.parse(String(plain))).toEqual(chatBody({ parameters }))
    const quirks = { jsonObjectOnly: true }
    const told = chat.requestBody({ ...attempt({ parameters, quirks }), exactJson })
    expect(told).toContain(`"tools":${tools},"response_format":{"type":"json_object"}`)
    for (const wire of [anthropic, google]) {
      const given = attempt({ parameters })
      expect(wire.requestBody({ ...given, exactJson })).toBe(wire.requestBody(given))
    }
  })

  test('the limit goes into the field that the provider takes', () => {
    const body = chatBody({ provider: { limitParameter: 'max_completion_tokens' } })
    expect(body).toMatchObject({ max_completion_tokens: 64 })
    expect(body).not.toHaveProperty('max_tokens')
  })

  test('refused fields are left out, and fixed ones added without replacing ours', () => {
    const body = chatBody({
      parameters: { temperature: 0.5, tools: TOOLS },
      quirks: { omit: ['stream_options', 'tools'], fixedFields: { reasoning_split: true, model: 'other' } },
    })
    expect(body).toMatchObject({ model: 'large-1', temperature: 0.5, reasoning_split: true })
    expect(body).not.toHaveProperty('stream_options')
    expect(body).not.toHaveProperty('tools')
  })

  test('a temperature beyond the range is sent as its end, and one of two parameters alone', () => {
    expect(chatBody({ parameters: { temperature: 1.8 }, quirks: { temperatureMax: 1 } }).temperature).toBe(1)
    expect(chatBody({ parameters: { temperature: 0.3 }, quirks: { temperatureMax: 1 } }).temperature).toBe(
      0.3,
    )
    const both = { temperature: 0.3, top_p: 0.5 }
    expect(chatBody({ parameters: both, quirks: { oneSamplingParameter: true } })).not.toHaveProperty('top_p')
    expect(chatBody({ parameters: { top_p: 0.5 }, quirks: { oneSamplingParameter: true } }).top_p).toBe(0.5)
  })

  test('a schema that the provider has no field for is asked for in words', () => {
    const body = chatBody({ parameters: { response_format: BY_SCHEMA }, quirks: { jsonObjectOnly: true } })
    expect(body.response_format).toEqual({ type: 'json_object' })
    expect(body.messages[0]).toEqual({
      role: 'system',
      content: expect.stringContaining(JSON.stringify(SCHEMA)),
    })
    expect(body.messages).toHaveLength(2)
    const object = { response_format: { type: 'json_object' } }
    expect(chatBody({ parameters: object, quirks: { jsonObjectOnly: true } }).messages).toHaveLength(1)
  })

  test('names stay on the roles that may have one', () => {
    const { messages } = chatBody({ messages: NO_TOOLS, quirks: { namedRoles: ['user'] } })
    expect(messages.map(({ name }: ChatMessage) => name ?? null)).toEqual([
      null,
      'ada',
      null,
      null,
      null,
      null,
    ])
  })

  test('a trailing assistant message is marked as the beginning of the answer', () => {
    const { messages } = chatBody({ messages: EVERY_ROLE, quirks: { prefillField: 'prefix' } })
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'Il fait ', prefix: true })
    expect(chatBody({ quirks: { prefillField: 'prefix' } }).messages).toEqual([
      { role: 'user', content: 'Hi' },
    ])
  })

  test('a history with tools is sent in turns, with results as text of the user', () => {
    expect(chatBody({ messages: EVERY_ROLE }).messages).toEqual([
      { role: 'system', content: 'Be brief.\n\nIn French.' },
      {
        role: 'user',
        content:
          'ada:\n\nWeather?\n\nResult of the tool call (weather, call_1):\n\n{"degrees":7}\n\nAnd now?',
      },
      { role: 'assistant', content: 'Il fait ' },
    ])
  })

  test('a turn of tool calls alone, of which nothing is kept, is left out', () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: 'Look it up.' },
      { role: 'assistant', content: '' },
    ]
    expect(chatBody({ messages }).messages).toEqual([{ role: 'user', content: 'Look it up.' }])
    const [, picture] = [messages[1]!, ...PICTURES]
    const { messages: sent } = chatBody({ messages: [messages[1]!, picture!] })
    expect(sent).toEqual([
      { role: 'user', content: expect.arrayContaining([{ type: 'text', text: 'What is this?' }]) },
    ])
  })

  test('path, headers and the place of the key are as the provider has them', () => {
    const quirks: ProviderQuirks = {
      path: '/chat/completions?api-version=2025-01-01',
      headers: { 'x-github-api-version': '2022-11-28' },
      authHeader: 'api-key',
    }
    const request = attempt({ quirks })
    expect(chat.chatCompletions.request(request, null).url).toBe(
      'https://api.example/v1/chat/completions?api-version=2025-01-01',
    )
    const headers = requestHeaders(request.offer.provider, 'secret', 'authorization')
    expect(headers.slice(-4)).toEqual(['x-github-api-version', '2022-11-28', 'api-key', 'secret'])
    expect(requestHeaders(attempt().offer.provider, 'secret', 'authorization').slice(-2)).toEqual([
      'authorization',
      'Bearer secret',
    ])
    expect(requestHeaders(request.offer.provider, null, 'authorization')).not.toContain('api-key')
  })
})

test('sampling parameters that the model refuses are left out, on every wire', () => {
  const changes: Changes = {
    parameters: { temperature: 0.5, top_p: 0.9 },
    offer: { refusedSampling: ['temperature', 'top_p'] },
  }
  for (const body of [chatBody(changes), anthropicBody(changes), googleBody(changes).generationConfig]) {
    expect(JSON.stringify(body)).not.toMatch(/temperature|top_?p/i)
  }
  expect(chatBody({ ...changes, offer: { refusedSampling: ['top_p'] } })).toMatchObject({ temperature: 0.5 })
})

test('a Claude model on the chat-completions wire gets one sampling parameter in its range, and 3 and 3.5 both', () => {
  const parameters = { temperature: 1.5, top_p: 0.9 }
  const sentTo = (upstreamModel: string) => {
    const { temperature, top_p } = chatBody({ parameters, offer: { upstreamModel } })
    return { temperature, top_p }
  }
  for (const model of ['claude-3.7-sonnet', 'claude-3-7-sonnet', 'claude-sonnet-4.6', 'claude-opus-4-1'])
    expect(sentTo(`anthropic/${model}`)).toEqual({ temperature: 1, top_p: undefined })
  for (const model of ['anthropic/claude-3.5-haiku', 'claude-3-5-sonnet-20241022', 'claude-3-opus'])
    expect(sentTo(model)).toEqual({ temperature: 1, top_p: 0.9 })
  expect(sentTo('large-1')).toEqual(parameters)
})

describe('the messages wire', () => {
  test('system messages are separate, turns alternate, and a tool result is text', () => {
    expect(anthropicBody({ messages: EVERY_ROLE })).toEqual({
      model: 'large-1',
      max_tokens: 64,
      stream: true,
      system: 'Be brief.\n\nIn French.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'ada:' },
            { type: 'text', text: 'Weather?' },
            { type: 'text', text: 'Result of the tool call (weather, call_1):' },
            { type: 'text', text: '{"degrees":7}' },
            { type: 'text', text: 'And now?' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'Il fait' }] },
      ],
    })
    expect(anthropic.prefillSpace(attempt({ messages: EVERY_ROLE }))).toBe(' ')
  })

  test('a conversation that the assistant begins, or of system messages alone, still has a first turn', () => {
    for (const role of ['assistant', 'system'] as const) {
      const { messages } = anthropicBody({ messages: [{ role, content: 'Hello' }] })
      expect(messages[0]).toEqual({ role: 'user', content: [{ type: 'text', text: '.' }] })
    }
  })

  test('images are sources, inline or by address, and a PDF is a document', () => {
    expect(anthropicBody({ messages: PICTURES }).messages[0].content.slice(1)).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: '/9j/4AA=' } },
      { type: 'image', source: { type: 'url', url: 'https://images.example/cat.webp?size=2' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
    ])
  })

  test('a turn of media that the wire does not know still says something', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
    const { messages } = anthropicBody({ messages: [{ role: 'user', content: contentParts(audio) }] })
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'text', text: '.' }] }])
  })

  test('tools have an input schema, also one without arguments', () => {
    expect(anthropicBody({ parameters: { tools: TOOLS } }).tools).toEqual([
      { name: 'weather', description: 'Tells it', input_schema: SCHEMA },
      { name: 'now', input_schema: { type: 'object', properties: {} } },
    ])
  })

  test('JSON is asked for in the system prompt', () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Where?' },
    ]
    const { system } = anthropicBody({ messages, parameters: { response_format: BY_SCHEMA } })
    expect(system).toMatch(/^Be brief\.\n\nAnswer with one JSON value/)
    expect(system).toContain(JSON.stringify(SCHEMA))
    expect(anthropicBody({ parameters: { response_format: { type: 'text' } } })).not.toHaveProperty('system')
  })

  test('the temperature ends at 1', () => {
    const body = anthropicBody({
      parameters: { temperature: 1.5, top_p: 0.9 },
      quirks: { oneSamplingParameter: true },
    })
    expect(body.temperature).toBe(1)
    expect(body).not.toHaveProperty('top_p')
    expect(anthropicBody({ parameters: { temperature: 0, top_p: 0.9 } })).toMatchObject({
      temperature: 0,
      top_p: 0.9,
    })
  })
})

describe('the generate-content wire', () => {
  test('roles are user and model, the system prompt and the limit have places of their own', () => {
    expect(googleBody({ messages: EVERY_ROLE, parameters: { temperature: 1.5, top_p: 0.9 } })).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.\n\nIn French.' }] },
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'ada:' },
            { text: 'Weather?' },
            { text: 'Result of the tool call (weather, call_1):' },
            { text: '{"degrees":7}' },
            { text: 'And now?' },
          ],
        },
        { role: 'model', parts: [{ text: 'Il fait ' }] },
      ],
      generationConfig: { candidateCount: 1, maxOutputTokens: 64, temperature: 1.5, topP: 0.9 },
    })
  })

  test('the model is in the address', () => {
    expect(google.requestUrl(attempt())).toBe(
      'https://api.example/v1/models/large-1:streamGenerateContent?alt=sse',
    )
  })

  test('media is inline or by address', () => {
    expect(googleBody({ messages: PICTURES }).contents[0].parts.slice(1)).toEqual([
      { inlineData: { mimeType: 'image/jpeg', data: '/9j/4AA=' } },
      { fileData: { mimeType: 'image/webp', fileUri: 'https://images.example/cat.webp?size=2' } },
      { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
    ])
  })

  test('functions are declared, without keywords that the wire refuses', () => {
    expect(googleBody({ parameters: { tools: TOOLS } }).tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'weather',
            description: 'Tells it',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          },
          { name: 'now' },
        ],
      },
    ])
  })

  test('JSON is asked for by media type and schema', () => {
    const config = (format: Record<string, unknown>) =>
      googleBody({ parameters: { response_format: format } }).generationConfig
    expect(config(BY_SCHEMA)).toMatchObject({
      responseMimeType: 'application/json',
      responseSchema: { type: 'object', properties: { city: { type: 'string' } } },
    })
    expect(config({ type: 'json_object' })).toMatchObject({ responseMimeType: 'application/json' })
    expect(config({ type: 'json_object' })).not.toHaveProperty('responseSchema')
    expect(config({ type: 'text' })).not.toHaveProperty('responseMimeType')
  })

  test('asks for JSON in words beside tools, since the wire refuses the type together with functions', () => {
    const body = googleBody({ parameters: { response_format: BY_SCHEMA, tools: TOOLS } })
    expect(body.generationConfig).not.toHaveProperty('responseMimeType')
    expect(body.generationConfig).not.toHaveProperty('responseSchema')
    expect(body.systemInstruction.parts[0].text).toContain('Answer with one JSON value')
  })
})

describe('fields that some providers take', () => {
  const passed = { prompt_cache_key: 'session-1', service_tier: 'flex', user: 'ada' }

  test('reach those alone, with the users and prefixes of accounts kept apart', () => {
    expect(chatBody({ parameters: { passed } })).toMatchObject({
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{12}-session-1$/),
    })
    expect(chatBody({ parameters: { passed } })).not.toHaveProperty('user')
    const all = chatBody({ parameters: { passed }, quirks: { passes: ['user', 'service_tier'] } })
    expect(all).toMatchObject({ service_tier: 'flex', user: expect.stringMatching(/^[0-9a-f]{32}$/) })
    const none = chatBody({ parameters: { passed }, quirks: { omit: ['prompt_cache_key'] } })
    for (const name of [...Object.keys(passed), 'passed']) expect(none).not.toHaveProperty(name)
    const other = JSON.parse(
      String(chat.requestBody({ ...attempt({ parameters: { passed } }), accountId: 'acct_2' })),
    )
    expect(other.prompt_cache_key).not.toBe(chatBody({ parameters: { passed } }).prompt_cache_key)
    const long = { prompt_cache_key: 'k'.repeat(60) }
    expect(chatBody({ parameters: { passed: long } }).prompt_cache_key).toHaveLength(32)
  })

  test('are as the client wrote them where the key is its own', () => {
    const own = { ...attempt({ parameters: { passed }, quirks: { passes: ['user'] } }), apiKey: 'sk-own' }
    expect(JSON.parse(String(chat.requestBody(own)))).toMatchObject({
      prompt_cache_key: 'session-1',
      user: 'ada',
    })
  })

  test('do not reach other wires, but for the tier that Google sells', () => {
    for (const body of [anthropicBody, googleBody])
      expect(JSON.stringify(body({ parameters: { passed } }))).not.toContain('session-1')
    expect(googleBody({ parameters: { passed } })).toHaveProperty('service_tier', 'flex')
    expect(anthropicBody({ parameters: { passed } })).not.toHaveProperty('service_tier')
  })
})

test.each([
  ['max', undefined, 'max'],
  ['max', ['low', 'high'], 'high'],
  ['medium', ['low', 'high'], 'low'],
  ['none', ['none', 'low'], 'none'],
  ['minimal', ['none', 'low'], 'low'],
] as const)('an effort of %s where a provider takes %j is %s', (effort, efforts, sent) => {
  expect(
    chatBody({ parameters: { reasoning_effort: effort }, ...(efforts && { quirks: { efforts } }) })
      .reasoning_effort,
  ).toBe(sent)
})

test('marks of the prompt cache reach a provider of the chat wire that takes them and has a price for them', () => {
  const messages: ChatMessage[] = [
    { role: 'user', content: [{ type: 'text', text: 'Hi', cacheBreakpoint: true }] },
  ]
  const sent = (cachesPrompt: boolean, cacheMarks: boolean) =>
    chat.requestBody({
      ...attempt({ messages, quirks: { cacheMarks } }),
      ...(cachesPrompt && { cachesPrompt }),
    })
  expect(JSON.parse(String(sent(true, true))).messages[0].content).toEqual([
    { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } },
  ])
  for (const other of [sent(false, true), sent(true, false)]) expect(other).not.toContain('cache_control')
})
