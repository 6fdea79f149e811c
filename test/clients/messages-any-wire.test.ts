import Anthropic, { APIUserAbortError, NotFoundError } from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Wire } from '../../src/core/catalog/catalog.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { PLAIN_WIRES } from '../helpers/wires.ts'

const QUESTION = [{ role: 'user' as const, content: 'Tell me about rail yards.' }]
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SCHEMA = {
  type: 'object' as const,
  properties: { town: { type: 'string' }, platform: { type: 'integer' } },
}
const NAMES = ['find_train', 'book_seat']
const TOOLS = NAMES.map((name) => ({ name, description: 'About trains.', input_schema: SCHEMA }))

const stack = testStack({
  models: Object.fromEntries(
    PLAIN_WIRES.flatMap((wire) => {
      const at = (name: string) => `${name}${wire.slice(0, 4)}`
      const offered = (name: string, model: string) => ({
        input_modalities: ['text', 'image'],
        reasoning: true,
        offers: [{ at: at(name), model, wire }],
      })
      return [
        [`${wire}/plain`, offered('p', 'words-12')],
        [`${wire}/thinks`, offered('t', 'words-60.reasoning-9')],
        [`${wire}/paced`, offered('s', 'words-2000.rate-40')],
        [`${wire}/failing`, offered('f', 'status-500')],
      ]
    }),
  ),
  environment: { BREAKER_FAILURES: '1000' },
})
const owner = testAccount(stack, '20.00')
let client: Anthropic
let chat: OpenAI
beforeAll(() => {
  client = new Anthropic({ baseURL: `${stack.url}/v2`, apiKey: owner.key, authToken: null, maxRetries: 0 })
  chat = new OpenAI({ baseURL: `${stack.url}/v2`, apiKey: owner.key, maxRetries: 0 })
})
afterAll(() => expectLedgerInOrder(stack))

const lastSent = () => stack.providers.log.requests.at(-1)!.body as Record<string, unknown>
const lastRecord = async () => {
  await untilIdle(stack)
  return stack.postgres.callRecord.findFirstOrThrow({ orderBy: { id: 'desc' } })
}

describe.each(PLAIN_WIRES)('the client library of the messages wire and a model on the wire %s', (wire) => {
  /** That wire has no stop sequences, and no limit below 16 tokens. */
  const isResponses = wire === 'responses'
  const ask = (model: string, more: object = {}) =>
    client.messages.create({
      model: `${wire}/${model}`,
      max_tokens: 500,
      messages: QUESTION,
      ...more,
      stream: false,
    })

  test('a message, whole and as a stream of one block after another, is the same and charged', async () => {
    const whole = await ask('thinks')
    expect(whole).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
    expect(whole.content).toMatchObject([
      { type: 'thinking', thinking: expect.stringMatching(/./) },
      { type: 'text', text: expect.stringMatching(/./) },
    ])
    const { input_tokens: input, cache_read_input_tokens: cached } = whole.usage
    expect(await lastRecord()).toMatchObject({
      promptTokens: input + (cached ?? 0),
      completionTokens: whole.usage.output_tokens,
      status: 'completed',
    })
    const types: string[] = []
    const stream = client.messages.stream({
      model: `${wire}/thinks`,
      max_tokens: 500,
      messages: QUESTION,
    })
    stream.on('streamEvent', ({ type }) => types.at(-1) !== type && types.push(type))
    const streamed = await stream.finalMessage()
    const block = ['content_block_start', 'content_block_delta', 'content_block_stop']
    expect(types).toEqual(['message_start', ...block, ...block, 'message_delta', 'message_stop'])
    expect(streamed.content).toEqual(whole.content)
    expect(streamed.usage).toMatchObject({ output_tokens: whole.usage.output_tokens })
    const limited = await ask('plain', { max_tokens: 1 })
    expect(limited.stop_reason).toBe(isResponses ? 'end_turn' : 'max_tokens')
  })

  test('the stop sequence that ended a completion is named where the provider names it', async () => {
    const [part] = (await ask('plain')).content
    const [, second] = (part as Anthropic.TextBlock).text.split(' ')
    const stopping = { stop_sequences: ['zebra', second!] }
    if (isResponses) {
      await expect(ask('plain', stopping)).rejects.toMatchObject({ status: 422 })
      return
    }
    const stop =
      wire === 'chat-completions'
        ? { stop_reason: 'stop_sequence', stop_sequence: second }
        : { stop_reason: expect.any(String), stop_sequence: null }
    expect(await ask('plain', stopping)).toMatchObject(stop)
    const stream = client.messages.stream({
      model: `${wire}/plain`,
      max_tokens: 500,
      messages: QUESTION,
      ...stopping,
    })
    expect(await stream.finalMessage()).toMatchObject(stop)
  })

  test('what the wire of the target has no field for is named', async () => {
    const text = { type: 'text' as const, text: 'Hi', citations: [{ type: 'any' } as never] }
    const messages = [{ role: 'user' as const, content: [text], name: 'clerk' }]
    const { response } = await client.messages
      .create({ model: `${wire}/plain`, max_tokens: 9, messages, stream: false })
      .withResponse()
    const named = wire === 'anthropic-messages' ? null : 'messages.content.citations, messages.name'
    expect(response.headers.get('x-ignored-parameters')).toBe(named)
  })

  test('a tool loop of five turns ends, with thinking and an image in its history', async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: 'Use find_train to "Basel" from platform 7.' },
    ]
    const results = [1, 0, 1, 0].map((next) => `07:04 on platform 7, now ${NAMES[next]} in "Bern"`)
    for (let turn = 1; ; turn++) {
      const stream = client.messages.stream({
        model: `${wire}/thinks`,
        max_tokens: 5_000,
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        thinking: { type: 'enabled', budget_tokens: 2_000 },
        messages,
        tools: TOOLS,
      })
      const message = await stream.finalMessage()
      messages.push({ role: 'assistant', content: message.content })
      const uses = message.content.filter((part) => part.type === 'tool_use')
      if (uses.length === 0) {
        expect(turn).toBe(6)
        expect(message.stop_reason).toBe('end_turn')
        break
      }
      expect(message.stop_reason).toBe('tool_use')
      expect(uses[0]!.input).toEqual({ town: turn === 1 ? 'Basel' : 'Bern', platform: 7 })
      const image = { type: 'base64' as const, media_type: 'image/png' as const, data: PIXEL }
      messages.push({
        role: 'user',
        content: uses.map(({ id }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: [
            { type: 'text', text: results.shift() ?? 'all is booked' },
            ...(turn === 2 ? [{ type: 'image' as const, source: image }] : []),
          ],
        })),
      })
    }
    expect(JSON.stringify(lastSent())).toContain(PIXEL)
  })

  test('the tool runner continues without a thread and sends the whole history', async () => {
    const results = ['07:04 on platform 7, now book_seat in "Bern"', 'seat 12 is booked']
    const final = await client.beta.messages.toolRunner({
      model: `${wire}/plain`,
      max_tokens: 500,
      messages: [{ role: 'user', content: 'Use find_train to "Basel" from platform 7.' }],
      tools: TOOLS.map((tool) => ({
        ...tool,
        run: () => results.shift()!,
        parse: (input: unknown) => input,
      })),
    })
    expect(JSON.stringify(final.content)).toContain('seat 12 is booked')
    expect(JSON.stringify(lastSent())).toContain('07:04 on platform 7')
  })

  test('an abort stops the upstream, and errors have the shape of the wire', async () => {
    const stream = client.messages.stream({ model: `${wire}/paced`, max_tokens: 2_000, messages: QUESTION })
    let pieces = 0
    stream.on('text', () => {
      if (++pieces === 5) stream.abort()
    })
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(APIUserAbortError)
    expect(await lastRecord()).toMatchObject({
      status: 'cancelled',
      usageSource: expect.stringMatching(/^(counted|estimated)$/),
    })
    await expect(ask('failing')).rejects.toMatchObject({ status: 502, type: 'api_error' })
    const unknown = await ask('none').catch((error: unknown) => error)
    expect(unknown).toBeInstanceOf(NotFoundError)
    expect(unknown).toMatchObject({ error: { type: 'error', error: { code: 'model_not_found' } } })
  })

  test('the same conversation as a chat makes the same request of the provider', async () => {
    const id = 'call_1'
    const url = `data:image/png;base64,${PIXEL}`
    const common = { model: `${wire}/plain`, temperature: 0.5, top_p: 0.9 }
    await client.messages.create({
      ...common,
      max_tokens: 77,
      ...(!isResponses && { stop_sequences: ['END'] }),
      tools: TOOLS,
      tool_choice: { type: 'any' },
      system: 'Be brief.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id, name: 'find_train', input: { town: 'Basel' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '07:04' }] },
        { role: 'assistant', content: 'At 07:04.' },
        { role: 'user', content: 'Thanks.' },
      ],
    })
    const sent = lastSent()
    await chat.chat.completions.create({
      ...common,
      max_completion_tokens: 77,
      ...(!isResponses && { stop: ['END'] }),
      tools: TOOLS.map(({ input_schema: parameters, ...tool }) => ({
        type: 'function',
        function: { ...tool, parameters },
      })),
      tool_choice: 'required',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url } },
          ],
        },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [
            { id, type: 'function', function: { name: 'find_train', arguments: '{"town":"Basel"}' } },
          ],
        },
        { role: 'tool', tool_call_id: id, content: '07:04' },
        { role: 'assistant', content: 'At 07:04.' },
        { role: 'user', content: 'Thanks.' },
      ],
    })
    expect(asBlocks(sent, wire)).toEqual(asBlocks(lastSent(), wire))
  })
})

/** On the messages wire a text is the same as one text block; the client's own form is relayed there. */
function asBlocks(body: Record<string, unknown>, wire: Wire): Record<string, unknown> {
  if (wire !== 'anthropic-messages') return body
  const messages = (body.messages as Array<{ content: unknown }>).map((message) => ({
    ...message,
    content:
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content,
  }))
  return { ...body, messages }
}

describe('counts', () => {
  const count = (model: string, more: object = {}) =>
    client.messages.countTokens({ model, messages: QUESTION, ...more }).withResponse()

  test('are an upper bound, and never less than what a model reports', async () => {
    const { data, response } = await count('chat-completions/plain', { system: 'Be brief.', tools: TOOLS })
    expect(response.headers.get('x-token-count')).toBe('upper-bound')
    const { usage } = await client.messages.create({
      model: 'chat-completions/plain',
      max_tokens: 9,
      messages: QUESTION,
      system: 'Be brief.',
      tools: TOOLS,
    })
    expect(data.input_tokens).toBeGreaterThanOrEqual(usage.input_tokens)
    expect((await count('auto')).response.headers.get('x-token-count')).toBe('upper-bound')
    await expect(count('none')).rejects.toMatchObject({ status: 404, type: 'not_found_error' })
  })
})

describe('clients of the messages wire under /v2', () => {
  const asClient = (path: string, { key = owner.key, ...init }: RequestInit & { key?: string } = {}) =>
    fetch(stack.url + path, {
      ...init,
      headers: { 'anthropic-version': '2023-06-01', 'content-type': 'application/json', 'x-api-key': key },
    })
  const message = { model: 'chat-completions/plain', max_tokens: 9, messages: QUESTION }

  test.each([
    ['an unknown key', 'POST', '/v2/messages', 401, 'authentication_error', { key: 'sk-sy-none' }],
    ['another method', 'GET', '/v2/v1/messages', 405, 'invalid_request_error', {}],
    ['a path of the wire that is missing', 'POST', '/v2/v1/messages/batches', 404, 'not_found_error', {}],
    ['any other path', 'GET', '/v2/v1/files', 404, 'not_found_error', {}],
    ['an unknown model', 'GET', '/v2/v1/models/none', 404, 'not_found_error', {}],
    ['broken JSON', 'POST', '/v2/messages/count_tokens', 400, 'invalid_request_error', { body: '{' }],
  ])('get the error of %s in the format of the wire', async (_, method, path, status, type, init) => {
    const response = await asClient(path, { method, ...init })
    expect(response.status).toBe(status)
    const id = response.headers.get('request-id')
    expect(await response.json()).toMatchObject({ type: 'error', error: { type }, request_id: id })
  })

  test('get models in its format, page by page, and may probe with HEAD', async () => {
    const ids: string[] = []
    for await (const { id, type, max_input_tokens } of client.models.list({ limit: 5 })) {
      expect([type, max_input_tokens]).toEqual(['model', id === 'auto' ? null : 100_000])
      ids.push(id)
    }
    expect(ids).toHaveLength(PLAIN_WIRES.length * 4 + (ids.includes('auto') ? 1 : 0))
    expect(await client.models.retrieve('chat-completions/plain')).toMatchObject({
      type: 'model',
      display_name: 'chat-completions/plain',
    })
    expect((await asClient('/v2/v1/models', { method: 'HEAD' })).status).toBe(200)
    await expect(client.models.list({ after_id: 'none' })).rejects.toMatchObject({ status: 400 })
    const plain = await fetch(`${stack.url}/v2/models`, { headers: { authorization: `Bearer ${owner.key}` } })
    expect(await plain.json()).toMatchObject({ object: 'list' })
  })

  test('other clients under /v2 need a bearer key and get the error body of all routes', async () => {
    const refused = await fetch(`${stack.url}/v2/models`, { headers: { 'x-api-key': owner.key } })
    expect(refused.status).toBe(401)
    expect(await refused.json()).toMatchObject({ error: { code: 'missing_api_key' } })
  })

  test('more stop sequences than a target takes are a 422 that names them', async () => {
    const stop_sequences = ['a1', 'b1', 'c1', 'd1', 'e1']
    const ask = (body: object) =>
      asClient('/v2/messages', { method: 'POST', body: JSON.stringify({ ...message, ...body }) })
    const refused = await ask({ stop_sequences })
    expect(refused.status).toBe(422)
    expect(await refused.json()).toMatchObject({ type: 'error', error: { param: 'stop_sequences' } })
    expect((await ask({ stop_sequences, model: 'anthropic-messages/plain' })).status).toBe(200)
    expect(lastSent()).toMatchObject({ stop_sequences })
    const ignored = await ask({ stop_sequences, provider: { require_parameters: false } })
    expect(ignored.status).toBe(200)
    expect(lastSent()).toMatchObject({ stop: stop_sequences.slice(0, 4) })
  })

  test('tools with names that the target refuses are called by their own names', async () => {
    const name = `mcp__trains__${'find_a_train_'.repeat(6)}now`
    for (const wire of ['chat-completions', 'google-generate-content']) {
      const { content } = await client.messages.create({
        model: `${wire}/plain`,
        max_tokens: 99,
        messages: QUESTION,
        tools: [{ name, input_schema: SCHEMA }],
        tool_choice: { type: 'tool', name },
      })
      expect(content).toMatchObject([{ type: 'tool_use', name }])
      expect(JSON.stringify(lastSent())).not.toContain(name)
    }
  })
})
