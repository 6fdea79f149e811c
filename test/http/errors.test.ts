import { beforeAll, describe, expect, test } from 'vitest'
import { watchLoopTurns } from '../helpers/loop-turns.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { CHAT_PATH, caller, expectError, expectRawError, MESSAGES, rawExchange } from './wire.ts'

const BODY_LIMIT_BYTES = 32 * 1024 * 1024
const IMAGE = [{ type: 'image_url', image_url: { url: 'https://images.example/cat.png' } }]

let withoutBody: Promise<string>
let withoutHeaders: Promise<string>

/** The gateway runs in this process. */
const longestTurnMs = watchLoopTurns()
/** Far above what a turn takes, and below what working such a body off in one does. */
const TURN_BOUND_MS = 1_500

const stack = testStack({
  models: {
    'test/plain': [{ at: 'beta', model: 'words-12' }],
    'test/tiny': {
      context_length: 64,
      max_output_tokens: 32,
      offers: [{ at: 'beta', model: 'words-12.tag-tiny' }],
    },
  },
  environment: { BODY_TIMEOUT_MS: '10000', TEXT_BODY_LIMIT_BYTES: String(BODY_LIMIT_BYTES) },
})
const owner = testAccount(stack, '20.00')
const call = caller(stack, owner)
beforeAll(() => {
  // They take the whole time that a request may take to come.
  withoutBody = rawExchange(
    stack.url,
    `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${owner.key}\r\n` +
      `content-type: application/json\r\ncontent-length: 100\r\n\r\n{"messages"`,
  )
  withoutHeaders = rawExchange(stack.url, `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gat`)
})

/** Sends anything at all to the chat-completions endpoint. */
const send = (
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(stack.url + CHAT_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit)

const bodyWith = (fields: Record<string, unknown>) =>
  JSON.stringify({ model: 'test/plain', messages: MESSAGES, ...fields })

describe('a request that is not valid', () => {
  test.each<[string, Record<string, unknown>, string | null]>([
    ['of the body', { messages: null }, 'messages'],
    ['of a part of a message', { messages: [{ role: 'user', content: ['x'] }] }, 'messages[0].content[0]'],
    ['of the preferences', { provider: { max_price: { prompt: -1 } } }, 'provider.max_price.prompt'],
  ])('is a 400 that names the field: one %s', async (_name, fields, param) => {
    const response = await call({ model: 'test/plain', ...fields })
    const error = await expectError(response, 400, 'invalid_request')
    expect(error).toMatchObject({ param, type: 'invalid_request_error' })
    expect(response.headers.get('retry-after')).toBeNull()
  })

  test.each<[string, string, string]>([
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

  test('is a 400 also when it is nested without end, at once, and the instance lives on', async () => {
    const million = 1_000_000
    longestTurnMs()
    for (const text of [
      '['.repeat(million),
      '['.repeat(million) + ']'.repeat(million),
      '{"messages":'.repeat(million),
      bodyNested(5_000),
      bodyNested(257),
    ]) {
      expect((await expectError(await send(text), 400, 'invalid_request')).message).toMatch(/nested/)
    }
    expect(longestTurnMs()).toBeLessThan(TURN_BOUND_MS)
    expect((await send(bodyNested(200))).status).toBe(200)
  })

  test('a body with too many names and values is a 400 and delays no other request', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')
    const body = (ignored: string) =>
      `{"model":"test/plain","messages":[{"role":"user","content":"x"}],"ignored":${ignored}}`
    for (const ignored of [`{${names(60_000)}}`, `{${names(1_500_000)}}`, `[${'[],'.repeat(3_000_000)}[]]`]) {
      const text = body(ignored)
      longestTurnMs()
      const refused = send(text)
      expect((await fetch(`${stack.url}/healthz`)).status).toBe(200)
      expect((await expectError(await refused, 400, 'invalid_request')).message).toMatch(/names and values/)
      expect(longestTurnMs()).toBeLessThan(TURN_BOUND_MS)
    }
    expect((await send(body(`{${names(40_000)}}`))).status).toBe(200)
    expect((await send(body(`"${'text, [{: \\"'.repeat(100_000)}"`))).status).toBe(200)
  })

  const bodyNested = (levels: number): string => {
    const nested = '['.repeat(levels) + ']'.repeat(levels)
    return `{"model":"test/plain","messages":[{"role":"user","content":[{"type":"text","text":"x","n":${nested}}]}]}`
  }

  test('takes the last of duplicate keys, as JSON parsers do', async () => {
    const text = '{"model":"test/none","model":"test/plain","messages":[{"role":"user","content":"x"}]}'
    expect((await (await send(text)).json()) as object).toMatchObject({ model: 'test/plain' })
  })

  test('is not fooled by keys of the prototype', async () => {
    const text = (extra: string) =>
      `{"messages":[{"role":"user","content":"x"}],${extra}"model":"test/plain"}`
    expect((await send(text('"__proto__":{"stream":true,"temperature":9},'))).status).toBe(200)
    expect((await send(text('"constructor":{"prototype":{"stream":true}},'))).status).toBe(200)
    const inProvider = await send(text('"provider":{"constructor":{}},'))
    expect((await expectError(inProvider, 400, 'invalid_request')).param).toBe('provider.constructor')
    expect(({} as Record<string, unknown>).stream).toBeUndefined()
  })

  test.each([
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

  test('is a 415 when it is compressed, before its body is read', async () => {
    const answer = await rawExchange(
      stack.url,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${owner.key}\r\nexpect: 100-continue\r\n` +
        'content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 100\r\n\r\n',
    )
    expectRawError(answer, 415, 'unsupported_media_type')
    expect(answer).toContain('uncompressed')
    expect((await send(bodyWith({}), { 'content-encoding': 'identity' })).status).toBe(200)
  })

  test.each([
    ['short', 0],
    ['long', 600_000],
  ])('is a 400 when it is not UTF-8: %s', async (_, padding) => {
    const text = bodyWith({ messages: [{ role: 'user', content: `\u00e9${' '.repeat(padding)}` }] })
    const error = await expectError(await send(Buffer.from(text, 'latin1')), 400, 'invalid_json')
    expect(error.message).toMatch(/UTF-8/)
  })

  test('takes JSON with a charset', async () => {
    const response = await send(bodyWith({}), { 'content-type': 'Application/JSON; charset=UTF-8' })
    expect(response.status).toBe(200)
  })

  test('is a 404 for an unknown model or suffix', async () => {
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

  test('is a 422 when no eligible model takes its shape, a 400 when it is too long for any', async () => {
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
  test('is a 413 by its content-length, before it is sent', async () => {
    const answer = await rawExchange(
      stack.url,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${owner.key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${BODY_LIMIT_BYTES + 1}\r\n\r\n{`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer).toContain('"code":"request_too_large"')
  })

  test('is a 413 in chunks, as soon as it is too long', async () => {
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

  test('is taken right below it', async () => {
    const text = bodyWith({ an_ignored_field: 'x'.repeat(BODY_LIMIT_BYTES - 200) })
    expect((await send(text)).status).toBe(200)
  })
})

describe('a request that breaks before it is one', () => {
  test('is a 408 when its body does not come', async () => {
    expectRawError(await withoutBody, 408, 'request_timeout')
  })

  test('is a 408 when its headers do not come', async () => {
    expectRawError(await withoutHeaders, 408, 'request_timeout')
  })

  test('is a 400 when it is no HTTP', async () => {
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

  test('a request with an unknown Expect header is answered like any other', async () => {
    const answer = await rawExchange(
      stack.url,
      'GET /v1/models HTTP/1.1\r\nhost: a\r\nexpect: a miracle\r\nconnection: close\r\n\r\n',
    )
    expectRawError(answer, 401, 'missing_api_key')
  })

  test('is a 413 when its headers are huge', async () => {
    const answer = await rawExchange(
      stack.url,
      `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nx-huge: ${'x'.repeat(100_000)}\r\n\r\n`,
    )
    expectRawError(answer, 413, 'request_too_large')
  })
})

describe('a text with NUL characters and every script', () => {
  test('is answered and settled like any other', async () => {
    const content = 'a\u0000b \u202e عربى 漢字 👩‍👩‍👧 \ud83d lone'
    const response = await call({
      model: 'test/plain',
      messages: [{ role: 'user', content, name: 'n\u0000ul' }],
    })
    expect(response.status).toBe(200)
    await stack.settled(owner.accountId)
    const requestId = response.headers.get('x-request-id')!
    expect(await stack.postgres.callRecord.count({ where: { requestId } })).toBe(1)
  })

  test('is refused where it names a model', async () => {
    await expectError(await call({ model: 'test/pl\u0000ain' }), 404, 'model_not_found')
  })
})
