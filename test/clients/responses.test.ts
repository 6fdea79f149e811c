import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import OpenAI, { APIError } from 'openai'
import type {
  Response,
  ResponseCompletedEvent,
  ResponseInputItem,
  ResponseStreamEvent,
  ResponsesClientEvent,
  ResponsesServerEvent,
} from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { pruneStoredResponses } from '../../src/calls/stored-responses/stored-response-store.ts'
import type { Generation } from '../../src/core/api/calls.ts'
import { callIdOfResponse } from '../../src/core/kernel/ids.ts'
import { formatUsd } from '../../src/core/kernel/money.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
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
    // Its provider refuses reasoning of its own that comes back without its signature.
    'test/signs': {
      reasoning: true,
      offers: [{ at: 'beta', model: 'reasoning-5.words-12.tag-signs', wire: 'anthropic-messages' }],
    },
    'test/echo': [{ at: 'alpha', model: 'echo' }],
    'test/private': [{ at: 'private', model: 'words-12' }],
    'test/quick': [{ at: 'alpha', model: 'words-12.rate-40' }],
    'test/slow': [{ at: 'alpha', model: 'words-400.rate-20' }],
    'test/failing': [{ at: 'alpha', model: 'status-500.tag-failing' }],
    'test/cut': [{ at: 'alpha', model: 'words-12.cut-after-5' }],
    'test/hosted': {
      list_price: { prompt: '1.06', completion: '2.12', web_search: '10000' },
      offers: [{ at: 'gamma', model: 'words-12', wire: 'responses' }],
    },
    // Its provider reports a third of every prompt as read from its cache.
    'test/cached': {
      list_price: { prompt: '1.06', completion: '2.12', cache_read: '0.20' },
      offers: [{ at: 'beta', model: 'words-12.tag-cached', wire: 'anthropic-messages' }],
    },
  },
  environment: {
    BREAKER_FAILURES: '1000',
    TEXT_BODY_LIMIT_BYTES: '500000',
    REFUSED_BYTES_PER_MINUTE: '10000000',
  },
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

  test('a response lists ignored tools, and custom tools are called', async () => {
    const { data, response } = await client.responses
      .create({
        model: 'test/plain',
        input: 'Use run to "ls -la".',
        tools: [
          { type: 'web_search' },
          { type: 'custom', name: 'run', description: 'Runs a command.' },
          { type: 'mcp', server_label: 'crm' },
        ],
        tool_choice: 'required',
      })
      .withResponse()
    expect(response.headers.get('x-ignored-parameters')).toBe('tools[0] (web_search), tools[2] (mcp)')
    expect(data.output).toMatchObject([{ type: 'custom_tool_call', name: 'run', input: 'ls -la' }])
  })

  test('tools that the maker runs come event by event from a provider of the wire, and are charged by use', async () => {
    const ask = {
      model: 'test/hosted',
      input: QUESTION,
      store: false,
      tools: [{ type: 'web_search' as const }, { type: 'file_search' as const, vector_store_ids: ['vs_1'] }],
    }
    const { data: stream, response } = await client.responses.create({ ...ask, stream: true }).withResponse()
    expect(response.headers.get('x-ignored-parameters')).toBe('tools[1] (file_search)')
    const events = await eventsOf(stream)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    const searching = events.filter(({ type }) => type.includes('web_search') || type.includes('output_item'))
    expect(searching.map(({ type }) => type)).toEqual([
      ...['response.output_item.added', 'response.web_search_call.searching', 'response.output_item.done'],
      ...['response.output_item.added', 'response.output_item.done'],
    ])
    const { response: streamed } = events.at(-1) as ResponseCompletedEvent
    const whole = await client.responses.create(ask)
    for (const { id, output } of [streamed, whole]) {
      expect(output.map(({ type }) => type)).toEqual(['web_search_call', 'message'])
      expect(output[0]!.id).toBe(`ws_${callIdOfResponse(id)}`)
      expect(output[1]).toMatchObject({
        content: [{ annotations: [{ type: 'url_citation', title: 'Rail yards', end_index: 4 }] }],
      })
    }
    const again = [
      { role: 'user' as const, content: QUESTION },
      whole.output[0]!,
      { role: 'assistant' as const, content: whole.output_text },
      { role: 'user' as const, content: 'Why?' },
    ]
    const next = await client.responses.create({ ...ask, input: again as ResponseInputItem[] }).withResponse()
    expect(next.response.headers.get('x-ignored-parameters')).toBe('tools[1] (file_search)')
    await stack.settled(owner.accountId)
    const record = await stack.postgres.callRecord.findUniqueOrThrow({
      where: { id: callIdOfResponse(whole.id) },
    })
    expect(record).toMatchObject({ webSearches: 1, webSearchRatePico: 9_500_000_000n })
    const spent =
      BigInt(record.promptTokens) * record.promptRatePico! +
      BigInt(record.completionTokens) * record.completionRatePico!
    expect(record.chargePico).toBe(spent + 9_500_000_000n)
    // A provider of another wire has no such items, and says so.
    const elsewhere = await client.responses
      .create({ ...ask, model: 'test/plain', input: again as ResponseInputItem[] })
      .withResponse()
    expect(elsewhere.response.headers.get('x-ignored-parameters')).toBe(
      'tools[1] (file_search), tools[0] (web_search), input[1] (web_search_call)',
    )
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
    const other = await stack.account('1.00')
    const stranger = new OpenAI({ apiKey: other.key, baseURL: `${stack.url}/v2`, maxRetries: 0 })
    const again = async (by: OpenAI, encrypted_content: string) => {
      const { response } = await by.responses
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
      return response.headers.get('x-ignored-parameters')
    }
    const own = reasoning.encrypted_content!
    expect(await again(client, own)).toBeNull()
    expect(await again(stranger, own)).toBe('input[1].encrypted_content')
    expect(await again(client, `${own.slice(0, -6)}AAAA==`)).toBe('input[1].encrypted_content')
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

  test('a failure in the middle of a responses stream is reported, and the response is never completed', async () => {
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
    ['work in the background that is not stored', { background: true, store: false }, 'store'],
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

  test('is refused conversations and prompts that are kept elsewhere', async () => {
    for (const [param, value] of [
      ['conversation', 'conv_1'],
      ['prompt', { id: 'pmpt_1' }],
    ] as const)
      await expect(
        client.responses.create({ model: 'test/plain', input: QUESTION, [param]: value }),
      ).rejects.toMatchObject({ status: 422, code: 'unsupported_shape', param })
  })
})

const MISSING = 'resp_01JABCDEFGHJKMNPQRSTVWXYZ0'
const notFound = { status: 404, code: 'not_found' }

/** The messages of the last request of a provider. */
const asked = () => {
  const { body } = stack.providers.log.requests.at(-1)!
  return (body as { messages: { role: string; content: unknown }[] }).messages
}
const storedOf = (id: string) =>
  stack.postgres.storedResponse.findUniqueOrThrow({ where: { callId: callIdOfResponse(id) } })
const until = async (id: string, status: string) => {
  const statusNow = async () => (await client.responses.retrieve(id)).status
  await expect.poll(statusNow, { timeout: onBusyMachine(8_000), interval: 50 }).toBe(status)
  return client.responses.retrieve(id)
}

describe('a stored response', () => {
  test('is read as it was sent, whole and as events, with the items of its input', async () => {
    const metadata = { ticket: '17' }
    const runner = client.responses.stream({
      model: 'test/reasons',
      input: [
        { role: 'user', content: 'First.' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: [{ type: 'input_text', text: QUESTION }] },
      ],
      metadata,
    })
    const events = await eventsOf(runner)
    const final = await runner.finalResponse()
    const { response: sent } = events.at(-1) as { response: Response }
    expect(sent).toMatchObject({ id: final.id, store: true, metadata })
    for (const event of events)
      if ('response' in event) expect(event.response.id).toMatch(/^resp_[0-9A-Z]{26}$/)
    expect(await client.responses.retrieve(final.id)).toMatchObject({ ...sent })
    const again = await eventsOf(await client.responses.retrieve(final.id, { stream: true }))
    expect(again.at(-1)).toEqual({ ...events.at(-1), sequence_number: again.length - 1 })
    expect(again.filter(({ type }) => /added|done/.test(type)).map(withoutNumber)).toEqual(
      events.filter(({ type }) => /added|done/.test(type)).map(withoutNumber),
    )
    const rest = await eventsOf(
      await client.responses.retrieve(final.id, { stream: true, starting_after: again.length - 3 }),
    )
    expect(rest).toEqual(again.slice(-2))
    const items: string[] = []
    for await (const item of client.responses.inputItems.list(final.id, { order: 'asc', limit: 2 }))
      items.push((item as { content: { text: string }[] }).content[0]!.text)
    expect(items).toEqual(['First.', 'Yes.', QUESTION])
    const [last] = (await client.responses.inputItems.list(final.id, { limit: 1 })).data
    expect(last).toMatchObject({ id: `in_2_${callIdOfResponse(final.id)}`, type: 'message', role: 'user' })

    const { sealed } = await storedOf(final.id)
    expect(Buffer.from(sealed).includes('rail yards')).toBe(false)
    await expect(client.responses.cancel(final.id)).rejects.toMatchObject({ status: 400 })
    // As the library for Python deletes: with the content type of a body that it does not send.
    const deleted = await fetch(`${stack.url}/v2/responses/${final.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
    })
    expect(await deleted.json()).toMatchObject({ id: final.id, deleted: true })
    await expect(client.responses.retrieve(final.id)).rejects.toMatchObject(notFound)
  })

  test.each(['its id', 'the id of its reasoning'])(
    'a tool loop continues by %s with the signatures of its reasoning, which its client did not ask for and never sees',
    async (by) => {
      const asks = { model: 'test/signs', tools: [FIND_TRAIN] }
      const first = await client.responses.create({ ...asks, input: TOOL_QUESTION })
      expect(first.output).toMatchObject([{ type: 'reasoning' }, { type: 'function_call' }])
      const read = await client.responses.retrieve(first.id)
      expect(read.output).toEqual(first.output)
      const sent = JSON.stringify([first, read])
      for (const secret of ['sealed', 'encrypted', 'signature']) expect(sent).not.toContain(secret)
      const items = (first.output as { id: string }[]).map(({ id }) => ({
        type: 'item_reference' as const,
        id,
      }))
      const [call] = callsOf(first)
      const output = { type: 'function_call_output' as const, call_id: call!.call_id, output: 'At 10:04.' }
      const second = await client.responses.create({
        ...asks,
        ...(by === 'its id'
          ? { previous_response_id: first.id, input: [output] }
          : { input: [{ role: 'user', content: TOOL_QUESTION }, ...items, output] }),
      })
      expect(second.status).toBe('completed')
      expect(asked()[1]!.content).toMatchObject([
        { type: 'thinking', signature: 'c2ltdWxhdGVkIHRoaW5raW5n' },
        { type: 'tool_use' },
      ])
      const { data } = await client.responses.inputItems.list(second.id)
      expect(JSON.stringify(data)).not.toContain('sealed')
    },
  )

  test('is continued, with its tools, by its id or by the ids of its items', async () => {
    const first = await client.responses.create({
      model: 'test/plain',
      input: TOOL_QUESTION,
      instructions: 'Be brief.',
      tools: [FIND_TRAIN],
      tool_choice: 'required',
    })
    const [call] = callsOf(first)
    const output = { type: 'function_call_output' as const, call_id: call!.call_id, output: 'At 10:04.' }
    const second = await client.responses.create({
      model: 'test/plain',
      previous_response_id: first.id,
      input: [output],
      tools: [FIND_TRAIN],
    })
    expect(second).toMatchObject({ previous_response_id: first.id, status: 'completed' })
    const third = await client.responses.create({
      model: 'test/plain',
      previous_response_id: callIdOfResponse(second.id),
      input: 'Thanks.',
    })
    expect(third.previous_response_id).toBe(second.id)
    expect((await client.responses.retrieve(callIdOfResponse(third.id))).id).toBe(third.id)
    const turns = [
      ['user', TOOL_QUESTION],
      ['assistant', null],
      ['tool', 'At 10:04.'],
      ['assistant', second.output_text],
      ['user', 'Thanks.'],
    ]
    const texts = () =>
      asked().map(({ role, content }) => [role, Array.isArray(content) ? content[0].text : (content ?? null)])
    expect(texts()).toEqual(turns)
    // Items of outputs are read without the inputs of their turns.
    await stack.postgres.storedResponse.updateMany({
      where: { callId: { in: [first, second].map(({ id }) => callIdOfResponse(id)) } },
      data: { sealedInput: Uint8Array.of(0) },
    })
    await client.responses.create({
      model: 'test/plain',
      input: [
        { role: 'user', content: TOOL_QUESTION },
        { type: 'item_reference', id: call!.id! },
        output,
        { type: 'item_reference', id: second.output[0]!.id! },
        { role: 'user', content: 'Thanks.' },
      ],
    })
    expect(texts()).toEqual(turns)

    await client.responses.delete(first.id)
    await expect(
      client.responses.create({ model: 'test/plain', previous_response_id: third.id, input: 'More.' }),
    ).rejects.toMatchObject({ ...notFound, param: 'previous_response_id' })
  })

  test('is not there for another account, once it has expired, or where none was wanted', async () => {
    const other = await stack.account('1.00')
    const stranger = new OpenAI({ apiKey: other.key, baseURL: `${stack.url}/v2`, maxRetries: 0 })
    const { id, output } = await client.responses.create({ model: 'test/plain', input: QUESTION })
    const { id: unstored } = await client.responses.create({
      model: 'test/plain',
      input: QUESTION,
      store: false,
    })
    const expectNone = async (of: OpenAI, missing: string) => {
      for (const call of [
        () => of.responses.retrieve(missing),
        () => of.responses.cancel(missing),
        () => of.responses.inputItems.list(missing),
        () => of.responses.create({ model: 'test/plain', previous_response_id: missing, input: 'More.' }),
        () => of.responses.delete(missing),
      ])
        await expect(call()).rejects.toMatchObject(notFound)
    }
    for (const missing of [id, MISSING]) await expectNone(stranger, missing)
    await expect(
      stranger.responses.create({
        model: 'test/plain',
        input: [{ type: 'item_reference', id: output[0]!.id! }],
      }),
    ).rejects.toMatchObject({ status: 400, param: 'input[0].id' })
    await expectNone(client, unstored)
    const callId = callIdOfResponse(id)
    expect((await client.responses.retrieve(id)).id).toBe(id)
    await stack.postgres.storedResponse.update({ where: { callId }, data: { expiresAt: new Date(1) } })
    await expectNone(client, id)
    await pruneStoredResponses(stack.postgres)
    expect(await stack.postgres.storedResponse.count({ where: { callId } })).toBe(0)
  })

  test('is of the key that made it, and of all keys only for one that has the scope', async () => {
    const keyWith = async (...options: string[]) => {
      const { json } = await stack.command('admin', 'key', 'create', '--account', owner.accountId, ...options)
      return new OpenAI({ apiKey: String(json.key), baseURL: `${stack.url}/v2`, maxRetries: 0 })
    }
    const [sibling, reader] = [await keyWith(), await keyWith('--scope', 'responses')]
    const { id, output } = await client.responses.create({ model: 'test/plain', input: QUESTION })
    for (const call of [
      () => sibling.responses.retrieve(id),
      () => sibling.responses.inputItems.list(id),
      () => sibling.responses.create({ model: 'test/plain', previous_response_id: id, input: 'More.' }),
      () => sibling.responses.delete(id),
    ])
      await expect(call()).rejects.toMatchObject(notFound)
    const input = [{ type: 'item_reference' as const, id: output[0]!.id! }]
    await expect(sibling.responses.create({ model: 'test/plain', input })).rejects.toMatchObject({
      status: 400,
    })
    expect(await reader.responses.retrieve(id)).toMatchObject({ id })
    expect(await reader.responses.delete(id)).toMatchObject({ deleted: true })
  })

  test('is not made of a call that asks for no retention, and has of items only what is read again', async () => {
    for (const provider of [{ zdr: true }, { data_collection: 'deny' }]) {
      const body = { model: 'test/plain', input: QUESTION, store: true, provider }
      const response = await client.responses.create(body)
      expect(response).toMatchObject({ status: 'completed', store: false })
      await expect(client.responses.retrieve(response.id)).rejects.toMatchObject(notFound)
      await expect(client.responses.create({ ...body, background: true })).rejects.toMatchObject({
        status: 400,
        param: 'background',
      })
    }
    const padding = 'x'.repeat(50_000)
    const { id } = await client.responses.create({
      model: 'test/plain',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: QUESTION, padding }], padding, id: padding },
        { type: 'reasoning', id: 'rs', summary: [], encrypted_content: padding },
        { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search' } },
      ] as unknown as ResponseInputItem[],
    })
    expect((await storedOf(id)).sealedInput!.length).toBeLessThan(1_000)
    const { data } = await client.responses.inputItems.list(id, { order: 'asc' })
    expect(data).toEqual([
      {
        ...{ type: 'message', id: `in_0_${callIdOfResponse(id)}`, status: 'completed', role: 'user' },
        content: [{ type: 'input_text', text: QUESTION }],
      },
      { type: 'reasoning', id: 'rs', summary: [] },
      { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search' } },
    ])
  })

  test('counts like what is sent: its bytes as text of a call, and in the limit of a minute where no call pays', async () => {
    const limited = await stack.account('1.00')
    const mine = new OpenAI({ apiKey: limited.key, baseURL: `${stack.url}/v2`, maxRetries: 0 })
    // Not text that a tokenizer counts as one, and below the limit of one body.
    const text = 'of rail '.repeat(100_000)
    const first = await mine.responses.create({ model: 'test/plain', input: text })
    const tooMuch = {
      model: 'test/plain',
      previous_response_id: first.id,
      input: [{ role: 'user' as const, content: text }],
    }
    await expect(mine.responses.create(tooMuch)).rejects.toMatchObject({ status: 413 })
    const itemId = `in_0_${callIdOfResponse(first.id)}`
    const referring = [{ type: 'item_reference' as const, id: itemId }, ...tooMuch.input]
    await expect(mine.responses.create({ model: 'test/plain', input: referring })).rejects.toMatchObject({
      status: 413,
    })
    const reads = async () => {
      for (let at = 0; at < 20; at++) await mine.responses.inputItems.list(first.id)
    }
    await expect(reads()).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    // Of another account nothing was counted.
    expect(await client.responses.create({ model: 'test/plain', input: 'Hi.' })).toMatchObject({
      store: true,
    })
  })

  test('store is true only if the response was stored: also in a repeat, and false without the table', async () => {
    const body = { model: 'test/plain', input: QUESTION }
    const options = { headers: { 'Idempotency-Key': 'the same' } }
    const first = await client.responses.create(body, options)
    expect(await client.responses.create(body, options)).toEqual(first)
    expect(first).toMatchObject({ store: true })
    await stack.postgres.$executeRaw`ALTER TABLE stored_responses RENAME TO stored_responses_away`
    try {
      const whole = await client.responses.create(body)
      expect(whole).toMatchObject({ status: 'completed', store: false })
      const streamed = await client.responses.stream(body).finalResponse()
      expect(streamed).toMatchObject({ status: 'completed', store: false })
      await expect(client.responses.create({ ...body, background: true })).rejects.toMatchObject({
        status: 503,
      })
    } finally {
      await stack.postgres.$executeRaw`ALTER TABLE stored_responses_away RENAME TO stored_responses`
    }
  })
})

const withoutNumber = ({ sequence_number: _, ...event }: ResponseStreamEvent) => event

describe('a response in background', () => {
  test('is read once it has ended, as a stream too, and continued', async () => {
    const begun = await client.responses.create({ model: 'test/quick', input: QUESTION, background: true })
    expect(begun).toMatchObject({ status: 'queued', background: true, store: true, output: [] })
    await expect(
      client.responses.create({ model: 'test/plain', previous_response_id: begun.id, input: 'More.' }),
    ).rejects.toMatchObject({ status: 400, param: 'previous_response_id' })
    const ended = await until(begun.id, 'completed')
    expect(ended.output_text.split(' ')).toHaveLength(12)
    await client.responses.create({ model: 'test/plain', previous_response_id: begun.id, input: 'More.' })
    const stream = client.responses.stream({ model: 'test/plain', input: QUESTION, background: true })
    const { id } = await stream.finalResponse()
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'completed' })
    await expect(
      client.responses.create({ model: 'test/none', input: QUESTION, background: true }),
    ).rejects.toMatchObject({ status: 404 })
    await expect(
      client.responses.create(
        { model: 'test/plain', input: QUESTION, background: true },
        { headers: { 'Idempotency-Key': 'a' } },
      ),
    ).rejects.toMatchObject({ status: 400, param: 'Idempotency-Key' })
    const failing = await client.responses.create({
      model: 'test/failing',
      input: QUESTION,
      background: true,
    })
    expect(await until(failing.id, 'failed')).toMatchObject({ error: { code: 'all_providers_failed' } })
  })

  test('is cancelled, or deleted, and its call ends; one without an instance reads as failed', async () => {
    const [cancelled, deleted, lost] = await Promise.all(
      [0, 1, 2].map(() => client.responses.create({ model: 'test/slow', input: QUESTION, background: true })),
    )
    expect(await client.responses.cancel(cancelled!.id)).toMatchObject({ status: 'cancelled' })
    expect((await client.responses.retrieve(cancelled!.id)).status).toBe('cancelled')
    await client.responses.delete(deleted!.id)
    await stack.postgres.storedResponse.update({
      where: { callId: callIdOfResponse(lost!.id) },
      data: { runningUntil: new Date(1) },
    })
    expect(await client.responses.retrieve(lost!.id)).toMatchObject({ status: 'failed', output: [] })
    await client.responses.delete(lost!.id)
    await stack.settled(owner.accountId)
    const records = await stack.postgres.callRecord.findMany({
      where: { requestedModel: 'test/slow' },
    })
    expect(records).toHaveLength(3)
    for (const record of records) expect(record.completionTokens).toBeLessThan(400)
    expect(await storedOf(cancelled!.id)).toMatchObject({ runningUntil: null, cancelled: true })
    expect(await stack.command('audit')).toMatchObject({ code: 0 })
  })
})

test('a conversation is compacted to the messages of the user and a summary, which only its account can use', async () => {
  const extended = (key: string) => new OpenAI({ apiKey: key, baseURL: `${stack.url}/v2`, maxRetries: 0 })
  const first = await extended(owner.key).responses.create({ model: 'test/plain', input: QUESTION })
  const compacted = await extended(owner.key).responses.compact({
    model: 'test/echo',
    previous_response_id: first.id,
    input: 'And the one after it?',
  })
  expect(compacted).toMatchObject({
    object: 'response.compaction',
    output: [{ type: 'message' }, { type: 'message' }, { type: 'compaction' }],
  })
  expect(compacted.usage.output_tokens).toBeGreaterThan(first.usage!.output_tokens)
  expect(JSON.stringify(compacted)).not.toContain(first.output_text.slice(0, 30))
  const input = [...(compacted.output as ResponseInputItem[]), { role: 'user' as const, content: 'And?' }]
  const echoed = await extended(owner.key).responses.create({ model: 'test/echo', input })
  expect(echoed.output_text).toContain('And?')
  const { key } = await stack.account('1.00')
  const { response, data } = await extended(key)
    .responses.create({ model: 'test/plain', input })
    .withResponse()
  expect(response.headers.get('x-ignored-parameters')).toBe('input[2].encrypted_content')
  expect(data.usage!.input_tokens).toBeLessThan(echoed.usage!.input_tokens)

  await stack.settled(owner.accountId)
  const record = await stack.postgres.callRecord.findUniqueOrThrow({
    where: { id: callIdOfResponse(compacted.id) },
  })
  expect(record.chargePico).toBeGreaterThan(0n)
})

describe('a WebSocket of /v2/responses', () => {
  const extended = () => new OpenAI({ apiKey: owner.key, baseURL: `${stack.url}/v2`, maxRetries: 0 })

  /** The official library's connection. */
  function connect() {
    const socket = new ResponsesWS(extended())
    onTestFinished(() => socket.close())
    // Errors are read as events.
    socket.on('error', () => undefined)
    return socket
  }

  /** The events of one turn. */
  async function turn(socket: ResponsesWS, body: object): Promise<ResponsesServerEvent[]> {
    const { promise, resolve } = Promise.withResolvers<ResponsesServerEvent[]>()
    const events: ResponsesServerEvent[] = []
    const take = (event: ResponsesServerEvent) => {
      events.push(event)
      if (/^(error|response\.(completed|incomplete|failed))$/.test(event.type)) resolve(events)
    }
    socket.on('event', take)
    socket.send({ type: 'response.create', ...body } as ResponsesClientEvent)
    return promise.finally(() => socket.off('event', take))
  }
  const responseOf = (events: ResponsesServerEvent[]) => (events.at(-1) as ResponseCompletedEvent).response

  test('sends the events of the stream, and continues unstored turns', async () => {
    const socket = connect()
    const body = { model: 'test/plain', tools: [FIND_TRAIN, { type: 'web_search' as const }] }
    const question = { ...body, store: false, input: TOOL_QUESTION }
    const asked = await turn(socket, question)
    const streamed = await eventsOf(await extended().responses.create({ ...question, stream: true }))
    expect(asked.map(({ type }) => type)).toEqual(streamed.map(({ type }) => type))
    expect(asked[0]).toMatchObject({ headers: { 'x-ignored-parameters': 'tools[1] (web_search)' } })

    const [call] = callsOf(responseOf(asked))
    const output = { type: 'function_call_output' as const, call_id: call!.call_id, output: 'Track 7' }
    const history = [{ role: 'user' as const, content: TOOL_QUESTION }, call!, output]
    const again = await extended().responses.create({ ...body, input: history })
    const previous_response_id = responseOf(asked).id
    const answered = await turn(socket, { ...body, previous_response_id, input: [output] })
    expect(responseOf(answered)).toMatchObject({
      ...{ status: 'completed', store: true },
      usage: { input_tokens: again.usage!.input_tokens },
    })
    // The library sends the items of the stored response, which has those before it.
    const stored = await extended().responses.inputItems.list(responseOf(answered).id, { order: 'asc' })
    expect(stored.data.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call_output'])
    const other = await turn(connect(), { ...body, previous_response_id, input: 'And then?' })
    expect(other).toMatchObject([{ type: 'error', error: { code: 'previous_response_not_found' } }])
    const last = await turn(socket, {
      ...{ ...body, previous_response_id: responseOf(answered).id, input: 'And then?' },
    })
    expect(responseOf(last).usage!.input_tokens).toBeGreaterThan(again.usage!.input_tokens)
  })

  test('is refused without a key, and its call is cancelled when its client leaves', async () => {
    const url = `${stack.url.replace('http', 'ws')}/v2/responses`
    const [, refused] = (await once(new WebSocket(url), 'unexpected-response')) as [unknown, IncomingMessage]
    expect(refused.statusCode).toBe(401)
    expect(JSON.parse(await text(refused))).toMatchObject({ error: { code: 'missing_api_key' } })

    const socket = connect()
    const first = new Promise<void>((resolve) => socket.once('response.output_text.delta', () => resolve()))
    socket.send({ type: 'response.create', model: 'test/slow', input: QUESTION } as ResponsesClientEvent)
    await first
    socket.close()
    await stack.settled(owner.accountId)
    const { status } = await stack.postgres.callRecord.findFirstOrThrow({
      where: { accountId: owner.accountId },
      orderBy: { id: 'desc' },
    })
    expect(status).toBe('cancelled')
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

  test('cached tokens cost their own rate on extended calls, whose usage has the cost', async () => {
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
    for (const id of [response.id, callIdOfResponse(response.id)]) expect(await settled(id)).toEqual(charged)
    expect(await settled(stable.id)).toEqual({ cost_usd: cost(stable.usage!, 0), cached })
    expect(await stack.command('audit')).toMatchObject({ code: 0 })
  })
})
