import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { testStack } from '../helpers/resources.ts'
import type { TestStack } from '../helpers/stack.ts'

const MODELS = { 'test/plain': [{ at: 'alpha' as const, model: 'words-2' }] }
const BODY = JSON.stringify({
  model: 'test/plain',
  max_tokens: 4,
  messages: [{ role: 'user', content: 'Good morning.' }],
})

/** A call whose headers alone are sent. */
function announce(stack: TestStack, key: string, headers: Record<string, string>): ClientRequest {
  const sent = request(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  })
  sent.on('error', () => undefined)
  sent.flushHeaders()
  return sent
}

async function call(stack: TestStack, key: string): Promise<number> {
  const response = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: BODY,
  })
  await response.arrayBuffer()
  return response.status
}

describe('bodies that are announced and not sent', () => {
  const stack = testStack({ models: MODELS })

  test.each([
    [8, { 'content-length': String(32 * 1024 * 1024) }],
    [100, { 'content-length': String(32 * 1024 * 1024) }],
    [100, { 'transfer-encoding': 'chunked' }],
  ])('refuse no call of another account, with %s of four accounts: %j', async (count, headers) => {
    const accounts = await Promise.all(Array.from({ length: 5 }, () => stack.account('1.00')))
    const [quiet, ...keys] = accounts.map(({ key }) => key) as [string, ...string[]]
    const sockets = Array.from({ length: count }, (_, index) =>
      announce(stack, keys[index % keys.length]!, { ...headers, expect: '100-continue' }),
    )
    // Asked for its body, a call has taken what it takes until that comes.
    await Promise.all(sockets.map((sent) => Promise.race([once(sent, 'continue'), once(sent, 'response')])))
    for (let index = 0; index < 10; index++) expect(await call(stack, quiet)).toBe(200)
    for (const sent of sockets) sent.destroy()
  })
})

describe('a body of which nothing comes', () => {
  const stack = testStack({
    models: MODELS,
    environment: { BODY_IDLE_MS: '200', REFUSED_REQUESTS_PER_MINUTE: '5' },
  })

  test('is a 408 that ends its connection, and counts as a refused request of its account', async () => {
    const [{ key }, { key: other }] = await Promise.all([stack.account('1.00'), stack.account('1.00')])
    for (let index = 0; index < 5; index++) {
      const sent = announce(stack, key, { 'content-length': '1000' })
      sent.write('{')
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      expect(response.statusCode).toBe(408)
      expect(response.headers.connection).toBe('close')
      response.resume()
    }
    expect(await call(stack, key)).toBe(429)
    expect(await call(stack, other)).toBe(200)
  })
})
