import Anthropic, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const wire = 'anthropic-messages' as const
const QUESTION = [{ role: 'user' as const, content: 'Tell me about rail yards.' }]
const TOOLS = ['find_train', 'book_seat'].map((name) => ({
  name,
  description: 'About trains.',
  input_schema: {
    type: 'object' as const,
    properties: { town: { type: 'string' }, platform: { type: 'integer' } },
  },
}))
/** Words by which the simulated providers name themselves, their models and their ids. */
const UPSTREAM = /delta|epsilon|theta|sim-|words-|upstream|call_/

let key: string
let accountId: string
let client: Anthropic

const stack = testStack({
  models: {
    'test/plain': [{ at: 'delta', model: 'words-12', wire }],
    'test/thinks': { reasoning: true, offers: [{ at: 'delta', model: 'words-60.reasoning-9', wire }] },
    'test/whole': [{ at: 'delta', model: 'words-12.ignore-stream.reasoning-3', wire }],
    'test/paced': [{ at: 'delta', model: 'words-2000.rate-40', wire }],
    'test/failover': [
      { at: 'delta', model: 'words-12.status-503.tag-failover', wire, priority: 1 },
      { at: 'epsilon', model: 'words-12.tag-failover', wire },
      { at: 'alpha', model: 'words-12' },
    ],
    'test/cut': [
      { at: 'delta', model: 'words-12.cut-after-5', wire, priority: 1 },
      { at: 'epsilon', model: 'words-12.tag-cut', wire },
    ],
    'test/refusing': [{ at: 'zeta', model: 'status-400.tag-refusing', wire }],
    'test/failing': [{ at: 'eta', model: 'status-500.tag-failing', wire }],
    'test/hidden': [{ at: 'theta', model: 'words-12.tag-hidden', wire }],
    'test/chat-only': [{ at: 'alpha', model: 'words-12' }],
  },
  environment: { BREAKER_FAILURES: '1000' },
})
const owner = testAccount(stack, '20.00')
beforeAll(() => {
  ;({ key, accountId } = owner)
  client = clientOf({ apiKey: key })
})
afterEach(() => expectLedgerInOrder(stack))

/** The library as it comes, with its own retries off. */
const clientOf = (options: ConstructorParameters<typeof Anthropic>[0]) =>
  new Anthropic({ baseURL: stack.url, maxRetries: 0, authToken: null, apiKey: null, ...options })

const ask = (model: string, more: object = {}) =>
  client.messages.create({ model, max_tokens: 500, messages: QUESTION, ...more, stream: false })

const failureOf = async (call: PromiseLike<unknown>): Promise<APIError> => {
  const failure = await Promise.resolve(call).then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(APIError)
  return failure as APIError
}

const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

const lastRecord = async () => {
  await untilIdle(stack)
  return stack.postgres.callRecord.findFirstOrThrow({ orderBy: { id: 'desc' } })
}

describe('the client library of the messages wire', () => {
  test('gets a whole message, charged like any call', async () => {
    const message = await ask('test/plain')
    expect(message).toMatchObject({
      id: expect.stringMatching(/^msg_[0-9A-Z]{26}$/),
      type: 'message',
      role: 'assistant',
      model: 'test/plain',
      stop_reason: 'end_turn',
      stop_sequence: null,
    })
    expect(textOf(message).split(' ')).toHaveLength(12)
    expect(message._request_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(JSON.stringify(message)).not.toMatch(UPSTREAM)
    const record = await lastRecord()
    const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = message.usage
    expect(record).toMatchObject({
      id: message.id.replace('msg_', 'chatcmpl_'),
      accountId,
      status: 'completed',
      promptTokens: input + (cached ?? 0),
      completionTokens: output,
      chargePico: BigInt(input + (cached ?? 0) + 2 * output) * 1_000_000n,
    })
  })

  test('streams native events, thinking and its signature among them', async () => {
    const types: string[] = []
    const stream = client.messages.stream({ model: 'test/thinks', max_tokens: 500, messages: QUESTION })
    stream.on('streamEvent', ({ type }) => types.push(type))
    const streamed = await stream.finalMessage()
    expect(types[0]).toBe('message_start')
    expect(types.slice(-2)).toEqual(['message_delta', 'message_stop'])
    expect(streamed.content).toEqual([
      { type: 'thinking', thinking: expect.stringMatching(/./), signature: expect.stringMatching(/./) },
      { type: 'text', text: expect.any(String) },
    ])
    expect(JSON.stringify(streamed)).not.toMatch(UPSTREAM)
    const { id: _, _request_id, ...whole } = await ask('test/thinks')
    expect(streamed).toMatchObject(whole)
  })

  test('gets the same where a provider sends the whole message at once', async () => {
    const stream = client.messages.stream({ model: 'test/whole', max_tokens: 500, messages: QUESTION })
    const streamed = await stream.finalMessage()
    expect(streamed.content).toEqual((await ask('test/whole')).content)
    expect(streamed.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
  })

  test('runs a tool loop of several turns, with thinking in its history', async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: 'Use find_train to "Basel" from platform 7.' },
    ]
    const results = ['07:04 on platform 7, now book_seat in "Bern"', 'seat 12 is booked']
    const used: unknown[] = []
    for (;;) {
      const stream = client.messages.stream({ model: 'test/thinks', max_tokens: 500, messages, tools: TOOLS })
      const message = await stream.finalMessage()
      messages.push({ role: 'assistant', content: message.content })
      const uses = message.content.filter((block) => block.type === 'tool_use')
      if (uses.length === 0) break
      expect(message.stop_reason).toBe('tool_use')
      used.push(...uses.map(({ name, input }) => ({ name, input })))
      for (const { id } of uses) expect(id).toMatch(/^toolu_[A-Za-z0-9]+$/)
      messages.push({
        role: 'user',
        content: uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: results.shift()! })),
      })
    }
    expect(used).toEqual([
      { name: 'find_train', input: { town: 'Basel', platform: 7 } },
      { name: 'book_seat', input: { town: 'Bern', platform: 7 } },
    ])
    expect(messages).toHaveLength(6)
    expect(JSON.stringify(messages.at(-1))).toContain('seat 12 is booked')
  })

  test('sends what coding agents send: edits of the context, turns of the system, betas, a high limit', async () => {
    const { key: poorKey } = await stack.account('0.001')
    const headers = { 'anthropic-beta': 'claude-code-20250219,context-1m-2025-08-07,unknown-2025-01-01' }
    const { data: message, response } = await clientOf({ apiKey: poorKey })
      .messages.create(
        {
          model: 'words-12',
          max_tokens: 20_000,
          messages: [...QUESTION, { role: 'system', content: 'Answer shortly.' }],
          context_management: {
            edits: [
              { type: 'clear_thinking_20251015', keep: 'all' },
              { type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } },
            ],
          },
        } as unknown as Anthropic.MessageCreateParamsNonStreaming,
        { headers },
      )
      .withResponse()
    expect(message).toMatchObject({ model: 'words-12', stop_reason: 'end_turn' })
    const limit = Number(response.headers.get('x-completion-limit'))
    expect(limit).toBeGreaterThan(12)
    expect(limit).toBeLessThan(20_000)
    const sent = stack.providers.log.requests.at(-1)!
    expect(sent.headers['anthropic-beta']).toBe('claude-code-20250219,context-management-2025-06-27')
    expect(sent.body).toMatchObject({
      max_tokens: limit,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: QUESTION[0]!.content },
            { type: 'text', text: 'Answer shortly.' },
          ],
        },
      ],
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    })
  })

  test('stops the upstream when it aborts, and pays for what was produced', async () => {
    const stream = client.messages.stream({ model: 'test/paced', max_tokens: 2_000, messages: QUESTION })
    let pieces = 0
    stream.on('text', () => {
      if (++pieces === 5) stream.abort()
    })
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(APIUserAbortError)
    await stack.providers.log.abortedBy(({ model }) => model === 'words-2000.rate-40')
    const record = await lastRecord()
    expect(record).toMatchObject({ status: 'cancelled', usageSource: 'counted' })
    expect(record.completionTokens).toBeGreaterThanOrEqual(5)
    expect(record.completionTokens).toBeLessThan(1_000)
    expect(record.chargePico).toBeGreaterThan(0n)
  })

  test('never sees a provider that fails before its first content', async () => {
    const message = await ask('test/failover')
    expect(textOf(message).split(' ')).toHaveLength(12)
    const { attempts } = await lastRecord()
    expect(attempts).toMatchObject([
      { offerId: expect.stringMatching(/^delta/), outcome: 'server-error' },
      { offerId: expect.stringMatching(/^epsilon/), outcome: 'ok' },
    ])
    expect(textOf(await ask('test/cut')).split(' ')).toHaveLength(12)
  })

  test('the messages client library reports a broken stream and gets no end of the message', async () => {
    const types: string[] = []
    const stream = client.messages.stream({ model: 'test/cut', max_tokens: 500, messages: QUESTION })
    stream.on('streamEvent', ({ type }) => types.push(type))
    const failure = await failureOf(stream.finalMessage())
    expect(failure).toMatchObject({ type: 'api_error', error: { error: { code: 'all_providers_failed' } } })
    expect(types.slice(0, 3)).toEqual(['message_start', 'content_block_start', 'content_block_delta'])
    expect(types).not.toContain('message_delta')
    expect(types).not.toContain('message_stop')
    expect(await lastRecord()).toMatchObject({ status: 'interrupted', errorCode: 'all_providers_failed' })
  })

  test('gets the same answer again for an Idempotency-Key, and is charged once', async () => {
    const headers = { 'idempotency-key': 'again' }
    const call = { model: 'test/thinks', max_tokens: 500, messages: QUESTION }
    const first = await client.messages.stream(call, { headers }).finalMessage()
    expect(await client.messages.stream(call, { headers }).finalMessage()).toEqual(first)
    await untilIdle(stack)
    const id = first.id.replace('msg_', 'chatcmpl_')
    expect(await stack.postgres.callRecord.count({ where: { id } })).toBe(1)
    expect(await lastRecord()).toMatchObject({ id })
    // The same body asks something else of another surface.
    const elsewhere = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...call, stream: true }),
    })
    expect(elsewhere.status).toBe(409)
  })

  test('uses auto, which stays hidden', async () => {
    const message = await ask('auto', { provider: { only: ['theta'] } })
    expect(message.model).toBe('auto')
    expect(JSON.stringify(message)).not.toMatch(UPSTREAM)
    expect(await lastRecord()).toMatchObject({ requestedModel: 'auto', status: 'completed' })
  })
})

describe('errors have the classes of the library', () => {
  test.each<[string, () => PromiseLike<unknown>, unknown, object]>([
    [
      'a key that does not exist',
      () => clientOf({ apiKey: 'sk-sy-none' }).messages.create({ ...CALL }),
      AuthenticationError,
      { status: 401, type: 'authentication_error' },
    ],
    [
      'a token limit below one',
      () => ask('test/plain', { max_tokens: 0 }),
      BadRequestError,
      { status: 400, type: 'invalid_request_error', error: { error: { param: 'max_tokens' } } },
    ],
    [
      'a tool that the provider would run',
      () => ask('test/plain', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
      BadRequestError,
      { error: { error: { code: 'invalid_request', param: 'tools[0].type' } } },
    ],
    [
      'an edit of the context whose cost is not known',
      () => ask('test/plain', { context_management: { edits: [{ type: 'compact_20260112' }] } }),
      BadRequestError,
      { error: { error: { code: 'invalid_request', param: 'context_management.edits[0].type' } } },
    ],
    [
      'a conversation that the server would keep',
      () => ask('test/plain', { thread: { type: 'create' } }),
      Anthropic.ThreadUnsupportedRequestError,
      { status: 400, error: { error: { param: 'thread', message: expect.stringContaining('`messages`') } } },
    ],
    [
      'a refusal of the provider',
      () => ask('test/refusing'),
      BadRequestError,
      { type: 'invalid_request_error' },
    ],
    [
      'an unknown model',
      () => ask('test/none'),
      NotFoundError,
      { status: 404, type: 'not_found_error', error: { error: { code: 'model_not_found' } } },
    ],
    [
      'a model that no target of the wire serves',
      () => ask('test/chat-only'),
      NotFoundError,
      { error: { error: { code: 'surface_unavailable' } } },
    ],
    [
      'a provider that fails',
      () => ask('test/failing'),
      InternalServerError,
      { status: 502, type: 'api_error' },
    ],
  ])('%s', async (_, call, kind, expected) => {
    const failure = await failureOf(call())
    expect(failure).toBeInstanceOf(kind)
    expect(failure).toMatchObject(expected)
    expect(JSON.stringify(failure.error)).not.toMatch(UPSTREAM)
  })

  test('a balance that does not suffice, and a limit per minute', async () => {
    const poor = clientOf({ apiKey: (await stack.account('0.000001')).key })
    const unpaid = await failureOf(poor.messages.create(CALL))
    expect(unpaid).toMatchObject({ status: 402, type: 'billing_error' })
    expect(unpaid.error).toMatchObject({
      type: 'error',
      error: { code: 'insufficient_balance', metadata: { affordable_max_tokens: 0 } },
      request_id: unpaid.requestID,
    })
    const limited = clientOf({ apiKey: (await stack.account('1.00', { requestsPerMinute: 1 })).key })
    await limited.messages.create(CALL)
    const failure = await failureOf(limited.messages.create(CALL))
    expect(failure).toBeInstanceOf(RateLimitError)
    expect(failure.headers?.get('retry-after')).toMatch(/^\d+$/)
  })
})

const CALL = { model: 'test/plain', max_tokens: 9, messages: QUESTION }

describe('keys', () => {
  const post = (path: string, headers: Record<string, string>, body: object = CALL) =>
    fetch(stack.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })

  test('come in x-api-key or as a bearer token, and may not differ', async () => {
    const bearer = { authorization: `Bearer ${key}` }
    expect(await clientOf({ authToken: key }).messages.create(CALL)).toMatchObject({ type: 'message' })
    expect((await post('/v1/messages', { ...bearer, 'x-api-key': key })).status).toBe(200)
    const differing = await post('/v1/messages', { ...bearer, 'x-api-key': 'sk-sy-other' })
    expect(differing.status).toBe(401)
    expect(differing.headers.get('www-authenticate')).toBe('Bearer')
    expect(await differing.json()).toMatchObject({ type: 'error', error: { code: 'invalid_api_key' } })
  })

  test('of Claude Code at a model of another wire get a text that it shows', async () => {
    const client = clientOf({
      apiKey: key,
      defaultHeaders: { 'user-agent': 'claude-cli/2.1.400 (external, cli)' },
    })
    expect(await failureOf(client.messages.create({ ...CALL, model: 'test/chat-only' }))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining('Let ANTHROPIC_BASE_URL end in /v2'),
    })
  })

  test.each(['/v1/chat/completions', '/v1/models'])('in x-api-key open nothing else: %s', async (path) => {
    const response = await post(path, { 'x-api-key': key })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: { code: 'missing_api_key' } })
  })

  test('count tokens once the surface is opened to them', async () => {
    const { key: granted, keyId } = await stack.account('1.00')
    const counting = clientOf({ apiKey: granted })
    const count = { model: 'test/plain', messages: QUESTION, system: 'Be brief.', tools: TOOLS }
    const closed = await failureOf(counting.messages.countTokens(count))
    expect(closed.error).toMatchObject({ error: { code: 'surface_unavailable' } })
    await stack.command('admin', 'surface', 'open', 'messages.count-tokens', '--key', keyId)
    await expect
      .poll(() => counting.messages.countTokens(count).catch(() => null), { timeout: 10_000 })
      .toEqual({ input_tokens: expect.any(Number) })
    const short = await counting.messages.countTokens({ model: 'auto', messages: QUESTION })
    expect(short.input_tokens).toBe(13)
    expect((await counting.messages.countTokens(count)).input_tokens).toBeGreaterThan(50)
    expect(await failureOf(counting.messages.countTokens({ ...count, model: 'none' }))).toMatchObject({
      status: 404,
      type: 'not_found_error',
    })
  })
})
