import { beforeAll, describe, expect, test } from 'vitest'
import { getAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { caller, expectRawError, rawExchange } from './wire.ts'

let adminKey: string

const stack = testStack({ models: { 'test/plain': [{ at: 'beta', model: 'words-12' }] } })
const owner = testAccount(stack, '1.00', { scopes: ['top_ups'] })
beforeAll(async () => {
  adminKey = await stack.adminKey()
})

const head = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, ...headers, 'connection: close', '', ''].join('\r\n')

describe('a request that a proxy may have read as another one is refused', () => {
  test.each([
    ['two hosts', () => head('/v1/models', 'host: one.example', 'Host: two.example')],
    ['no host', () => head('/healthz')],
    [
      'a NUL in its path',
      () => head('/v1/generations/a%00b', 'host: a', `authorization: Bearer ${owner.key}`),
    ],
    ['a NUL in its query', () => head('/admin/api/calls?model=%00', 'host: a')],
    ['two hosts that are the same', () => head('/healthz', 'HOST: one.example', 'host: one.example')],
    [
      'two keys',
      () =>
        head(
          '/v1/models',
          'host: one.example',
          `authorization: Bearer ${owner.key}`,
          'Authorization: Bearer sk-2',
        ),
    ],
    [
      'an absolute target',
      () => head('http://two.example/v1/models', 'host: one.example', `authorization: Bearer ${owner.key}`),
    ],
    [
      'an absolute target of the queue board',
      () => head('http://two.example/admin/queues', 'host: one.example', `authorization: Bearer ${adminKey}`),
    ],
  ])('%s', async (_, request) => {
    expectRawError(await rawExchange(stack.url, request()), 400, 'invalid_request')
  })

  test('a request with one host and one key is served', async () => {
    const request = head('/v1/key', 'host: one.example', `authorization: Bearer ${owner.key}`)
    expect(await rawExchange(stack.url, request)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('answers', () => {
  const get = (path: string, secret: string) => getAs(secret, stack.url + path)

  test('say that they are what they say, streams and errors included', async () => {
    const call = caller(stack, owner)
    const answers = await Promise.all([
      call({ model: 'test/plain' }),
      call({ model: 'test/plain', stream: true }),
      call({ model: 'test/none' }),
      get('/v1/models', owner.key),
      get('/v1/nothing', owner.key),
      get('/billing/topups', owner.key),
      get('/admin/api/offers', adminKey),
      get('/admin/queues', adminKey),
      get('/healthz', owner.key),
      get('/pricing.json', owner.key),
    ])
    for (const answer of answers) {
      expect([answer.url, answer.headers.get('x-content-type-options')]).toEqual([answer.url, 'nosniff'])
      await answer.body?.cancel()
    }
  })

  test.each([
    ['/admin/api/offers', 200],
    ['/admin/api/providers', 200],
    ['/admin/api/accounts', 200],
    ['/admin/api/session', 401],
    ['/admin/api/none', 404],
    ['/admin/%61pi/offers', 200],
    ['/%61dmin/ap%69/accounts?limit=1', 200],
    ['/admin/%61pi/none', 404],
  ])('of %s are kept by no browser, and are no page', async (path, status) => {
    const { headers, status: answered } = await get(path, adminKey)
    expect(answered).toBe(status)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('for who may not ask are kept by no browser either', async () => {
    const { headers, status } = await get('/admin/api/accounts', owner.key)
    expect([status, headers.get('cache-control')]).toEqual([403, 'no-store'])
  })

  test.each(['/admin/queues', '/admin/queues/api/queues'])(
    'of the board at %s are kept by no browser',
    async (path) => {
      const { headers, status } = await get(path, adminKey)
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    },
  )
})
