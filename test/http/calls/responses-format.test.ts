import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { expect, test } from 'vitest'
import type { ChatRequest } from '../../../src/core/calls/chat-request.ts'
import { CompletionBuilder, type Delta, type KeptReasoning } from '../../../src/core/calls/completion.ts'
import { parseExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import type { CompletionHead } from '../../../src/http/calls/completion-writer.ts'
import { responseEvents } from '../../../src/http/calls/response-events.ts'
import { ResponsesFormat } from '../../../src/http/calls/responses-format.ts'
import type { OutputOptions } from '../../../src/http/calls/responses-output.ts'

const HEAD = { id: 'chatcmpl_1', created: 1, model: 'test/one' } as CompletionHead
const CHAT: ChatRequest = parseExtendedRequest({
  model: 'test/one',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: ['add', 'now'].map((name) => ({ type: 'function', function: { name } })),
  tool_choice: { type: 'function', function: { name: 'add' } },
  max_tokens: 50,
})
const formatOf = (options: OutputOptions = { declaredTools: new Map() }) =>
  new ResponsesFormat(CHAT, options, { background: false, metadata: null, previous_response_id: null }, false)
const USAGE = {
  promptTokens: 10,
  completionTokens: 20,
  cachedTokens: 4,
  cacheWriteTokens: 2,
  reasoningTokens: 5,
  chargePico: '1500000',
}

/** Calls of tools in turns, one of them without an id, and a text that goes on after them. */
const DELTAS: Delta[] = [
  ['reasoning', 'First '],
  ['reasoning', 'the sum.'],
  ['text', 'I add'],
  ['tool-calls', [{ index: 0, id: 'call_a', type: 'function', function: { name: 'add', arguments: '' } }]],
  ['tool-calls', [{ index: 1, function: { name: 'now', arguments: '{' } }]],
  ['tool-calls', [{ index: 0, function: { name: 'add', arguments: '{"a":1}' } }]],
  ['tool-calls', [{ index: 1, function: { arguments: '}' } }]],
  ['text', ' them.'],
  ['refusal', 'No more.'],
]

const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event)!
      const body = JSON.parse(data!)
      expect(body.type).toBe(name)
      return body
    })

/** What the official client library makes of the events of a stream. */
const accumulated = (events: object[]) =>
  ResponseStream.fromReadableStream(
    new Blob(events.map((event) => `${JSON.stringify(event)}\n`)).stream(),
  ).finalResponse()

const written = (reason: 'stop' | 'length') => {
  const renderer = formatOf().stream(HEAD)
  return eventsOf(
    DELTAS.map((delta) => renderer.delta(delta)).join('') + renderer.finish(['finish', reason, USAGE]),
  )
}

const OUTPUT = [
  {
    id: 'rs_chatcmpl_1',
    type: 'reasoning',
    status: 'completed',
    summary: [],
    content: [{ type: 'reasoning_text', text: 'First the sum.' }],
  },
  {
    id: 'msg_chatcmpl_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'I add', annotations: [], logprobs: [] }],
  },
  {
    id: 'fc_0_chatcmpl_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_a',
    name: 'add',
    arguments: '{"a":1}',
  },
  {
    id: 'fc_1_chatcmpl_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_1',
    name: 'now',
    arguments: '{}',
  },
  {
    id: 'msg_1_chatcmpl_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [
      { type: 'output_text', text: ' them.', annotations: [], logprobs: [] },
      { type: 'refusal', refusal: 'No more.' },
    ],
  },
]

test('log probabilities are with the text that they are of, streamed and whole', async () => {
  const tokens = ['I ', 'add'].map((token) => ({ token, logprob: -0.5, bytes: null, top_logprobs: [] }))
  const renderer = formatOf().stream(HEAD)
  const deltas = tokens.flatMap((one): Delta[] => [
    ['text', one.token],
    ['logprobs', [one]],
  ])
  const events = eventsOf(
    deltas.map((delta) => renderer.delta(delta)).join('') + renderer.finish(['finish', 'stop', USAGE]),
  )
  expect(events.find(({ type }) => type === 'response.output_text.done')).toMatchObject({ logprobs: tokens })
  const message = { content: 'I add', logprobs: tokens }
  const whole = JSON.parse(formatOf().whole(HEAD, ['completion', 'c', message, 'stop', USAGE] as never))
  for (const { output } of [whole, events.at(-1)!.response])
    expect(output).toMatchObject([{ content: [{ text: 'I add', logprobs: tokens }] }])
})

test('a response names the service tier that was served, streamed and whole', () => {
  const tiered = { ...USAGE, tier: 'flex' }
  const events = eventsOf(formatOf().stream(HEAD).finish(['finish', 'stop', tiered]))
  const whole = formatOf().whole(HEAD, ['completion', 'c', { content: 'Hi' }, 'stop', tiered] as never)
  for (const response of [events.at(-1)!.response, JSON.parse(whole)])
    expect(response).toHaveProperty('service_tier', 'flex')
})

test('items of tools that the provider ran stand where it put them, in a whole answer, too', () => {
  const search = { id: 'ws_1', type: 'web_search_call', status: 'completed' }
  const builder = new CompletionBuilder()
  const deltas: Delta[] = [
    ['text', 'I look.'],
    ['hosted', { type: 'response.output_item.done', output_index: 1, item: search }],
    ['text', 'It snows.'],
  ]
  for (const delta of deltas) builder.add(delta)
  const frame = ['completion', 'c', builder.message(), 'stop', USAGE] as never
  expect(JSON.parse(formatOf().whole(HEAD, frame)).output).toMatchObject([
    { type: 'message', content: [{ text: 'I look.' }] },
    { type: 'web_search_call' },
    { type: 'message', content: [{ text: 'It snows.' }] },
  ])
})

test('a summary is one item that only the gateway reads, in the stream and when it is read again', async () => {
  let seals = 0
  const sealSummary = (text: string) => `${++seals}:${text.length}`
  const renderer = formatOf({ declaredTools: new Map(), sealSummary }).stream(HEAD)
  const events = eventsOf(
    DELTAS.map((delta) => renderer.delta(delta)).join('') + renderer.finish(['finish', 'stop', USAGE]),
  )
  const output = [{ id: 'cmp_chatcmpl_1', type: 'compaction', encrypted_content: '1:11' }]
  const types = ['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed']
  expect(events.map(({ type }) => type)).toEqual(types.map((type) => `response.${type}`))
  expect(events[3]).toMatchObject({ item: output[0] })
  expect(events.at(-1)!.response.output).toEqual(output)
  const again = responseEvents(events.at(-1)!.response)
  expect(again.map(([type]) => type)).toEqual(types.map((type) => `response.${type}`))
  expect(again[3]![1]).toMatchObject({ item: { encrypted_content: '1:11' } })
})

test('a stream whose items take turns is whole to the official client library, and as the response says', async () => {
  const events = written('stop')
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
  const last = events.at(-1)
  expect(last).toMatchObject({
    type: 'response.completed',
    response: {
      id: 'resp_1',
      status: 'completed',
      max_output_tokens: 50,
      tool_choice: { type: 'function', name: 'add' },
      output: OUTPUT,
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 5 },
        total_tokens: 30,
        cost: 0.0000015,
        cost_usd: '0.0000015',
      },
    },
  })
  expect(await accumulated(events)).toMatchObject({ status: 'completed', output: OUTPUT })
  const begunAndDone = events.flatMap(({ type, output_index: index }) =>
    type.startsWith('response.output_item') ? [`${type.slice('response.output_item.'.length)} ${index}`] : [],
  )
  expect(begunAndDone).toEqual([
    ...['added 0', 'done 0', 'added 1', 'done 1', 'added 2', 'added 3', 'added 4'],
    ...['done 2', 'done 3', 'done 4'],
  ])
})

test('a whole response has the items of the streamed one', () => {
  const message = {
    content: 'I add',
    reasoning: 'First the sum.',
    tool_calls: OUTPUT.slice(2, 4).map(({ call_id, name, arguments: text }) => ({
      id: call_id!,
      type: 'function' as const,
      function: { name: name!, arguments: text! },
    })),
  }
  const whole = JSON.parse(formatOf().whole(HEAD, ['completion', 0, message, 'stop', USAGE]))
  expect(whole).toEqual({ ...written('stop').at(-1).response, output: OUTPUT.slice(0, 4) })
})

test('a response that its limit ended is incomplete, and so is its last item alone', async () => {
  const events = written('length')
  const { response } = events.at(-1)
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  })
  const statuses = response.output.map(({ status }: { status: string }) => status)
  expect(statuses).toEqual(['completed', 'completed', 'completed', 'completed', 'incomplete'])
  expect(await accumulated(events)).toMatchObject({ status: 'incomplete' })
})

test.each([DELTAS.slice(0, 5), []])(
  'a broken stream fails and says of no open item that it is done',
  async (...deltas) => {
    const renderer = formatOf().stream(HEAD)
    const error = new ApiError('all_providers_failed', 'It broke off.')
    const text = deltas.map((delta) => renderer.delta(delta)).join('') + renderer.error(error, 'request_1')
    const events = eventsOf(text)
    expect(events[0].type).toBe('response.created')
    const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item.type] : []))
    expect(done).toEqual(deltas.length === 0 ? [] : ['reasoning', 'message'])
    expect(events.filter(({ type }) => /completed$/.test(type))).toEqual([])
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'all_providers_failed', message: 'It broke off.' },
        incomplete_details: null,
        usage: null,
      },
    })
    expect(await accumulated(events)).toMatchObject({ status: 'failed' })
  },
)

test('a call of a custom tool has its input, and reasoning is encrypted once it is complete', () => {
  const sealReasoning = ({ text }: KeptReasoning) => `sealed ${text}`
  const renderer = formatOf({
    declaredTools: new Map([['add', { name: 'add', isCustom: true }]]),
    sealReasoning,
  }).stream(HEAD)
  const call = (text: string): Delta => [
    'tool-calls',
    [{ index: 0, id: 'call_a', function: { name: 'add', arguments: text } }],
  ]
  const deltas: Delta[] = [['reasoning', 'Think'], call('{"input":"1'), call(' + 2"}')]
  const events = eventsOf(
    deltas.map((delta) => renderer.delta(delta)).join('') + renderer.finish(['finish', 'tool_calls', USAGE]),
  )
  expect(events.filter(({ type }) => type.startsWith('response.custom_tool_call_input'))).toMatchObject([
    { delta: '1 + 2', output_index: 1 },
    { input: '1 + 2', output_index: 1 },
  ])
  expect(events.filter(({ type }) => type.startsWith('response.function_call'))).toEqual([])
  expect(events.at(-1).response.output).toMatchObject([
    { type: 'reasoning', encrypted_content: 'sealed Think' },
    { type: 'custom_tool_call', call_id: 'call_a', name: 'add', input: '1 + 2', status: 'completed' },
  ])
  expect(events.find(({ type }) => type === 'response.output_item.added').item.encrypted_content).toBeNull()
})

test('calls of tools in namespaces have the names that their client declared, streamed, whole and replayed', () => {
  const declaredTools: OutputOptions['declaredTools'] = new Map([
    ['add', { namespace: 'mcp__sums', name: 'read', isCustom: false }],
    ['now', { namespace: 'mcp__times', name: 'read', isCustom: true }],
  ])
  const calls = [
    { id: 'call_a', type: 'function' as const, function: { name: 'add', arguments: '{"a":1}' } },
    { id: 'call_b', type: 'function' as const, function: { name: 'now', arguments: '{"input":"x"}' } },
  ]
  const head = { ...HEAD, id: `chatcmpl_${'0'.repeat(26)}` } as CompletionHead
  const renderer = formatOf({ declaredTools }).stream(head)
  const events = eventsOf(
    calls.map((call, index) => renderer.delta(['tool-calls', [{ index, ...call }]])).join('') +
      renderer.finish(['finish', 'tool_calls', USAGE]),
  )
  const { response } = events.at(-1)
  expect(response.tool_choice).toEqual({ type: 'function', namespace: 'mcp__sums', name: 'read' })
  expect(response.output).toMatchObject([
    { type: 'function_call', call_id: 'call_a', namespace: 'mcp__sums', name: 'read', arguments: '{"a":1}' },
    { type: 'custom_tool_call', call_id: 'call_b', namespace: 'mcp__times', name: 'read', input: 'x' },
  ])
  const items = (type: string) => events.filter((event) => event.type === type).map(({ item }) => item)
  expect(items('response.output_item.added')).toMatchObject([
    { namespace: 'mcp__sums', name: 'read', arguments: '' },
    { namespace: 'mcp__times', name: 'read' },
  ])
  expect(items('response.output_item.done')).toEqual(response.output)
  const whole = ['completion', 0, { content: null, tool_calls: calls }, 'tool_calls', USAGE] as const
  expect(JSON.parse(formatOf({ declaredTools }).whole(head, whole))).toEqual(response)
  const replayed = responseEvents(response).map(([type, fields], sequence_number) => ({
    ...{ type, sequence_number },
    ...fields,
  }))
  expect(replayed).toEqual(events)
})
