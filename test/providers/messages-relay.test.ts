import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CompletionBuilder, type CompletionEvent } from '../../src/core/calls/completion.ts'
import { type NativeContent, parseMessagesRequest } from '../../src/core/calls/messages-request.ts'
import { MessagesReader, nativeMessages } from '../../src/providers/chat-to-messages.ts'
import { NativeReader } from '../../src/providers/messages-relay.ts'
import type { AttemptRequest } from '../../src/providers/wire.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

const USAGE = { input_tokens: 7, cache_read_input_tokens: 3, output_tokens: 1, service_tier: 'standard' }
const START = {
  type: 'message_start',
  message: { id: 'msg_bdrk_1', model: 'secret', usage: USAGE, container: { id: 'c' } },
}
const END = [
  {
    type: 'message_delta',
    delta: { stop_reason: 'stop_sequence', stop_sequence: 'END', container: null },
    usage: { output_tokens: 12 },
  },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { invocationLatency: 4 } },
]
const start = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
})
const delta = (index: number, value: object) => ({ type: 'content_block_delta', index, delta: value })
const stop = (index: number) => ({ type: 'content_block_stop', index })

/** What a native reader makes of events: its signals, and what it emits. */
function read(events: readonly unknown[]) {
  const reader = new NativeReader(new MessagesReader())
  const emitted: CompletionEvent[] = []
  const signals = events.map((event) => reader.event(JSON.stringify(event), (one) => emitted.push(one)))
  return { signals, emitted, native: emitted.flatMap((one) => (one[0] === 'native' ? [one[1]] : [])) }
}

describe('a native answer', () => {
  test('keeps its events, and none of what names its target', () => {
    const { emitted, native } = read([
      START,
      { type: 'ping' },
      start(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
      delta(0, { type: 'signature_delta', signature: 'c2ln' }),
      stop(0),
      start(1, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
      delta(1, { type: 'input_json_delta', partial_json: '{}' }),
      stop(1),
      start(2, { type: 'text', text: '', citations: null }),
      delta(2, { type: 'text_delta', text: 'Hello', extra: 1 }),
      delta(2, { type: 'citations_delta', citation: { cited_text: 'c' } }),
      stop(2),
      start(3, { type: 'tool_use', id: 'toolu_bdrk_01A', name: 'f', input: {}, caller: { type: 'direct' } }),
      delta(3, { type: 'input_json_delta', partial_json: '{"a":' }),
      delta(3, { type: 'input_json_delta', partial_json: '1}' }),
      stop(3),
      ...END,
    ])
    expect(native).toEqual([
      { type: 'message_start', usage: { promptTokens: 10, completionTokens: 1, cachedTokens: 3 } },
      start(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
      delta(0, { type: 'signature_delta', signature: 'c2ln' }),
      stop(0),
      start(1, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', json: '' }),
      delta(1, { type: 'input_json_delta', partial_json: '{}' }),
      stop(1),
      start(2, { type: 'text', text: '' }),
      delta(2, { type: 'text_delta', text: 'Hello' }),
      delta(2, { type: 'citations_delta', citation: { cited_text: 'c' } }),
      stop(2),
      start(3, {
        type: 'tool_use',
        id: expect.stringMatching(/^toolu_[0-9a-f]{24}$/),
        name: 'f',
        json: '',
        caller: { type: 'direct' },
      }),
      delta(3, { type: 'input_json_delta', partial_json: '{"a":' }),
      delta(3, { type: 'input_json_delta', partial_json: '1}' }),
      stop(3),
    ])
    const kinds = emitted.map(([kind]) => kind).filter((kind) => kind !== 'native')
    expect(kinds).toEqual(['usage', 'thinking', 'usage', 'finish', 'usage'])
    expect(emitted.find(([kind]) => kind === 'finish')).toEqual([
      'finish',
      'stop',
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ])
  })

  test('keeps the calls of tools that the provider runs together with their results', () => {
    const id = 'srvtoolu_bdrk_01A'
    const found = { type: 'tool_search_tool_search_result', tool_references: [] }
    const { native, signals } = read([
      START,
      start(0, { type: 'server_tool_use', id, name: 'tool_search_tool_bm25', input: { query: 'f' } }),
      stop(0),
      start(1, { type: 'tool_search_tool_result', tool_use_id: id, content: found }),
      stop(1),
    ])
    const neutral = expect.stringMatching(/^srvtoolu_[0-9a-f]{24}$/)
    expect(native.slice(1)).toEqual([
      start(0, { type: 'server_tool_use', id: neutral, name: 'tool_search_tool_bm25', json: '' }),
      delta(0, { type: 'input_json_delta', partial_json: '{"query":"f"}' }),
      stop(0),
      start(1, {
        type: 'whole',
        block: { type: 'tool_search_tool_result', tool_use_id: neutral, content: found },
      }),
      stop(1),
    ])
    const [use, result] = native.flatMap((event) =>
      event.type === 'content_block_start' ? [event.content_block as { id?: string; block?: object }] : [],
    )
    expect(result!.block).toHaveProperty('tool_use_id', use!.id)
    expect(signals[1]).toBe('content')
  })

  test('reports the uses of tools that the provider ran, also where it breaks off before it states them', () => {
    const use = (index: number, name: string) =>
      start(index, { type: 'server_tool_use', id: 's', name, input: {} })
    const usages = (...events: object[]) =>
      read([START, use(0, 'web_search'), use(1, 'web_search'), use(2, 'bash_code_execution'), ...events])
        .emitted.flatMap((one) => (one[0] === 'usage' ? [one[1]] : []))
        .at(-1)
    expect(usages()).toMatchObject({ webSearches: 2, codeExecutions: 1 })
    const end = (server_tool_use?: object) => ({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 9, ...(server_tool_use && { server_tool_use }) },
    })
    expect(usages(end())).toMatchObject({ webSearches: 2, codeExecutions: 1, completionTokens: 9 })
    // One of the searches failed.
    expect(usages(end({ web_search_requests: 1 }))).toMatchObject({ webSearches: 1, codeExecutions: 1 })
  })

  test('states which writes to the prompt cache last an hour', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 30 }
    const usage = { input_tokens: 5, cache_creation_input_tokens: 40, cache_creation, output_tokens: 1 }
    expect(read([{ type: 'message_start', message: { usage } }]).emitted).toEqual([
      ['usage', { promptTokens: 45, cacheWriteTokens: 40, cacheWriteHourTokens: 30, completionTokens: 1 }, 0],
    ])
  })

  test('shows nothing before its first content', () => {
    const opening = [START, start(0, { type: 'text', text: '' }), { type: 'ping' }]
    expect(read(opening).native).toEqual([])
    expect(read([...opening, ...END]).native).toEqual([])
    const begun = read([...opening, delta(0, { type: 'text_delta', text: 'a' })])
    expect(begun.native.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
    ])
    expect(begun.signals).toEqual(['other', 'other', 'other', 'content'])
  })

  test('is the same whole as streamed', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'ZGF0YQ' },
      { type: 'text', text: 'Hello', citations: [{ cited_text: 'c' }] },
      { type: 'tool_use', id: 'toolu_01A', name: 'f', input: { a: 1 } },
    ]
    const reply = { type: 'message', content, stop_reason: 'tool_use', stop_sequence: null, usage: USAGE }
    const builder = new CompletionBuilder()
    const emitted: CompletionEvent[] = []
    const reader = new NativeReader(new MessagesReader())
    expect(reader.whole(JSON.stringify(reply), (one) => emitted.push(one))).toBe('ok')
    for (const one of emitted) if (one[0] === 'native') builder.add(one)
    expect(builder.message()).toEqual({
      content: null,
      native: [...content.slice(0, 3), { type: 'tool_use', id: 'toolu_01A', name: 'f', json: '{"a":1}' }],
    })
    expect(emitted).toContainEqual(['finish', 'tool_calls', { stop_reason: 'tool_use', stop_sequence: null }])
  })

  test('takes whatever a provider sends', () => {
    const block = fc.record({
      type: fc.constantFrom('text', 'tool_use', 'thinking', 'redacted_thinking', 'else'),
      text: fc.jsonValue(),
      id: fc.jsonValue(),
      name: fc.jsonValue(),
      input: fc.jsonValue(),
      data: fc.jsonValue(),
      citations: fc.jsonValue(),
    })
    const piece = fc.record({
      type: fc.constantFrom('text_delta', 'input_json_delta', 'thinking_delta', 'citations_delta'),
      text: fc.jsonValue(),
      partial_json: fc.jsonValue(),
      citation: fc.jsonValue(),
    })
    const event = fc.record({
      type: fc.constantFrom(
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
      ),
      index: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.jsonValue()),
      content_block: fc.oneof(block, fc.jsonValue()),
      delta: fc.oneof(piece, fc.jsonValue()),
      message: fc.jsonValue(),
    })
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const { native } = read(events)
        const builder = new CompletionBuilder()
        for (const one of native) builder.add(['native', one])
        const { native: content = [] } = builder.message()
        // No gaps: clients take the newest block for the one that a delta is about.
        expect(Object.keys(content)).toHaveLength(content.length)
      }),
    )
  })
})

test('a native request is forwarded with our model, limit and stream, and as its offer takes it', () => {
  const { content } = parseMessagesRequest({
    model: 'auto',
    max_tokens: 4_000,
    messages: [{ role: 'user', content: 'Hi' }],
    thinking: { type: 'enabled', budget_tokens: 3_000 },
    temperature: 1,
    top_k: 4,
  })
  const request = (changes: object = {}, quirks: object = {}) => {
    const offer = offerAt('http://localhost/v1')
    return {
      content,
      offer: { ...offer, ...changes, provider: { ...offer.provider, quirks } },
      completionLimit: 2_000,
    } as AttemptRequest<NativeContent>
  }
  const sent = (attempt: AttemptRequest<NativeContent>) => String(nativeMessages.request(attempt, null).body)
  expect(JSON.parse(sent(request()))).toEqual({
    model: 'large-1',
    max_tokens: 2_000,
    stream: true,
    messages: [{ role: 'user', content: 'Hi' }],
    thinking: { type: 'enabled', budget_tokens: 1_999 },
    temperature: 1,
    top_k: 4,
  })
  const strict = JSON.parse(sent(request({ refusedSampling: ['temperature'] }, { fixedFields: { a: 1 } })))
  expect(strict).toMatchObject({ a: 1, top_k: 4 })
  expect(strict).not.toHaveProperty('temperature')
  expect(nativeMessages.openReader(request())).toBeInstanceOf(NativeReader)
  const tools = [
    { type: 'web_search_20250305', name: 'web_search', max_uses: null },
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    { type: 'bash_20250124', name: 'bash' },
  ]
  const searching = {
    ...request({}, { maxToolUses: 4 }),
    content: { ...content, request: { ...content.request, tools } },
  }
  expect(JSON.parse(sent(searching)).tools).toEqual([{ ...tools[0], max_uses: 4 }, tools[1], tools[2]])
})
