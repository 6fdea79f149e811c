import { ResponseStream } from 'openai/lib/responses/ResponseStream'
import { expect, test } from 'vitest'
import type { ChatRequest } from '../../../src/core/calls/chat-request.ts'
import type { Delta } from '../../../src/core/calls/completion.ts'
import { parseExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import type { CompletionHead } from '../../../src/http/calls/completion-writer.ts'
import { responsesFormat } from '../../../src/http/calls/responses-format.ts'

const HEAD = { id: 'chatcmpl_1', created: 1, model: 'test/one' } as CompletionHead
const CHAT: ChatRequest = parseExtendedRequest({
  model: 'test/one',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: ['add', 'now'].map((name) => ({ type: 'function', function: { name } })),
  tool_choice: { type: 'function', function: { name: 'add' } },
  max_tokens: 50,
})
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
  const renderer = responsesFormat(CHAT).stream(HEAD)
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
    content: [
      { type: 'output_text', text: 'I add them.', annotations: [], logprobs: [] },
      { type: 'refusal', refusal: 'No more.' },
    ],
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
]

test('a stream whose items take turns is whole to the official client library, and as the response says', async () => {
  const events = written('stop')
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
  const last = events.at(-1)
  expect(last).toMatchObject({
    type: 'response.completed',
    response: {
      id: 'chatcmpl_1',
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
})

test('a whole response has the output of the streamed one', () => {
  const message = {
    content: 'I add them.',
    refusal: 'No more.',
    reasoning: 'First the sum.',
    tool_calls: OUTPUT.slice(2).map(({ call_id, name, arguments: text }) => ({
      id: call_id!,
      type: 'function' as const,
      function: { name: name!, arguments: text! },
    })),
  }
  const whole = JSON.parse(responsesFormat(CHAT).whole(HEAD, ['completion', 0, message, 'stop', USAGE]))
  expect(whole).toEqual(written('stop').at(-1).response)
})

test('a response that its limit ended is incomplete, and so is its last item alone', async () => {
  const events = written('length')
  const { response } = events.at(-1)
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  })
  const statuses = response.output.map(({ status }: { status: string }) => status)
  expect(statuses).toEqual(['completed', 'completed', 'completed', 'incomplete'])
  expect(await accumulated(events)).toMatchObject({ status: 'incomplete' })
})

test.each([DELTAS.slice(0, 5), []])(
  'a broken stream fails and says of no item that it is done',
  async (...deltas) => {
    const renderer = responsesFormat(CHAT).stream(HEAD)
    const error = new ApiError('all_providers_failed', 'It broke off.')
    const text = deltas.map((delta) => renderer.delta(delta)).join('') + renderer.error(error, 'request_1')
    const events = eventsOf(text)
    expect(events[0].type).toBe('response.created')
    expect(events.filter(({ type }) => /\.(done|completed)$/.test(type))).toEqual([])
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
