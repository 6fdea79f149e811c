import { describe, expect, test } from 'vitest'
import { SURFACES, type Surface } from '../../src/core/api/surfaces/surface-registry.ts'
import type { SurfaceList } from '../../src/core/api/surfaces/surfaces.ts'
import { getAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { CHAT_PATH, caller, expectError, expectRawError, rawExchange } from './wire.ts'

const stack = testStack({
  models: {
    'test/plain': [{ at: 'beta', model: 'words-12' }],
  },
})
const owner = testAccount(stack, '20.00')
const call = caller(stack, owner)

/** The path of a surface with a value for each of its parameters. */
const pathOf = ({ path }: Surface) => path.replace(/\{\w+\}/g, 'x1')

/** The whole response, apart from the time; the request id is the client's own. */
async function rawAnswer(method: string, path: string, body = ''): Promise<string> {
  const answer = await rawExchange(
    stack.url,
    `${method} ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${owner.key}\r\nx-request-id: same\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
  return answer.replace(/^date: .*\r\n/im, '')
}

describe('surfaces', () => {
  const unavailable = SURFACES.filter(({ access }) => access !== 'open')

  test.each(unavailable)(
    '$method $path is unavailable with a key, and asks for one without',
    async (surface) => {
      for (const method of [surface.method, 'GET', 'DELETE']) {
        const without = await fetch(stack.url + pathOf(surface), { method })
        await expectError(without, 401, 'missing_api_key')
        const response = await fetch(stack.url + pathOf(surface), {
          method,
          headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'text/plain' },
          ...(method === 'POST' && { body: 'anything at all' }),
        })
        expect((await expectError(response, 404, 'surface_unavailable')).type).toBe('not_found_error')
        expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
      }
    },
  )

  test.each(unavailable)('$method $path says who can open it, whatever the body', async (surface) => {
    const { method, path, access } = surface
    const bodies = method === 'GET' ? [''] : ['', '{"model":"auto"}', '{"model":', 'x'.repeat(70_000)]
    const answers = new Set(await Promise.all(bodies.map((body) => rawAnswer(method, pathOf(surface), body))))
    expect(answers.size).toBe(1)
    const reason =
      access === 'granted' ? 'is closed to this API key. An operator can open it' : 'is not offered here.'
    expect([...answers][0]).toContain(`${method} ${path} ${reason}`)
  })

  test.each([
    ['/v1/v1/chat/completions', "end the client's base URL in /v1, once"],
    ['/v1/v2/models', "end the client's base URL in /v2, once"],
    ['/chat/completions', "end the client's base URL in /v1."],
    ['/v1/nothing', 'There is no POST /v1/nothing here. GET /v1/surfaces lists every surface.'],
    [`/${'x'.repeat(500)}`, `${'x'.repeat(119)}… here.`],
  ])('the refusal of %s says what is wrong with the path', async (path, hint) => {
    const response = await fetch(stack.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner.key}` },
    })
    expect((await expectError(response, 404, 'surface_unavailable')).message).toContain(hint)
  })

  test('take as long to refuse as an unknown path does', async () => {
    const paths = ['/v1/none', '/v1/videos', '/v1/embeddings', '/v1/messages/count_tokens']
    const times = new Map(paths.map((path) => [path, [] as number[]]))
    // In turns, so that whatever else the machine does delays all of them alike.
    for (let round = 0; round < 200; round++) {
      for (const path of paths) {
        const startedAt = performance.now()
        const response = await fetch(stack.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
          body: '{"model":"auto"}',
        })
        await response.text()
        times.get(path)!.push(performance.now() - startedAt)
      }
    }
    const medianOf = (path: string) => times.get(path)!.sort((one, other) => one - other)[100]!
    const unknownMs = medianOf('/v1/none')
    // A query of PostgreSQL or Redis, or the reading of a body, would take several times as long.
    for (const path of paths) {
      expect(medianOf(path), path).toBeLessThan(2 * unknownMs)
      expect(medianOf(path), path).toBeGreaterThan(unknownMs / 2)
    }
  })

  test('are listed to a key, with those that it may use', async () => {
    const response = await getAs(owner.key, `${stack.url}/v1/surfaces`)
    const { data } = (await response.json()) as SurfaceList
    expect(data.map(({ method, path }) => `${method} ${path}`)).toEqual(
      SURFACES.map(({ method, path }) => `${method} ${path}`),
    )
    const extended = data.filter(({ id }) => id.endsWith('.extended'))
    expect(extended.length).toBeGreaterThan(10)
    for (const surface of extended) {
      expect(surface.path).toMatch(/^\/v2\//)
      expect(surface).toMatchObject({ status: 'Limited', available: true, schema: expect.any(String) })
    }
    for (const [index, { access, status }] of SURFACES.entries()) {
      expect(data[index]).toMatchObject({ available: access === 'open' })
      if (status !== 'Stable') expect(data[index]).toMatchObject({ status })
    }
    expect(data.find(({ id }) => id === 'models')).toEqual({
      id: 'models',
      object: 'surface',
      method: 'GET',
      path: '/v1/models',
      status: 'Limited',
      behaviour: 'Lists the model `auto`; admin keys see the catalog.',
      schema: '/openapi.json#/paths/~1v1~1models/get',
      contract: expect.stringMatching(/^[0-9a-f]{16}$/),
      deprecation: null,
      sunset: null,
      evidence: null,
      available: true,
    })
    const without = await fetch(`${stack.url}/v1/surfaces`)
    await expectError(without, 401, 'missing_api_key')
  })

  test.each([
    '/v1/responses/resp_1',
    '/v1/responses/resp_1/input_items',
    '/v1/files/file-1/content',
    '/v1/fine_tuning/jobs/ftjob-1/events',
    '/v1/models/test/plain',
    '/v1/nothing',
    '/v1/',
    '/v1/chat/completions/chatcmpl_1',
    '/v1beta/models/m:generateContent',
    '/v2/models/test/plain',
    '/v2/nothing',
    '/nothing',
    '/index.html',
    '/v1/..%2fadmin',
    `/v1/${'x'.repeat(3_000)}`,
  ])('%s is unavailable', async (path) => {
    const response = await getAs(owner.key, stack.url + path)
    await expectError(response, 404, 'surface_unavailable')
  })

  test('is a 404, not a crash, for a path that cannot be decoded', async () => {
    const answer = await rawExchange(
      stack.url,
      `GET /v1/%E0%A4%A HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${owner.key}\r\nconnection: close\r\n\r\n`,
    )
    expectRawError(answer, 404, 'surface_unavailable')
  })

  test.each([
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
    const response = await fetch(stack.url + path, {
      method,
      headers: { authorization: `Bearer ${owner.key}` },
    })
    expect(response.headers.get('allow')).toContain(allowed)
    if (method === 'HEAD') expect(response.status).toBe(405)
    else await expectError(response, 405, 'method_not_allowed')
  })
})

describe('a path that takes other methods', () => {
  const answer = (method: string, path: string) =>
    rawExchange(
      stack.url,
      `${method} ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${owner.key}\r\nconnection: close\r\n\r\n`,
    )

  test.each(['/v1/responses', '/nowhere'])(
    'a request for a WebSocket at %s is answered 426 at once',
    async (path) => {
      const answer = await rawExchange(
        stack.url,
        `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${owner.key}\r\nconnection: Upgrade, close\r\nupgrade: websocket\r\n` +
          'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      )
      expectRawError(answer, 426, 'websocket_unsupported')
      expect(answer).toMatch(/^upgrade: HTTP\/1\.1\r$/im)
    },
  )

  test.each([
    ['TRACE', CHAT_PATH, 'POST'],
    ['QUERY', '/v1/generations/x1', 'GET, HEAD'],
    ['TRACE', '/pricing.json', 'GET, HEAD, OPTIONS'],
    ['TRACE', '/healthz', 'GET, HEAD'],
    ['PROPFIND', '/healthz', 'GET, HEAD'],
    ['QUERY', '/billing/topups', 'POST, GET, HEAD'],
    ['PUT', '/v1/provider-keys', 'GET, HEAD, POST'],
    ['GET', '/v1/provider-keys/x1', 'DELETE, PATCH'],
    ['GET', '/webhooks/stripe', 'POST'],
    ['PUT', '/console/api/keys', 'GET, HEAD, POST'],
    ['DELETE', '/admin/api/accounts/x1', 'GET, HEAD'],
    ['GET', '/admin/api/accounts/x1/suspend', 'POST'],
    ['POST', '/dashboard', 'GET, HEAD'],
  ])('answers %s %s with 405 and allows %s', async (method, path, allowed) => {
    const response = await answer(method, path)
    expectRawError(response, 405, 'method_not_allowed')
    expect(
      response
        .match(/^allow: (.*)\r$/im)?.[1]
        ?.split(', ')
        .sort(),
    ).toEqual(allowed.split(', ').sort())
  })

  test.each([
    ['TRACE', '/v1/embeddings'],
    ['QUERY', '/v1/embeddings'],
    ['PROPFIND', '/v1/embeddings'],
    ['PROPFIND', CHAT_PATH],
    ['TRACE', '/nothing'],
  ])('answers %s %s as any unknown path', async (method, path) => {
    expectRawError(await answer(method, path), 404, 'surface_unavailable')
  })
})

describe('headers', () => {
  test("keep the client's x-request-id, in the body too, and make one where it is unfit", async () => {
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

  test('headers have the rate limits on every authenticated response', async () => {
    const limited = await stack.account('1.00', { requestsPerMinute: 50 })
    const by = caller(stack, limited)
    const answers = [
      await by({ model: 'test/plain' }),
      await by({ model: 'test/plain', stream: true }),
      await by({ model: 'test/none' }),
      await by({ temperature: 9 }),
      await by({ model: 'test/plain', provider: { zdr: true } }),
      await getAs(limited.key, `${stack.url}/v1/models`),
      await getAs(limited.key, `${stack.url}/v1/embeddings`),
    ]
    for (const { headers } of answers) {
      expect(headers.get('x-ratelimit-limit-requests')).toBe('50')
      expect(headers.get('x-ratelimit-limit-tokens')).toBe('10000000')
      for (const name of ['remaining-requests', 'remaining-tokens', 'reset-requests', 'reset-tokens']) {
        expect(headers.get(`x-ratelimit-${name}`), name).toMatch(/^\d+$/)
      }
    }
    const remaining = answers.map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')))
    // Only the first two were admitted; what is refused before the balance cache does not count.
    expect(remaining).toEqual([49, 48, 48, 48, 48, 48, 48])
    expect(Number(answers[1]!.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(10_000_000 - 4_096)
  })
})
