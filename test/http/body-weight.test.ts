import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import { newId } from '../../src/core/kernel/ids.ts'
import { signedUp } from '../helpers/console-client.ts'
import { testAccount, testStack, testWebhookReceiver } from '../helpers/resources.ts'

const LIMIT = 1024 * 1024
const TEXT_LIMIT = 64 * 1024
const REFUSED_BYTES = 256 * 1024
/** The longest that a guardrail may have. */
const TIMEOUT_MS = 10_000

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-2' }],
    'test/slow': [{ at: 'alpha', model: 'words-2.latency-60000' }],
  },
  environment: {
    BODY_LIMIT_BYTES: String(LIMIT),
    BODY_BYTES_PER_KEY: String(LIMIT),
    TEXT_BODY_LIMIT_BYTES: String(TEXT_LIMIT),
    REFUSED_REQUESTS_PER_MINUTE: '5',
    REFUSED_BYTES_PER_MINUTE: String(REFUSED_BYTES),
    WEBHOOKS_ALLOW_PRIVATE: 'true',
  },
})
const owner = testAccount(stack, '5.00')
const service = testWebhookReceiver()

const body = (content: string, model = 'test/plain') =>
  JSON.stringify({ model, max_tokens: 4, messages: [{ role: 'user', content }] })

async function post(text: string, by = owner.key, path = '/v1/chat/completions') {
  const response = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    body: text,
  })
  const { error } = (await response.json()) as { error?: { code: string } }
  return { status: response.status, code: error?.code, retryAfter: response.headers.get('retry-after') }
}

/** A request whose headers alone are sent. */
function announce(headers: Record<string, string>) {
  const sent = request(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
  })
  sent.on('error', () => undefined)
  sent.flushHeaders()
  return sent
}

/** Whether the key's budget has room for a body of the full length now. */
async function hasRoom(key = owner.key): Promise<boolean> {
  const authorization = `Bearer ${key}`
  const asking = announce({ authorization, 'content-length': String(LIMIT), expect: '100-continue' })
  const answer = await Promise.race([
    once(asking, 'continue').then(() => true),
    once(asking, 'response').then(() => false),
  ])
  asking.destroy()
  return answer
}

describe('the weight of request bodies', () => {
  test('counts as they arrive: what a request only announces takes no room', async () => {
    const announced = announce({ 'content-length': String(LIMIT) })
    expect(await hasRoom()).toBe(true)
    announced.write('{"model":')
    await expect.poll(() => hasRoom()).toBe(false)
    announced.destroy()
    await expect.poll(() => hasRoom()).toBe(true)
  })

  test('what would not fit beside what has arrived is a 429 before any of it is read', async () => {
    const first = announce({ 'content-length': String(LIMIT) })
    first.write('{"model":')
    await expect.poll(() => hasRoom()).toBe(false)
    const second = announce({ 'content-length': String(LIMIT), expect: '100-continue' })
    let isAsked = false
    second.on('continue', () => {
      isAsked = true
    })
    const [response] = await once(second, 'response')
    expect(response.statusCode).toBe(429)
    expect(response.headers['retry-after']).toBe('1')
    expect(isAsked).toBe(false)
    first.destroy()
    second.destroy()
    await expect.poll(() => hasRoom()).toBe(true)
  })

  test('that come in chunks counts as theirs that have a length', async () => {
    const chunked = announce({ 'transfer-encoding': 'chunked' })
    expect(await hasRoom()).toBe(true)
    chunked.end(body('Hello.', 'test/slow'))
    await expect.poll(() => hasRoom()).toBe(false)
    await expect.poll(async () => (await post(body('x'.repeat(1_000)))).status).toBe(200)
    chunked.destroy()
    await expect.poll(() => hasRoom()).toBe(true)
  })

  test('is given back by a call that is answered and by one whose client leaves', async () => {
    await expect.poll(async () => (await post(body('x'.repeat(TEXT_LIMIT - 1_000)))).status).toBe(200)
    await expect.poll(() => hasRoom()).toBe(true)
    const text = body('Hello.', 'test/slow')
    const leaving = announce({ 'content-length': String(text.length) })
    leaving.end(text)
    await expect.poll(() => hasRoom()).toBe(false)
    leaving.destroy()
    await expect.poll(() => hasRoom()).toBe(true)
  })

  test('is given back when a client leaves while a guardrail is asked about its prompt, which ends too', async () => {
    const { accountId, key } = await stack.account('5.00')
    const answering = Promise.withResolvers<ServerResponse>()
    service.answer = (response) => answering.resolve(response)
    await stack.postgres.guardrail.create({
      data: {
        ...{ id: newId('guard'), accountId, kind: 'http', url: service.url, points: ['prompt'] },
        ...{ mayReplace: false, timeoutMs: TIMEOUT_MS, onFailure: 'allow' },
      },
    })
    const text = body('Hello.')
    const leaving = announce({ authorization: `Bearer ${key}`, 'content-length': String(text.length) })
    leaving.end(text)
    const response = await answering.promise
    const askedAt = performance.now()
    expect(await hasRoom(key)).toBe(false)
    leaving.destroy()
    await once(response, 'close')
    expect(performance.now() - askedAt).toBeLessThan(TIMEOUT_MS)
    await expect.poll(() => hasRoom(key)).toBe(true)
    expect(await stack.postgres.callRecord.count({ where: { accountId } })).toBe(0)
  })

  test('a body without media is a 413 beyond the limit of text', async () => {
    const { key: other } = await stack.account('5.00')
    const long = await post(body('x'.repeat(TEXT_LIMIT)), other)
    expect(long).toMatchObject({ status: 413, code: 'request_too_large' })
    expect((await post(body('x'.repeat(TEXT_LIMIT - 1_000)), other)).status).toBe(200)
  })

  test.each(['/v2/chat/completions', '/v2/messages', '/v2/messages/count_tokens'])(
    'a history at %s is a 413 beyond three times the limit of text',
    async (path) => {
      const { key: other } = await stack.account('5.00')
      const long = await post(body('x'.repeat(3 * TEXT_LIMIT)), other, path)
      expect(long.status).toBe(413)
      expect((await post(body('x '.repeat(TEXT_LIMIT)), other, path)).status).toBe(200)
    },
  )
})

describe('requests that are refused', () => {
  test('too many of them within a minute close the gateway to every key of their account, and to no other', async () => {
    const few = await stack.account('5.00')
    const { json } = await stack.command('admin', 'key', 'create', '--account', few.accountId)
    const second = String(json.key)
    for (let index = 0; index < 5; index++) {
      expect((await post('{', [few.key, second][index % 2])).status).toBe(400)
    }
    const refused = await post(body('Hello.'), few.key)
    expect(refused).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(Number(refused.retryAfter)).toBeGreaterThan(0)
    const { key: other } = await stack.account('5.00')
    expect((await post(body('Hello.'), other)).status).toBe(200)
  })

  test('counts of tokens, which no call pays for, count with them', async () => {
    const { key: counting } = await stack.account('5.00')
    const count = () => post(body('Hello.'), counting, '/v2/messages/count_tokens')
    for (let index = 0; index < 5; index++) expect((await count()).status).toBe(200)
    expect(await count()).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
  })

  test('the playground is closed to their account as its keys are', async () => {
    const client = await signedUp(stack.url)
    const created = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'playground' } })
    const path = `/console/api/playground/chat-completions?key_id=${created.key.id}`
    const play = async () => (await client.ask(path, { body: { model: 'test/plain' } })).status
    for (let index = 0; index < 5; index++) expect(await play()).toBe(400)
    expect(await play()).toBe(429)
    expect(await post(body('Hello.'), created.secret)).toMatchObject({ status: 429 })
  })

  test('too many bytes of refused bodies close the gateway to their account', async () => {
    const { key: heavy } = await stack.account('5.00')
    const text = body('x'.repeat(REFUSED_BYTES / 2))
    for (let index = 0; index < 2; index++) expect((await post(text, heavy)).status).toBe(413)
    expect(await post(body('Hello.'), heavy)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
  })
})

test('an admin key is refused before its body is weighed, also where tokens are counted', async () => {
  const admin = await stack.adminKey()
  for (const path of ['/v2/messages/count_tokens', '/v2/messages'])
    expect((await post(body('Hello'), admin, path)).status).toBe(403)
})
