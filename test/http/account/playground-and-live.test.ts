import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import type { CallSessionDetail, CallSessionList } from '../../../src/core/api/call-sessions.ts'
import type { AccountCall, CallDetail } from '../../../src/core/api/calls.ts'
import type { CreatedKey, KeyView } from '../../../src/core/api/keys.ts'
import type { LiveBalance, SessionView } from '../../../src/core/api/sessions.ts'
import { formatUsd, parseUsd, picoUsd } from '../../../src/core/kernel/money.ts'
import { type ConsoleClient, consoleClient, PASSWORD, signedUp } from '../../helpers/console-client.ts'
import { eventually, onBusyMachine } from '../../helpers/eventually.ts'
import { expectAbsent, postgresText, redisText } from '../../helpers/everything-stored.ts'
import { expectLedgerInOrder } from '../../helpers/ledger.ts'
import { testStack } from '../../helpers/resources.ts'
import { startStack } from '../../helpers/stack.ts'
import { expectError, readStream } from '../wire.ts'

const PROMPT = `prompt-${randomBytes(12).toString('hex')}`
const MESSAGES = [{ role: 'user', content: PROMPT }]

const logLines: string[] = []

const stack = testStack({
  models: {
    'test/one': [{ at: 'alpha', model: 'words-12' }],
    'test/slow': [{ at: 'alpha', model: 'words-2000.rate-40' }],
    'test/vectors': {
      kind: 'embeddings',
      dimensions: 8,
      list_price: { prompt: '1.06', completion: '0' },
      rate: { prompt: '1.00', completion: '0' },
      offers: [{ at: 'alpha', model: 'dimensions-8', cost: '0' }],
    },
  },
  logger: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
})

async function withKey(body: Record<string, unknown> = { name: 'playground' }) {
  const client = await signedUp(stack.url)
  const created = await client.json<CreatedKey>('/console/api/keys', { body })
  const { account } = await client.json<SessionView>('/console/api/session')
  return { client, secret: created.secret, keyId: created.key.id, accountId: account.id }
}

const play = (
  client: ConsoleClient,
  keyId: string,
  more: Record<string, unknown> = {},
  signal?: AbortSignal,
) =>
  client.ask(`/console/api/playground/chat-completions?key_id=${keyId}`, {
    body: { model: 'test/one', messages: MESSAGES, stream: true, ...more },
    ...(signal && { signal }),
  })

describe('the playground', () => {
  test('streams as the API does, charges as the API does, and names the call', async () => {
    const { client, keyId, accountId } = await withKey()
    const response = await play(client, keyId)
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const stream = readStream(await response.text())
    expect(stream.isDone).toBe(true)
    expect(response.headers.get('x-call-id')).toBe(stream.last.id)
    await stack.settled(accountId)
    const detail = await client.json<CallDetail>(`/console/api/calls/${stream.last.id}`)
    expect(detail).toMatchObject({
      key_id: keyId,
      status: 'completed',
      usage: stream.last.usage!,
    })
    const { balance } = await client.json<SessionView>('/console/api/session')
    expect(balance.balance_usd).toBe(formatUsd(picoUsd(parseUsd('0.50') - parseUsd(detail.cost_usd))))
    await expectLedgerInOrder(stack)
  })

  test('answers whole where no stream is asked for', async () => {
    const { client, keyId } = await withKey()
    const response = await play(client, keyId, { stream: false })
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      id: response.headers.get('x-call-id'),
    })
  })

  test('holds to the limits of the key, and refuses a revoked one', async () => {
    const { client, keyId } = await withKey({ name: '', limit_usd: '0.000001' })
    await expectError(await play(client, keyId), 402, 'key_limit_exceeded')
    await client.ask(`/console/api/keys/${keyId}/revoke`, { method: 'POST' })
    await expectError(await play(client, keyId), 403, 'key_revoked')
  })

  test('refuses what the API refuses, with the same error', async () => {
    const { client, keyId } = await withKey()
    await expectError(await play(client, keyId, { model: 'test/none' }), 404, 'model_not_found')
    expect(
      (await expectError(await play(client, keyId, { messages: [] }), 400, 'invalid_request')).param,
    ).toBe('messages')
    const unnamed = await client.ask('/console/api/playground/chat-completions', {
      body: { model: 'test/one', messages: MESSAGES },
    })
    expect((await expectError(unnamed, 400, 'invalid_request')).param).toBe('key_id')
  })

  test('speaks the extended contract, with tools and what the call cost', async () => {
    const { client, keyId, accountId } = await withKey()
    const tool = { type: 'function', function: { name: 'set_points', parameters: { type: 'object' } } }
    const asked = {
      model: 'test/one',
      messages: [{ role: 'user', content: 'Use set_points.' }],
      tools: [tool],
    }
    const response = await client.ask(`/console/api/playground/chat-completions.extended?key_id=${keyId}`, {
      body: asked,
    })
    const whole = (await response.json()) as ExtendedCompletion
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'set_points' } }] },
    })
    await stack.settled(accountId)
    const detail = await client.json<CallDetail>(`/console/api/calls/${whole.id}`)
    expect(whole.usage.cost_usd).toBe(detail.cost_usd)
  })

  test('has no surface besides chat, also for keys that an operator opened others to', async () => {
    const { client, keyId, accountId } = await withKey()
    await stack.command('admin', 'surface', 'open', 'embeddings', '--account', accountId)
    const body = { model: 'test/vectors', input: 'points' }
    const path = `/console/api/playground/embeddings?key_id=${keyId}`
    await expectError(await client.ask(path, { body }), 404, 'surface_unavailable')
  })

  test('makes no call for a page of another site', async () => {
    const { client, keyId } = await withKey()
    const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const path = `/console/api/playground/chat-completions?key_id=${keyId}`
    const response = await fetch(stack.url + path, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' },
      body: JSON.stringify({ model: 'test/one', messages: MESSAGES }),
    })
    await expectError(response, 403, 'not_permitted')
  })

  test('stops the call when the browser leaves, and charges what was said until then', async () => {
    const { client, keyId, accountId } = await withKey()
    const leave = new AbortController()
    const response = await play(client, keyId, { model: 'test/slow' }, leave.signal)
    await response.body!.getReader().read()
    leave.abort()
    await stack.settled(accountId)
    const detail = await client.json<CallDetail>(`/console/api/calls/${response.headers.get('x-call-id')}`)
    expect(detail.status).toBe('cancelled')
    expect(detail.usage.completion_tokens).toBeLessThan(2_000)
  })

  test('leaves no prompt, password, token or key in Redis, PostgreSQL or a log', async () => {
    const { client, keyId, secret, accountId } = await withKey()
    const response = await play(client, keyId)
    await response.text()
    await stack.settled(accountId)
    const secrets = [PROMPT, PASSWORD, secret, client.cookies.get('shuntyard_session')!]
    expectAbsent(await redisText(stack), secrets, 'redis')
    expectAbsent(await postgresText(stack), secrets, 'postgres')
    expectAbsent(logLines.join('\n'), secrets, 'logs')
  })
})

describe('live figures', () => {
  test('live figures send the balance at once, then each change and each settled call within about a second', async () => {
    const { client, keyId, accountId } = await withKey()
    const live = await listen(client)
    await eventually(() => expect(live.balances).toHaveLength(1))
    expect(live.balances[0]).toMatchObject({ balance_usd: '0.50', available_usd: '0.50', held_usd: '0.00' })
    const response = await play(client, keyId, { stream: false })
    const { id } = (await response.json()) as { id: string }
    await stack.settled(accountId)
    await eventually(() => expect(live.calls.map((call) => call.id)).toEqual([id]))
    const { cost_usd } = await client.json<CallDetail>(`/console/api/calls/${id}`)
    expect(live.calls[0]!.cost_usd).toBe(cost_usd)
    await eventually(() =>
      expect(live.balances.at(-1)!.balance_usd).toBe(
        formatUsd(picoUsd(parseUsd('0.50') - parseUsd(cost_usd))),
      ),
    )
    await stack.command('admin', 'account', 'credit', accountId, '--amount', '3.00')
    await eventually(() => expect(live.balances.at(-1)!.balance_usd).toMatch(/^3\.4/))
    live.close()
  })

  test('show what a running call holds', async () => {
    const { client, keyId } = await withKey()
    const live = await listen(client)
    const leave = new AbortController()
    const running = await play(client, keyId, { model: 'test/slow' }, leave.signal)
    expect(running.status).toBe(200)
    await eventually(() => expect(Number(live.balances.at(-1)!.held_usd)).toBeGreaterThan(0))
    const { balance_usd, available_usd, held_usd } = live.balances.at(-1)!
    expect(formatUsd(picoUsd(parseUsd(available_usd) + parseUsd(held_usd)))).toBe(balance_usd)
    leave.abort()
    await eventually(() => expect(live.balances.at(-1)!.held_usd).toBe('0.00'))
    live.close()
  })

  test('live figures contain nothing of another account', async () => {
    const [mine, other] = [await withKey(), await withKey()]
    const live = await listen(other.client)
    await eventually(() => expect(live.balances).toHaveLength(1))
    const watched = await listen(mine.client)
    await (await play(mine.client, mine.keyId)).text()
    await eventually(() => expect(watched.calls).toHaveLength(1))
    expect(live.calls).toEqual([])
    expect(live.balances).toHaveLength(1)
    live.close()
    watched.close()
  })

  test('end with the session, by signing out and by a suspension', async () => {
    const { client } = await withKey()
    const live = await listen(client)
    await client.ask('/console/api/sign-out', { method: 'POST' })
    await eventually(() => expect(live.ended).toBe('bye'))
    const again = await signedUp(stack.url)
    const suspended = await listen(again)
    await stack.command('admin', 'account', 'suspend', again.email)
    await eventually(() => expect(suspended.ended).toBe('bye'))
  })

  test('are bounded for one account', async () => {
    const client = await signedUp(stack.url)
    const open = await Promise.all(Array.from({ length: 6 }, () => listen(client)))
    const beyond = await client.ask('/console/api/live')
    await expectError(beyond, 429, 'concurrency_limit_exceeded')
    for (const live of open) live.close()
    await eventually(async () => {
      const live = await listen(client)
      live.close()
    })
  })

  test('have no HEAD, which would wait for their end', async () => {
    const client = await signedUp(stack.url)
    const response = await client.ask('/console/api/live', {
      method: 'HEAD',
      signal: AbortSignal.timeout(60_000),
    })
    expect(response.status).toBe(405)
  })

  test('do not keep an instance from stopping', async () => {
    const lonely = await startStack()
    const client = await signedUp(lonely.url)
    const live = await listen(client)
    const before = Date.now()
    await lonely.close()
    expect(Date.now() - before).toBeLessThan(onBusyMachine(5_000))
    await eventually(() => expect(live.ended).toBe('closed'))
  })
})

test('calls that name one session are its conversation, summed and in their order, for their account alone', async () => {
  const { client, secret, accountId } = await withKey()
  const call = (more: object, headers: Record<string, string> = {}) =>
    fetch(`${stack.url}/v2/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'test/one', messages: MESSAGES, ...more }),
    }).then((response) => response.json() as Promise<{ id: string }>)
  const first = await call({ session_id: 'trip/1' })
  const second = await call({}, { 'x-session-id': 'trip/1' })
  await call({ session_id: 'other' })
  await call({})
  await stack.settled(accountId)
  const { data } = await client.json<CallSessionList>('/console/api/call-sessions')
  expect(data.map(({ id, calls }) => [id, calls])).toEqual([
    ['other', 1],
    ['trip/1', 2],
  ])
  const address = '/console/api/call-sessions/calls?id=trip/1'
  const session = await client.json<CallSessionDetail>(address)
  expect(session.data.map(({ id }) => id)).toEqual([first.id, second.id])
  const { data: calls, ...sums } = session
  expect(data[1]).toEqual(sums)
  const cost = calls.reduce((sum, { cost_usd }) => sum + parseUsd(cost_usd), 0n)
  expect(sums).toMatchObject({
    ...{ calls: 2, failed_calls: 0, cached_tokens: 0, cost_usd: formatUsd(picoUsd(cost)) },
    completion_tokens: calls.reduce((sum, { usage }) => sum + usage.completion_tokens, 0),
  })
  const { client: stranger } = await withKey()
  await expectError(await stranger.ask(address), 404, 'not_found')
})

test('a key with a response cache answers the same request again, unless its header or its holder says otherwise', async () => {
  const { client, secret, keyId } = await withKey()
  const change = (seconds: number | null) =>
    client.json<KeyView>(`/console/api/keys/${keyId}`, { method: 'PATCH', body: { cache_seconds: seconds } })
  const ask = async (headers = {}) => {
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'test/one', messages: MESSAGES }),
    })
    expect(await response.json()).toMatchObject({ object: 'chat.completion' })
    return response.headers.get('x-shuntyard-cache')
  }
  expect(await ask()).toBeNull()
  expect(await change(600)).toMatchObject({ cache_seconds: 600 })
  expect(await ask()).toBe('miss')
  expect(await ask()).toBe('hit')
  expect(await ask({ 'x-shuntyard-cache': '0' })).toBeNull()
  expect(await client.json('/console/api/cached-responses', { method: 'DELETE' })).toEqual({ deleted: 1 })
  expect(await ask()).toBe('miss')
  expect(await change(null)).toMatchObject({ cache_seconds: null })
  expect(await ask()).toBeNull()
})

describe('a preset', () => {
  const settings = { model: 'test/one', temperature: 0.25, max_tokens: 5, system: 'Be brief.' }
  const asKey = (secret: string, path: string, body?: object, method = body ? 'POST' : 'GET') =>
    fetch(stack.url + path, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  const sentOn = () => stack.providers.log.requests.at(-1)!.body

  test('is called by its name on every surface of chat models, and the record names its version', async () => {
    const { client, secret, accountId } = await withKey({ name: 'presets', scopes: ['presets'] })
    await client.json('/console/api/presets', { body: { name: 'support', settings } })
    const calls: Array<[string, object]> = [
      ['/v1/chat/completions', { messages: MESSAGES }],
      ['/v2/chat/completions', { messages: MESSAGES }],
      ['/v2/messages', { messages: MESSAGES, max_tokens: 5 }],
      ['/v2/responses', { input: PROMPT }],
    ]
    for (const [path, body] of calls) {
      const response = await asKey(secret, path, { model: '@preset/support', ...body })
      expect(await response.json(), path).toMatchObject({ model: 'test/one' })
      expect(sentOn(), path).toMatchObject({
        temperature: 0.25,
        messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
      })
    }
    const count = await asKey(secret, '/v2/messages/count_tokens', {
      model: '@preset/support@1',
      messages: MESSAGES,
    })
    expect(count.status).toBe(200)
    await stack.settled(accountId)
    const { data } = await client.json<{ data: AccountCall[] }>('/console/api/calls')
    expect(data.map(({ labels }) => labels)).toEqual(calls.map(() => ({ preset: 'support@1' })))
  })

  test('changes with its next version, yields to the request, and widens no key', async () => {
    const { client, secret, keyId } = await withKey({ name: 'presets', scopes: ['presets'] })
    const ask = (more: object = {}) =>
      asKey(secret, '/v2/chat/completions', { model: '@preset/x', messages: MESSAGES, ...more })
    await expectError(await ask(), 404, 'model_not_found')
    const saved = await asKey(secret, '/v2/presets', { name: 'x', settings })
    expect(await saved.json()).toMatchObject({ version: 1, model: '@preset/x', settings })
    // The absence was cached until the account changed.
    expect((await ask({ temperature: 0.5, max_tokens: 3 })).status).toBe(200)
    expect(sentOn()).toMatchObject({ temperature: 0.5 })
    await asKey(secret, '/v2/presets', { name: 'x', settings: { model: 'test/one', temperature: 0.75 } })
    await ask()
    expect(sentOn()).toMatchObject({ temperature: 0.75 })
    await ask({ model: '@preset/x@1' })
    expect(sentOn()).toMatchObject({ temperature: 0.25 })
    await asKey(secret, '/v2/presets', { name: 'x', restore: 1 })
    expect(await (await asKey(secret, '/v2/presets/x')).json()).toMatchObject({
      ...{ version: 3, settings, versions: [{ version: 3 }, { version: 2 }, { version: 1 }] },
    })
    const canary = { models: ['test/one', 'test/slow'], weights: [0, 100] }
    await asKey(secret, '/v2/presets', { name: 'canary', settings: canary })
    const served = async (more: object) => (await ask({ model: '@preset/canary', ...more })).json()
    expect(await served({})).toMatchObject({ model: 'test/slow' })
    expect(await served({ models: ['test/one'] })).toMatchObject({ model: 'test/one' })
    await expectError(await ask({ model: '@preset/x@9' }), 404, 'model_not_found')
    const unknown = await asKey(secret, '/v2/messages', {
      ...{ model: '@preset/none', messages: MESSAGES, max_tokens: 5 },
    })
    expect(await unknown.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })

    await client.json(`/console/api/keys/${keyId}`, {
      method: 'PATCH',
      body: { allowed_models: ['test/slow'] },
    })
    await expectError(await ask(), 403, 'not_permitted')
    expect((await asKey(secret, '/v2/presets/x', undefined, 'DELETE')).status).toBe(200)
    await expectError(await ask({ model: '@preset/x@1' }), 404, 'model_not_found')
  })

  test('is managed by keys with the permission alone, with settings that a call could have', async () => {
    const { secret } = await withKey()
    await expectError(await asKey(secret, '/v2/presets'), 403, 'not_permitted')
    const { secret: permitted } = await withKey({ name: 'presets', scopes: ['presets'] })
    const refused = async (body: object) =>
      (await expectError(await asKey(permitted, '/v2/presets', body), 400, 'invalid_request')).param
    expect(await refused({ name: 'No', settings })).toBe('name')
    expect(await refused({ name: 'x', settings: { temperature: 3 } })).toBe('settings.temperature')
    expect(await refused({ name: 'x', settings: { model: '@preset/y' } })).toBe('settings.model')
    expect(await refused({ name: 'x' })).toBe('settings')
    expect(await (await asKey(permitted, '/v2/presets')).json()).toEqual({ object: 'list', data: [] })
  })
})

interface ExtendedCompletion {
  id: string
  choices: Array<{ finish_reason: string; message: object }>
  usage: { cost_usd: string }
}

interface Live {
  balances: LiveBalance[]
  calls: AccountCall[]
  ended: 'bye' | 'closed' | null
  close(): void
}

async function listen(client: ConsoleClient): Promise<Live> {
  const leave = new AbortController()
  const response = await client.ask('/console/api/live', { signal: leave.signal })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('content-encoding')).toBeNull()
  const live: Live = { balances: [], calls: [], ended: null, close: () => leave.abort() }
  void read(response, live).catch(() => undefined)
  return live
}

async function read(response: Response, live: Live): Promise<void> {
  let unread = ''
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (unread + text).split('\n\n')
    unread = events.pop()!
    for (const event of events) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? []
      if (name === 'balance') live.balances.push(JSON.parse(data!))
      if (name === 'call') live.calls.push(JSON.parse(data!))
      if (name === 'bye') live.ended = 'bye'
    }
  }
  live.ended ??= 'closed'
}

test('a session of one browser is of no use at another address of the API', async () => {
  const { client } = await withKey()
  const bare = consoleClient(stack.url)
  for (const [name, value] of client.cookies) bare.cookies.set(name, value)
  // The API takes keys alone: a cookie opens nothing under /v1.
  await expectError(await bare.ask('/v1/key'), 401, 'missing_api_key')
  await expectError(
    await bare.ask('/v1/chat/completions', { body: { model: 'test/one', messages: MESSAGES } }),
    401,
    'missing_api_key',
  )
})
