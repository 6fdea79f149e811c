import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseUsd } from '../../src/core/money.ts'
import { SURFACES } from '../../src/http/surfaces.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { type Call, CHAT_PATH, caller, type ErrorBody, expectError, MESSAGES, rawExchange } from './wire.ts'

const BODY_LIMIT_BYTES = 32 * 1024 * 1024
const IMAGE = [{ type: 'image_url', image_url: { url: 'https://images.example/cat.png' } }]

let stack: TestStack
let key: string
let accountId: string
let poorKey: string
let adminKey: string
let revokedKey: string
let suspendedKey: string
let expiredKey: string
let call: Call

beforeAll(async () => {
  stack = await startStack({
    models: {
      'test/plain': [{ at: 'beta', model: 'words-12' }],
      'test/paced': [{ at: 'beta', model: 'words-2000.rate-40' }],
      'test/tiny': {
        context_length: 64,
        max_output_tokens: 32,
        offers: [{ at: 'beta', model: 'words-12.tag-tiny' }],
      },
    },
    environment: { BODY_TIMEOUT_MS: '1000' },
  })
  const account = await stack.account('20.00')
  key = account.key
  accountId = account.accountId
  call = caller(stack, key)
  adminKey = await stack.adminKey()
  poorKey = (await stack.account('0.000001')).key
  expiredKey = (await stack.account('1.00', { expiresAt: new Date(Date.now() - 1_000) })).key
  const [revoked, suspended] = await Promise.all([stack.account('1.00'), stack.account('1.00')])
  revokedKey = revoked.key
  suspendedKey = suspended.key
  const done = await Promise.all([
    stack.command('admin', 'key', 'revoke', revoked.keyId),
    stack.command('admin', 'account', 'suspend', suspended.accountId),
  ])
  expect(done.map(({ code }) => code)).toEqual([0, 0])
  // A revocation takes effect everywhere within a second.
  for (const refusedKey of [revokedKey, suspendedKey]) {
    await vi.waitFor(async () => expect((await caller(stack, refusedKey)({})).status).toBe(403))
  }
})
afterAll(() => stack?.close())

/** Sends anything at all to the chat-completions endpoint. */
const send = (body: string | ReadableStream, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(stack.url + CHAT_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit)

const bodyWith = (fields: Record<string, unknown>) =>
  JSON.stringify({ model: 'test/plain', messages: MESSAGES, ...fields })

describe('authentication', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no header', {}, 'missing_api_key'],
    ['an empty header', { authorization: '' }, 'missing_api_key'],
    ['another scheme', { authorization: 'Basic c2stc3k6eA==' }, 'missing_api_key'],
    ['the scheme alone', { authorization: 'Bearer' }, 'missing_api_key'],
    ['a key of another wire', { 'x-api-key': 'sk-sy-anything' }, 'missing_api_key'],
    ['no key of ours', { authorization: 'Bearer sk-ant-0123456789' }, 'invalid_api_key'],
    [
      'a well-formed key that does not exist',
      { authorization: `Bearer sk-sy-${'0'.repeat(49)}` },
      'invalid_api_key',
    ],
  ])('answers 401 with a challenge to %s', async (_name, headers, code) => {
    const response = await fetch(stack.url + CHAT_PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: bodyWith({}),
    })
    expect(await expectError(response, 401, code)).toMatchObject({
      type: 'authentication_error',
      param: null,
    })
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(response.headers.get('x-ratelimit-limit-requests')).toBeNull()
  })

  it('answers 401 to a key with a typo, without repeating it', async () => {
    const typo = key.slice(0, 20) + (key[20] === 'a' ? 'b' : 'a') + key.slice(21)
    const response = await caller(stack, typo)({ model: 'test/plain' })
    const error = await expectError(response, 401, 'invalid_api_key')
    expect(error.message).not.toContain(typo.slice(6, 14))
  })

  it('takes the scheme in any case', async () => {
    expect((await send(bodyWith({}), { authorization: `bearer ${key}` })).status).toBe(200)
  })

  it('answers 403 to revoked, expired, suspended and admin keys', async () => {
    const codes: [string, string][] = [
      [revokedKey, 'key_revoked'],
      [expiredKey, 'key_revoked'],
      [suspendedKey, 'account_suspended'],
      [adminKey, 'not_permitted'],
    ]
    for (const [refusedKey, code] of codes) {
      const response = await caller(stack, refusedKey)({ model: 'test/plain' })
      expect((await expectError(response, 403, code)).type).toBe('permission_error')
      expect(response.headers.get('www-authenticate')).toBeNull()
    }
  })
})

describe('a request that is not valid', () => {
  it.each<[string, Record<string, unknown>, string | null]>([
    ['messages missing', { messages: undefined }, 'messages'],
    ['messages null', { messages: null }, 'messages'],
    ['messages of the wrong type', { messages: 'hello' }, 'messages'],
    ['messages empty', { messages: [] }, 'messages'],
    ['2,049 messages', { messages: Array(2_049).fill(MESSAGES[0]) }, 'messages'],
    ['a message of the wrong type', { messages: ['hello'] }, 'messages[0]'],
    ['a nested array as message', { messages: [...MESSAGES, []] }, 'messages[1]'],
    [
      'the role developer',
      { messages: [...MESSAGES, { role: 'developer', content: 'x' }] },
      'messages[1].role',
    ],
    ['an unknown role', { messages: [{ role: 'User', content: 'x' }] }, 'messages[0].role'],
    ['no role', { messages: [{ content: 'x' }] }, 'messages[0].role'],
    ['a role of the prototype', { messages: [{ role: 'constructor', content: 'x' }] }, 'messages[0].role'],
    ['no content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['null content of a user', { messages: [{ role: 'user', content: null }] }, 'messages[0].content'],
    ['content of the wrong type', { messages: [{ role: 'user', content: 7 }] }, 'messages[0].content'],
    ['an empty content array', { messages: [{ role: 'user', content: [] }] }, 'messages[0].content'],
    ['a part of the wrong type', { messages: [{ role: 'user', content: ['x'] }] }, 'messages[0].content[0]'],
    [
      'a part without type',
      { messages: [{ role: 'user', content: [{ text: 'x' }] }] },
      'messages[0].content[0]',
    ],
    ['a name of the wrong type', { messages: [{ role: 'user', content: 'x', name: 1 }] }, 'messages[0].name'],
    [
      'a tool_call_id of the wrong type',
      { messages: [{ role: 'tool', content: 'x', tool_call_id: {} }] },
      'messages[0].tool_call_id',
    ],
    ['model of the wrong type', { model: 7 }, 'model'],
    ['an empty model', { model: '' }, 'model'],
    ['a model id beyond all bounds', { model: 'x'.repeat(257) }, 'model'],
    ['models of the wrong type', { models: 'test/plain' }, 'models'],
    ['models empty', { models: [] }, 'models'],
    ['nine models', { models: Array.from({ length: 9 }, (_, index) => `test/${index}`) }, 'models'],
    ['an entry of models of the wrong type', { models: ['test/plain', null] }, 'models[1]'],
    ['model and models contradicting', { models: ['test/paced', 'test/plain'] }, 'models'],
    ['an unknown routing_profile', { routing_profile: 'cheap' }, 'routing_profile'],
    ['stream of the wrong type', { stream: 'yes' }, 'stream'],
    ['both token limits', { max_tokens: 5, max_completion_tokens: 5 }, 'max_tokens'],
    ['a token limit of 0', { max_tokens: 0 }, 'max_tokens'],
    ['a token limit with decimals', { max_tokens: 1.5 }, 'max_tokens'],
    ['a token limit as text', { max_completion_tokens: '5' }, 'max_completion_tokens'],
    ['temperature out of range', { temperature: 2.1 }, 'temperature'],
    ['temperature as text', { temperature: '1' }, 'temperature'],
    ['top_p out of range', { top_p: -0.1 }, 'top_p'],
    ['tools of the wrong type', { tools: {} }, 'tools'],
    ['a tool of the wrong type', { tools: ['find_train'] }, 'tools'],
    ['response_format as text', { response_format: 'json_object' }, 'response_format'],
    ['response_format without type', { response_format: {} }, 'response_format'],
    ['provider of the wrong type', { provider: 'alpha' }, 'provider'],
    ['an unknown preference', { provider: { ZDR: true } }, 'provider.ZDR'],
    ['zdr of the wrong type', { provider: { zdr: 'true' } }, 'provider.zdr'],
    ['order of the wrong type', { provider: { order: 'alpha' } }, 'provider.order'],
    ['an unknown sort', { provider: { sort: 'quality' } }, 'provider.sort'],
    ['an unknown price', { provider: { max_price: { image: 1 } } }, 'provider.max_price.image'],
    ['a negative price', { provider: { max_price: { prompt: -1 } } }, 'provider.max_price.prompt'],
  ])('is a 400 that names the field: %s', async (_name, fields, param) => {
    const response = await call({ model: 'test/plain', ...fields })
    const error = await expectError(response, 400, 'invalid_request')
    expect(error).toMatchObject({ param, type: 'invalid_request_error' })
    expect(response.headers.get('retry-after')).toBeNull()
  })

  it.each<[string, string, string]>([
    ['broken JSON', '{"model":"test/plain","messages":[', 'invalid_json'],
    ['an empty body', '', 'invalid_json'],
    ['a bare word', 'hello', 'invalid_json'],
    ['JSON with a comment', '{"messages":[] // none\n}', 'invalid_json'],
    ['a trailing comma', '{"messages":[],}', 'invalid_json'],
    ['single quotes', "{'messages':[]}", 'invalid_json'],
    ['NaN', '{"messages":NaN}', 'invalid_json'],
    ['a number', '7', 'invalid_request'],
    ['null', 'null', 'invalid_request'],
    ['an array', '[]', 'invalid_request'],
    ['a string', '"hello"', 'invalid_request'],
  ])('is a 400: %s', async (_name, text, code) => {
    expect((await expectError(await send(text), 400, code)).type).toBe('invalid_request_error')
  })

  it('is a 400 also when it is nested without end, at once, and the instance lives on', async () => {
    const million = 1_000_000
    const startedAt = performance.now()
    for (const text of [
      '['.repeat(million),
      '['.repeat(million) + ']'.repeat(million),
      '{"messages":'.repeat(million),
      bodyNested(5_000),
      bodyNested(257),
    ]) {
      expect((await expectError(await send(text), 400, 'invalid_request')).message).toMatch(/nested/)
    }
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    expect((await send(bodyNested(200))).status).toBe(200)
  })

  const bodyNested = (levels: number): string => {
    const nested = '['.repeat(levels) + ']'.repeat(levels)
    return `{"model":"test/plain","messages":[{"role":"user","content":[{"type":"text","text":"x","n":${nested}}]}]}`
  }

  it('takes the last of duplicate keys, as JSON parsers do', async () => {
    const text = '{"model":"test/none","model":"test/plain","messages":[{"role":"user","content":"x"}]}'
    expect((await (await send(text)).json()) as object).toMatchObject({ model: 'test/plain' })
  })

  it('is not fooled by keys of the prototype', async () => {
    const text = (extra: string) =>
      `{"messages":[{"role":"user","content":"x"}],${extra}"model":"test/plain"}`
    expect((await send(text('"__proto__":{"stream":true,"temperature":9},'))).status).toBe(200)
    expect((await send(text('"constructor":{"prototype":{"stream":true}},'))).status).toBe(200)
    const inProvider = await send(text('"provider":{"constructor":{}},'))
    expect((await expectError(inProvider, 400, 'invalid_request')).param).toBe('provider.constructor')
    expect(({} as Record<string, unknown>).stream).toBeUndefined()
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonx',
  ])('is a 415 as %s', async (contentType) => {
    const error = await expectError(
      await send(bodyWith({}), { 'content-type': contentType }),
      415,
      'unsupported_media_type',
    )
    expect(error.type).toBe('invalid_request_error')
  })

  it('takes JSON with a charset', async () => {
    const response = await send(bodyWith({}), { 'content-type': 'Application/JSON; charset=UTF-8' })
    expect(response.status).toBe(200)
  })

  it('is a 404 for an unknown model or suffix', async () => {
    for (const model of ['test/none', 'plain', 'test/plain:fast', ':floor', '__proto__', 'constructor']) {
      const error = await expectError(await call({ model }), 404, 'model_not_found')
      expect(error).toMatchObject({ type: 'not_found_error', param: 'model' })
    }
    const error = await expectError(
      await call({ models: ['test/none', 'test/other'] }),
      404,
      'model_not_found',
    )
    expect(error.param).toBe('models')
  })

  it('is a 422 when no eligible model takes its shape, a 400 when it is too long for any', async () => {
    const image = await call({ model: 'test/plain', messages: [{ role: 'user', content: IMAGE }] })
    const error = await expectError(image, 422, 'unsupported_shape')
    expect(error).toMatchObject({ type: 'invalid_request_error', param: 'messages' })
    const long = await call({
      model: 'test/tiny',
      messages: [{ role: 'user', content: 'word '.repeat(2_000) }],
    })
    expect((await expectError(long, 400, 'context_length_exceeded')).param).toBe('messages')
  })
})

describe('a body beyond the limit', () => {
  it('is a 413 by its content-length, before it is sent', async () => {
    const answer = await rawExchange(
      stack.url,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${BODY_LIMIT_BYTES + 1}\r\n\r\n{`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer).toContain('"code":"request_too_large"')
  })

  it('is a 413 in chunks, as soon as it is too long', async () => {
    const piece = new Uint8Array(1024 * 1024).fill(0x20)
    let sent = 0
    const body = new ReadableStream({
      pull(controller) {
        if (sent++ > 40) controller.close()
        else controller.enqueue(piece)
      },
    })
    // A client may still be sending when the refusal comes, and then sees the connection break.
    const outcome = await send(body).catch(() => null)
    if (outcome) await expectError(outcome, 413, 'request_too_large')
    expect((await fetch(`${stack.url}/healthz`)).status).toBe(200)
  })

  it('is taken right below it', async () => {
    const text = bodyWith({ an_ignored_field: 'x'.repeat(BODY_LIMIT_BYTES - 200) })
    expect((await send(text)).status).toBe(200)
  })
})

describe('a request that breaks before it is one', () => {
  it('is a 408 when its body does not come', async () => {
    const answer = await rawExchange(
      stack.url,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: 100\r\n\r\n{"messages"`,
    )
    expectRawError(answer, 408, 'request_timeout')
  })

  it('is a 408 when its headers do not come', async () => {
    expectRawError(
      await rawExchange(stack.url, `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gat`),
      408,
      'request_timeout',
    )
  })

  it('is a 400 when it is no HTTP', async () => {
    for (const bytes of [
      'hello\r\n\r\n',
      `POST ${CHAT_PATH} HTTP/9.9\r\n\r\n`,
      `GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n`,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n`,
      `\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003`,
    ]) {
      expectRawError(await rawExchange(stack.url, bytes), 400, 'invalid_request')
    }
  })

  it('is a 413 when its headers are huge', async () => {
    const answer = await rawExchange(
      stack.url,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nx-huge: ${'x'.repeat(100_000)}\r\n\r\n`,
    )
    expectRawError(answer, 413, 'request_too_large')
  })
})

function expectRawError(answer: string, status: number, code: string): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  const { error } = JSON.parse(body) as ErrorBody
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'request_id', 'type'])
  expect(error).toMatchObject({ code, param: null })
  expect(head.toLowerCase()).toContain(`x-request-id: ${error.request_id}`)
}

describe('surfaces', () => {
  const unavailable = SURFACES.filter((surface) => surface.handler === null)

  it.each(unavailable)(
    '$method $path is unavailable with a key, and asks for one without',
    async (surface) => {
      for (const method of [surface.method, 'GET', 'DELETE']) {
        const without = await fetch(stack.url + surface.path, { method })
        await expectError(without, 401, 'missing_api_key')
        const response = await fetch(stack.url + surface.path, {
          method,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'text/plain' },
          ...(method === 'POST' && { body: 'anything at all' }),
        })
        expect((await expectError(response, 404, 'surface_unavailable')).type).toBe('not_found_error')
        expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
      }
    },
  )

  it.each([
    '/v1/responses/resp_1',
    '/v1/responses/resp_1/input_items',
    '/v1/files/file-1/content',
    '/v1/fine_tuning/jobs/ftjob-1/events',
    '/v1/models/test/plain',
    '/v1/nothing',
    '/v1/',
    '/v1/chat/completions/chatcmpl_1',
    '/v1beta/models/m:generateContent',
    '/v2/chat/completions',
    '/nothing',
    '/',
    '/v1/%00',
    '/v1/..%2fadmin',
    `/v1/${'x'.repeat(3_000)}`,
  ])('%s is unavailable', async (path) => {
    const response = await fetch(stack.url + path, { headers: { authorization: `Bearer ${key}` } })
    await expectError(response, 404, 'surface_unavailable')
  })

  it('is a 404, not a crash, for a path that cannot be decoded', async () => {
    const answer = await rawExchange(
      stack.url,
      `GET /v1/%E0%A4%A HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`,
    )
    expectRawError(answer, 404, 'surface_unavailable')
  })

  it.each([
    ['GET', CHAT_PATH, 'POST'],
    ['PUT', CHAT_PATH, 'POST'],
    ['DELETE', CHAT_PATH, 'POST'],
    ['PATCH', CHAT_PATH, 'POST'],
    ['HEAD', CHAT_PATH, 'POST'],
    ['OPTIONS', CHAT_PATH, 'POST'],
    ['POST', '/v1/models', 'GET'],
    ['DELETE', '/v1/models', 'GET'],
    ['POST', '/pricing.json', 'GET'],
  ])('%s %s is a 405 that allows %s', async (method, path, allowed) => {
    const response = await fetch(stack.url + path, { method, headers: { authorization: `Bearer ${key}` } })
    expect(response.headers.get('allow')).toContain(allowed)
    if (method === 'HEAD') expect(response.status).toBe(405)
    else await expectError(response, 405, 'method_not_allowed')
  })
})

describe('headers', () => {
  it("keep the client's x-request-id, in the body too, and make one where it is unfit", async () => {
    const kept = ['a', 'my-id: 7', '~'.repeat(128)]
    for (const id of kept) {
      const response = await call({ model: 'test/none' }, { headers: { 'x-request-id': id } })
      expect(response.headers.get('x-request-id')).toBe(id)
      expect((await expectError(response, 404, 'model_not_found')).request_id).toBe(id)
    }
    for (const id of ['', 'x'.repeat(129), 'grüße']) {
      const response = await call({ model: 'test/none' }, { headers: { 'x-request-id': id } })
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
    const stream = await call({ model: 'test/plain', stream: true }, { headers: { 'x-request-id': 'kept' } })
    expect(stream.headers.get('x-request-id')).toBe('kept')
    expect((await fetch(`${stack.url}/healthz`)).headers.get('x-request-id')).toMatch(/./)
  })

  it('tell the rate limits on every authenticated response', async () => {
    const limited = await stack.account('1.00', { requestsPerMinute: 50 })
    const by = caller(stack, limited.key)
    const answers = [
      await by({ model: 'test/plain' }),
      await by({ model: 'test/plain', stream: true }),
      await by({ model: 'test/none' }),
      await by({ temperature: 9 }),
      await by({ model: 'test/plain', provider: { zdr: true } }),
      await fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${limited.key}` } }),
      await fetch(`${stack.url}/v1/embeddings`, { headers: { authorization: `Bearer ${limited.key}` } }),
    ]
    for (const { headers } of answers) {
      expect(headers.get('x-ratelimit-limit-requests')).toBe('50')
      expect(headers.get('x-ratelimit-limit-tokens')).toBe('10000000')
      for (const name of ['remaining-requests', 'remaining-tokens', 'reset-requests', 'reset-tokens']) {
        expect(headers.get(`x-ratelimit-${name}`), name).toMatch(/^\d+$/)
      }
    }
    const remaining = answers.map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')))
    // Only the first two were admitted; what is refused before the gate does not count.
    expect(remaining).toEqual([49, 48, 48, 48, 48, 48, 48])
    expect(Number(answers[1]!.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(10_000_000 - 4_096)
  })
})

describe('limits of a key', () => {
  it('answer 429 with Retry-After of 1 to 60 s beyond its requests a minute', async () => {
    const limited = await stack.account('1.00', { requestsPerMinute: 3 })
    const by = caller(stack, limited.key)
    const statuses = await Promise.all(Array.from({ length: 6 }, () => by({ model: 'test/plain' })))
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429])
    for (const response of statuses.filter(({ status }) => status === 429)) {
      expect((await expectError(response, 429, 'rate_limit_exceeded')).type).toBe('rate_limit_error')
      expect(response.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/)
      expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    }
  })

  it('answer 429 beyond its concurrent calls, and admit again when one has ended', async () => {
    const limited = await stack.account('1.00', { concurrentCalls: 1 })
    const by = caller(stack, limited.key)
    const leave = new AbortController()
    const open = await by({ model: 'test/paced', stream: true }, { signal: leave.signal })
    expect(open.status).toBe(200)
    const refused = await by({ model: 'test/plain' })
    expect((await expectError(refused, 429, 'concurrency_limit_exceeded')).type).toBe('rate_limit_error')
    expect(refused.headers.get('retry-after')).toBe('1')
    leave.abort()
    await expect.poll(async () => (await by({ model: 'test/plain' })).status).toBe(200)
  })

  it('answer 402 with what is needed, available and affordable beyond its spending limit', async () => {
    const limited = await stack.account('1.00', { limitPico: parseUsd('0.0001') })
    const response = await caller(stack, limited.key)({ model: 'test/plain', max_tokens: 1_000 })
    const error = await expectError(response, 402, 'key_limit_exceeded')
    expect(error.type).toBe('billing_error')
    expect(error.metadata).toEqual({
      required_usd: expect.stringMatching(/^0\.00\d+$/),
      available_usd: '0.0001',
      affordable_max_tokens: expect.any(Number),
      top_up_url: expect.stringMatching(/^http/),
    })
    const affordable = error.metadata!.affordable_max_tokens as number
    const within = await caller(stack, limited.key)({ model: 'test/plain', max_tokens: affordable })
    expect(within.status).toBe(200)
  })

  it('answer 402 to an account that cannot pay, streaming or not', async () => {
    for (const stream of [false, true]) {
      const response = await caller(stack, poorKey)({ model: 'test/plain', max_tokens: 1_000, stream })
      const error = await expectError(response, 402, 'insufficient_balance')
      expect(error.metadata).toMatchObject({ available_usd: '0.000001', affordable_max_tokens: 0 })
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
      expect(response.headers.get('retry-after')).toBeNull()
    }
  })
})

describe('the order of checks', () => {
  /** A key that neither its rate limit nor its balance lets call. */
  const spent = async () => {
    const account = await stack.account('0.001', { requestsPerMinute: 1 })
    expect((await caller(stack, account.key)({ model: 'test/plain', max_tokens: 1 })).status).toBe(200)
    return account.key
  }

  it('is key, then request, then rate, then balance', async () => {
    const brokenBody = { model: 'test/none', temperature: 9, messages: [{ role: 'user', content: IMAGE }] }
    await expectError(await caller(stack, 'sk-sy-none')(brokenBody), 401, 'invalid_api_key')
    await expectError(await caller(stack, revokedKey)(brokenBody), 403, 'key_revoked')
    await expectError(await caller(stack, adminKey)(brokenBody), 403, 'not_permitted')
    const spentKey = await spent()
    const by = caller(stack, spentKey)
    await expectError(await by(brokenBody), 400, 'invalid_request')
    await expectError(await by({ model: 'test/none' }), 404, 'model_not_found')
    const image = { model: 'test/plain', messages: [{ role: 'user', content: IMAGE }] }
    await expectError(await by(image), 422, 'unsupported_shape')
    await expectError(await by({ model: 'test/plain', max_tokens: 4_000 }), 429, 'rate_limit_exceeded')
    await expectError(
      await caller(stack, poorKey)({ model: 'test/plain', max_tokens: 1_000 }),
      402,
      'insufficient_balance',
    )
  })

  it('refuses a key before the body is read, whatever it is', async () => {
    const headers = { authorization: `Bearer ${revokedKey}`, 'content-type': 'text/plain' }
    await expectError(await send('not JSON', headers), 403, 'key_revoked')
    const admin = { authorization: `Bearer ${adminKey}` }
    await expectError(await send('not JSON', admin), 403, 'not_permitted')
    await expectError(
      await send('not JSON', { ...admin, 'content-type': 'text/plain' }),
      403,
      'not_permitted',
    )
    const answer = await rawExchange(
      stack.url,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nconnection: close\r\n` +
        `content-length: ${BODY_LIMIT_BYTES * 2}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('leaves nothing behind of a refused call: no job, no hold, no record', async () => {
    const spentKey = await spent()
    const before = await traces()
    await Promise.all([
      call({ model: 'test/none' }),
      call({ model: 'test/plain', temperature: 9 }),
      call({ model: 'test/plain', provider: { zdr: true } }),
      call({ model: 'test/plain', messages: [{ role: 'user', content: IMAGE }] }),
      caller(stack, poorKey)({ model: 'test/plain', max_tokens: 1_000 }),
      caller(stack, spentKey)({ model: 'test/plain', max_tokens: 4_000 }),
      caller(stack, adminKey)({ model: 'test/plain' }),
      send('{'),
    ])
    expect(await traces()).toEqual(before)
  })

  async function traces() {
    await stack.settled(accountId)
    return {
      jobs: await stack.redis.get('{sy:queues}:dispatch:events:length'),
      dispatched: await stack.redis.xlen('{sy:queues}:dispatch:events'),
      settlements: await stack.redis.xlen('{sy:queues}:settlement:events'),
      holds: await stack.redis.keys('sy:*:holds'),
      held: await stack.redis.get(`sy:{${accountId}}:held`),
      records: await stack.postgres.callRecord.count(),
      upstream: stack.providers.log.received,
    }
  }
})

describe('a text with NUL characters and every script', () => {
  it('is answered and settled like any other', async () => {
    const content = 'a\u0000b \u202e عربى 漢字 👩‍👩‍👧 \ud83d lone'
    const response = await call({
      model: 'test/plain',
      messages: [{ role: 'user', content, name: 'n\u0000ul' }],
    })
    expect(response.status).toBe(200)
    await stack.settled(accountId)
    const requestId = response.headers.get('x-request-id')!
    expect(await stack.postgres.callRecord.count({ where: { requestId } })).toBe(1)
  })

  it('is refused where it names a model', async () => {
    await expectError(await call({ model: 'test/pl\u0000ain' }), 404, 'model_not_found')
  })
})
