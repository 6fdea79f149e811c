import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminClient } from '../helpers/admin-client.ts'
import { ask } from '../helpers/chat-client.ts'
import { consoleClient, PASSWORD, signedUp } from '../helpers/console-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { getAs } from '../helpers/requests.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { expectError } from './wire.ts'

const NOT_NOW = 'The gateway cannot do this right now. Retry shortly.'

let stack: TestStack
/** A payment rail that keeps every request waiting. */
let rail: Server
const waiting: ServerResponse[] = []

beforeAll(async () => {
  rail = createServer((_request, response) => waiting.push(response)).listen(0, '127.0.0.1')
  await once(rail, 'listening')
  stack = await startStack({
    databaseProxy: true,
    environment: {
      STRIPE_API_BASE: `http://127.0.0.1:${(rail.address() as AddressInfo).port}`,
      STRIPE_SECRET_KEY: 'sk_test_fake',
      STRIPE_WEBHOOK_SECRET: 'whsec_fake',
    },
  })
})
afterAll(async () => {
  rail.closeAllConnections()
  rail.close()
  await stack?.close()
})

test('a fourth top-up at once is refused with 429 that names top-ups', async () => {
  const client = await signedUp(stack.url)
  const open = () => client.ask('/console/api/top-ups', { body: { amount_usd: '25.00', rail: 'card' } })
  const opening = [open(), open(), open()]
  await expect.poll(() => waiting.length).toBe(3)
  const error = await expectError(await open(), 429, 'concurrency_limit_exceeded')
  expect(error.message).toBe('This account has top-ups being opened. Wait for one of them.')
  for (const response of waiting) response.writeHead(402, { 'content-type': 'application/json' }).end('{}')
  await Promise.all(opening)
})

const expectNotNow = async (response: Response) => {
  expect(response.headers.get('retry-after')).toBe('1')
  expect((await expectError(response, 503, 'overloaded')).message).toBe(NOT_NOW)
}

test('without PostgreSQL every feature is refused with the same 503', async () => {
  const [client, admin] = [await signedUp(stack.url), adminClient(stack, await stack.adminKey())]
  const { key } = await stack.account('1.00')
  const { id } = await ask({ url: stack.url, key }, { model: 'test/one' })
  const paths = ['/v1/credits', '/v1/key', `/v1/generations/${id}`, '/v1/usage', '/v1/usage/calls?format=csv']
  const answers = () => Promise.all(paths.map((path) => getAs(key, stack.url + path)))
  expect((await answers()).map(({ status }) => status)).toEqual(paths.map(() => 200))
  expect((await admin.send('GET', '/accounts')).status).toBe(200)

  stack.databaseProxy!.refuse()
  try {
    const body = { email: 'nobody@example.test', password: PASSWORD }
    await expectNotNow(await consoleClient(stack.url).ask('/console/api/sign-up', { body }))
    await expectNotNow(await client.ask('/console/api/keys'))
    await expectNotNow(await admin.send('GET', '/accounts'))
    for (const answer of await answers()) await expectNotNow(answer)
  } finally {
    stack.databaseProxy!.restore()
  }
  await expect.poll(async () => (await answers()).every(({ ok }) => ok)).toBe(true)
})

test('a closed, a not granted and an unknown surface are refused without asking Redis or PostgreSQL', async () => {
  const { key } = await stack.account('1.00')
  const refusal = async (path: string) => {
    const response = await fetch(stack.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': 'same' },
      body: '{}',
      signal: AbortSignal.timeout(onBusyMachine(1_000)),
    })
    return [response.status, await response.text()]
  }
  // Once the key is known.
  const refused = [404, expect.stringContaining('surface_unavailable')]
  expect(await refusal('/v1/none')).toEqual(refused)
  stack.redisServer.pause()
  stack.databaseProxy!.hold()
  try {
    for (const path of ['/v1/videos', '/v1/embeddings', '/v1/responses', '/v1/none'])
      expect(await refusal(path)).toEqual(refused)
  } finally {
    stack.databaseProxy!.restore()
    stack.redisServer.resume()
  }
})
