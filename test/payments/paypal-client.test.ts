import { inspect } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { createPaypalClient, PaypalError } from '../../src/payments/paypal-client.ts'
import {
  type FakeRailServer,
  type RailAnswer,
  type RailRequest,
  startFakeRailServer,
} from '../helpers/fake-rail-server.ts'

const TOKEN_PATH = '/v1/oauth2/token'
const SECRET = 'a-client-secret'
const LIFE_SECONDS = 600
const MARGIN_SECONDS = 60

let server: FakeRailServer
let nowMs = 0

afterEach(() => server.close())

/** A client of a server that gives tokens `token-1`, `token-2` and so on, and answers the rest with `answer`. */
async function clientOf(
  answer: (request: RailRequest) => RailAnswer | 'no answer',
  { tokenAnswer, timeoutMs = 10_000 }: { tokenAnswer?: RailAnswer; timeoutMs?: number } = {},
) {
  nowMs = 0
  let given = 0
  server = await startFakeRailServer(async (request) => {
    if (request.path !== TOKEN_PATH) return answer(request)
    given += 1
    return tokenAnswer ?? { body: { access_token: `token-${given}`, expires_in: LIFE_SECONDS } }
  })
  return createPaypalClient(
    { apiBase: server.url, clientId: 'a-client', clientSecret: SECRET },
    { clock: () => nowMs, timeoutMs },
  )
}

const tokenRequests = () => server.requests.filter(({ path }) => path === TOKEN_PATH)
const tokensUsed = () =>
  server.requests.filter(({ path }) => path !== TOKEN_PATH).map(({ headers }) => headers.authorization)

test('requests that start together share one request for a token', async () => {
  const client = await clientOf(() => ({ body: {} }))
  await Promise.all(Array.from({ length: 10 }, () => client.get('/v2/orders/1')))
  expect(tokenRequests()).toMatchObject([
    {
      method: 'POST',
      body: 'grant_type=client_credentials',
      headers: {
        authorization: `Basic ${Buffer.from(`a-client:${SECRET}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    },
  ])
})

test('a token is used until a minute before it expires', async () => {
  const client = await clientOf(() => ({ body: {} }))
  for (const seconds of [0, LIFE_SECONDS - MARGIN_SECONDS - 1, LIFE_SECONDS - MARGIN_SECONDS]) {
    nowMs = seconds * 1_000
    await client.get('/v2/orders/1')
  }
  expect(tokensUsed()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
})

test('a token that PayPal revoked is replaced, and the request sent once more', async () => {
  const client = await clientOf(({ headers }) =>
    headers.authorization === 'Bearer token-1'
      ? { status: 401, body: { error: 'invalid_token' } }
      : { status: 201, body: { id: 'ORDER' } },
  )
  expect(await client.post('/v2/orders', { json: '{}', requestId: 'pay_1' })).toEqual({ id: 'ORDER' })
  expect(tokensUsed()).toEqual(['Bearer token-1', 'Bearer token-2'])
})

test('a request that stays unauthorized fails after the second attempt', async () => {
  const client = await clientOf(() => ({ status: 401, body: { name: 'UNAUTHORIZED' } }))
  await expect(client.get('/v2/orders/1')).rejects.toMatchObject({ status: 401 })
  expect(tokensUsed()).toHaveLength(2)
})

test('a post sends its JSON byte for byte, with its idempotency key', async () => {
  const client = await clientOf(() => ({ body: {} }))
  const json = '{ "a" : "ünï 🚂" }'
  await client.post('/v2/orders', { json, requestId: 'pay_1' })
  await client.post('/v2/orders/1/capture', { requestId: 'pay_1-capture' })
  expect(server.requests.slice(1)).toMatchObject([
    {
      body: json,
      headers: {
        'content-type': 'application/json',
        'paypal-request-id': 'pay_1',
        prefer: 'return=representation',
      },
    },
    { body: '', headers: { 'content-type': 'application/json', 'paypal-request-id': 'pay_1-capture' } },
  ])
})

test('an error status rejects with the reason that PayPal gives, and no credential', async () => {
  const client = await clientOf(() => ({
    status: 422,
    body: { name: 'UNPROCESSABLE_ENTITY', details: [{ issue: 'ORDER_NOT_APPROVED' }], debug_id: '90957fca' },
  }))
  const error = await client.post('/v2/orders/1/capture', {}).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(PaypalError)
  expect(error).toMatchObject({
    status: 422,
    message:
      'PayPal returned 422 for POST /v2/orders/1/capture: UNPROCESSABLE_ENTITY, ORDER_NOT_APPROVED, 90957fca',
  })
  expect(inspect(error)).not.toMatch(/token-1|a-client-secret/)
})

test.each([
  ['refused credentials', { status: 401, body: { error: 'invalid_client' } }, /401 .*: invalid_client$/],
  ['a status that would refuse a refund', { status: 404, body: {} }, /404 for POST/],
  ['no token', { body: { expires_in: 600 } }, /its response contains none/],
])(
  'a request for a token that ends with %s fails as no answer to the request itself',
  async (_, tokenAnswer, words) => {
    const client = await clientOf(() => ({ body: {} }), { tokenAnswer })
    const error = await client.get('/v2/orders/1').catch((error: unknown) => error)
    expect(error).not.toBeInstanceOf(PaypalError)
    expect((error as Error).message).toMatch(words)
    expect(inspect(error)).not.toContain(SECRET)
  },
)

test('a request that is not answered in time rejects', async () => {
  const client = await clientOf(() => 'no answer', { timeoutMs: 200 })
  await expect(client.get('/v2/orders/1')).rejects.toMatchObject({
    message: 'PayPal did not respond to GET /v2/orders/1',
    cause: { name: 'TimeoutError' },
  })
})

test('a response of more than a mebibyte is not read to its end', async () => {
  const client = await clientOf(() => ({ body: 'x'.repeat(1024 * 1024) }))
  await expect(client.get('/v2/orders/1')).rejects.toMatchObject({
    cause: { message: 'the response of PayPal exceeds 1048576 bytes' },
  })
})
