import OpenAI, { APIError } from 'openai'
import type { Response, ResponseInputItem, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Generation } from '../../src/core/api/calls.ts'
import { formatUsd } from '../../src/core/kernel/money.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const QUESTION = 'Tell me about rail yards.'
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const FIND_TRAIN = {
  type: 'function' as const,
  name: 'find_train',
  description: 'Finds a train.',
  parameters: {
    type: 'object',
    properties: { town: { type: 'string' }, platform: { type: 'integer' } },
    required: ['town', 'platform'],
    additionalProperties: false,
  },
  strict: true,
}
const TOOL_QUESTION = 'Use find_train to "Basel" from platform 7.'

let client: OpenAI

const stack = testStack({
  models: {
    'test/plain': { input_modalities: ['text', 'image'], offers: [{ at: 'alpha', model: 'words-12' }] },
    'test/reasons': { reasoning: true, offers: [{ at: 'alpha', model: 'reasoning-5.words-12' }] },
    'test/failing': [{ at: 'alpha', model: 'status-500.tag-failing' }],
    'test/cut': [{ at: 'alpha', model: 'words-12.cut-after-5' }],
    // Its provider reports a third of every prompt as read from its cache.
    'test/cached': {
      list_price: { prompt: '1.06', completion: '2.12', cache_read: '0.20' },
      offers: [{ at: 'beta', model: 'words-12.tag-cached', wire: 'anthropic-messages' }],
    },
  },
  environment: { BREAKER_FAILURES: '1000' },
})
const owner = testAccount(stack, '20.00')
beforeAll(async () => {
  client = new OpenAI({ apiKey: owner.key, baseURL: `${stack.url}/v1`, maxRetries: 0 })
  await expect(client.responses.create({ model: 'test/plain', input: QUESTION })).rejects.toMatchObject({
    status: 404,
    code: 'surface_unavailable',
  })
  const { code } = await stack.command('admin', 'surface', 'open', 'responses', '--account', owner.accountId)
  expect(code).toBe(0)
})

const callsOf = ({ output }: Response) => output.filter((item) => item.type === 'function_call')

async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('the official client library, on POST /v1/responses', () => {
  test('gets a whole response', async () => {
    const response = await client.responses.create({
      model: 'test/plain',
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: QUESTION },
            { type: 'input_image', image_url: PIXEL, detail: 'low' },
          ],
        },
      ],
      max_output_tokens: 100,
      store: false,
    })
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'test/plain',
      store: false,
      max_output_tokens: 100,
      usage: { output_tokens: 12, output_tokens_details: { reasoning_tokens: 0 } },
    })
    expect(response.output_text.split(' ')).toHaveLength(12)
    const { input_tokens, total_tokens } = response.usage!
    expect(total_tokens).toBe(input_tokens + 12)
  })

  test('says that a response is incomplete where its limit ended it', async () => {
    const response = await client.responses.create({
      model: 'test/plain',
      input: QUESTION,
      max_output_tokens: 5,
    })
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'message', status: 'incomplete' }],
    })
  })

  test('streams typed events in their order, and puts them together', async () => {
    const runner = client.responses.stream({ model: 'test/plain', input: QUESTION })
    const events = await eventsOf(runner)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    const types = events.map(({ type }) => type)
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    const final = await runner.finalResponse()
    expect(final.output_text.split(' ')).toHaveLength(12)
    expect(final.status).toBe('completed')
  })

  test('runs a tool loop that keeps nothing at the gateway', async () => {
    const runner = client.responses.stream({
      model: 'test/plain',
      input: TOOL_QUESTION,
      tools: [FIND_TRAIN],
      tool_choice: 'required',
    })
    const asked = await runner.finalResponse()
    const [call] = callsOf(asked)
    expect(call).toMatchObject({ name: 'find_train', status: 'completed' })
    expect(JSON.parse(call!.arguments)).toEqual({ town: 'Basel', platform: 7 })
    const input: ResponseInputItem[] = [
      { role: 'user', content: TOOL_QUESTION },
      ...(asked.output as ResponseInputItem[]),
      { type: 'function_call_output', call_id: call!.call_id, output: 'platform 7 at 10:04' },
      { role: 'user', content: 'And the one after it?' },
    ]
    const answered = await client.responses.create({ model: 'test/plain', input, tools: [FIND_TRAIN] })
    expect(answered.status).toBe('completed')
    expect(answered.output_text).not.toBe('')
  })

  test('is told which tools no model here has, and calls custom tools', async () => {
    const { data, response } = await client.responses
      .create({
        model: 'test/plain',
        input: 'Use run to "ls -la".',
        tools: [
          { type: 'web_search' },
          { type: 'custom', name: 'run', description: 'Runs a command.' },
          { type: 'namespace', name: 'crm', description: 'A CRM.', tools: [] },
        ],
        tool_choice: 'required',
      })
      .withResponse()
    expect(response.headers.get('x-ignored-parameters')).toBe('tools[0] (web_search), tools[2] (namespace)')
    expect(data.output).toMatchObject([{ type: 'custom_tool_call', name: 'run', input: 'ls -la' }])
  })

  test('passes encrypted reasoning back, which no other account can', async () => {
    const first = await client.responses.create({
      model: 'test/reasons',
      input: QUESTION,
      store: false,
      include: ['reasoning.encrypted_content'],
    })
    const reasoning = first.output.find((item) => item.type === 'reasoning')!
    expect(reasoning.encrypted_content).toBeTruthy()
    expect(reasoning.encrypted_content).not.toContain(reasoning.content![0]!.text)
    const encrypted = { type: 'reasoning' as const, id: reasoning.id, summary: [] }
    const again = (encrypted_content: string) =>
      client.responses
        .create({
          model: 'test/reasons',
          input: [
            { role: 'user', content: QUESTION },
            { ...encrypted, encrypted_content },
            { role: 'assistant', content: first.output_text },
            { role: 'user', content: 'And then?' },
          ],
        })
        .withResponse()
    const own = await again(reasoning.encrypted_content!)
    expect(own.response.headers.get('x-ignored-parameters')).toBeNull()
    const altered = await again(`${reasoning.encrypted_content!.slice(0, -6)}AAAA==`)
    expect(altered.response.headers.get('x-ignored-parameters')).toBe('input[1].encrypted_content')
  })

  test('gets the true status of a failure before the stream', async () => {
    const failure = await client.responses
      .create({ model: 'test/failing', input: QUESTION, stream: true })
      .then(
        () => null,
        (error: unknown) => error,
      )
    expect(failure).toBeInstanceOf(APIError)
    expect(failure).toMatchObject({ status: 502, code: 'all_providers_failed' })
  })

  test('is told of a failure in the middle of the stream, and of nothing completed', async () => {
    const stream = await client.responses.create({ model: 'test/cut', input: QUESTION, stream: true })
    const events = await eventsOf(stream)
    const last = events.at(-1)!
    expect(last).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'all_providers_failed' },
        output: [{ status: 'incomplete' }],
      },
    })
    expect(events.filter(({ type }) => /\.(done|completed|incomplete)$/.test(type))).toEqual([])
  })

  test.each<[string, object, string]>([
    ['store', { store: true }, 'store'],
    ['an earlier response', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['work in the background', { background: true }, 'background'],
    ['a conversation', { conversation: 'conv_1' }, 'conversation'],
    ['an unknown tool', { tools: [{ type: 'teleport' }] }, 'tools[0].type'],
    ['the choice of a tool that no model has', { tool_choice: { type: 'web_search' } }, 'tool_choice'],
    ['an item that is kept elsewhere', { input: [{ type: 'item_reference', id: 'x' }] }, 'input[0].id'],
    [
      'an answer to no call',
      { input: [{ type: 'function_call_output', call_id: 'x', output: '' }] },
      'input[0]',
    ],
    [
      'a file by its id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'x' }] }] },
      'input[0].content[0].image_url',
    ],
    ['a tool without a name', { tools: [{ type: 'function' }] }, 'tools[0].name'],
    ['an unknown effort', { reasoning: { effort: 'vast' } }, 'reasoning.effort'],
  ])('is refused %s, by the name of the field', async (_, fields, param) => {
    const body = { model: 'test/plain', input: QUESTION, ...fields } as { model: string; input: string }
    await expect(client.responses.create(body)).rejects.toMatchObject({ status: 400, param })
  })

  test('finds no resources of responses', async () => {
    for (const call of [
      client.responses.retrieve('resp_1'),
      client.responses.delete('resp_1'),
      client.responses.cancel('resp_1'),
      client.responses.inputItems.list('resp_1'),
    ])
      await expect(call).rejects.toMatchObject({ status: 404, code: 'surface_unavailable' })
  })
})

describe('tokens of a prompt cache', () => {
  const messages = [{ role: 'user' as const, content: QUESTION }]
  type Told = OpenAI.CompletionUsage & { cost?: number; cost_usd?: string }

  /** 1 USD a million prompt tokens, 0.19 of them from the cache, 2 for the completion. */
  const cost = ({ prompt_tokens: prompt, completion_tokens: completion }: Told, cached: number) =>
    formatUsd(
      BigInt(prompt - cached) * 1_000_000n + BigInt(cached) * 190_000n + BigInt(completion) * 2_000_000n,
    )

  test('cost their own rate on extended calls, which are told what they are charged', async () => {
    const extended = new OpenAI({ apiKey: client.apiKey, baseURL: `${stack.url}/v2`, maxRetries: 0 })
    const whole = await extended.chat.completions.create({ model: 'test/cached', messages })
    const cached = Math.trunc(whole.usage!.prompt_tokens / 3)
    expect(cached).toBeGreaterThan(0)
    expect(whole.usage).toMatchObject({
      cost_usd: cost(whole.usage!, cached),
      prompt_tokens_details: { cached_tokens: cached },
    })
    const stream = await extended.chat.completions.create({
      model: 'test/cached',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    })
    let last: Told | null | undefined
    for await (const chunk of stream) last = chunk.usage ?? last
    expect(last).toEqual(whole.usage)
    const response = await client.responses.create({ model: 'test/cached', input: QUESTION })
    expect(response.usage).toMatchObject({
      cost_usd: cost(whole.usage!, cached),
      input_tokens_details: { cached_tokens: cached },
    })

    const stable = await client.chat.completions.create({ model: 'test/cached', messages })
    expect(stable.usage).toEqual({
      prompt_tokens: whole.usage!.prompt_tokens,
      completion_tokens: 12,
      total_tokens: whole.usage!.prompt_tokens + 12,
    })
    await stack.settled(owner.accountId)
    const settled = async (id: string) => {
      const { cost_usd, usage, rates } = (await client.get(`/generations/${id}`)) as Generation
      return { cost_usd, cached: usage.cached_tokens, rate: rates?.cache_read }
    }
    const charged = { cost_usd: cost(whole.usage!, cached), cached, rate: '0.19' }
    expect(await settled(whole.id)).toEqual(charged)
    expect(await settled(response.id)).toEqual(charged)
    expect(await settled(stable.id)).toEqual({ cost_usd: cost(stable.usage!, 0) })
    expect(await stack.command('audit')).toMatchObject({ code: 0 })
  })
})
