import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { accountKeys, QUEUE_PREFIX } from '../../src/platform/redis/redis-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { type Call, CHAT_PATH, caller, expectError, MESSAGES, rawExchange } from './wire.ts'

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
    },
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
    await eventually(async () => expect((await caller(stack, refusedKey)({})).status).toBe(403))
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
  test.each<[string, Record<string, string>, string]>([
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

  test('answers 401 to a key with a typo, without repeating it', async () => {
    const typo = key.slice(0, 20) + (key[20] === 'a' ? 'b' : 'a') + key.slice(21)
    const response = await caller(stack, typo)({ model: 'test/plain' })
    const error = await expectError(response, 401, 'invalid_api_key')
    expect(error.message).not.toContain(typo.slice(6, 14))
  })

  test('takes the scheme in any case', async () => {
    expect((await send(bodyWith({}), { authorization: `bearer ${key}` })).status).toBe(200)
  })

  test('answers 403 to revoked, expired, suspended and admin keys', async () => {
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

describe('limits of a key', () => {
  test('answer 429 with Retry-After of 1 to 60 s beyond its requests a minute', async () => {
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

  test('answer 429 beyond its concurrent calls, and admit again when one has ended', async () => {
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

  test('answer 402 with what is needed, available and affordable beyond its spending limit', async () => {
    const limited = await stack.account('1.00', { limitPico: parseUsd('0.0001') })
    const response = await caller(stack, limited.key)({ model: 'test/plain', max_tokens: 1_000 })
    const error = await expectError(response, 402, 'key_limit_exceeded')
    expect(error.type).toBe('billing_error')
    expect(error.metadata).toEqual({
      required_usd: expect.stringMatching(/^0\.00\d+$/),
      available_usd: '0.0001',
      affordable_max_tokens: expect.any(Number),
      top_up_url: expect.stringMatching(/^http/),
      limited_by: 'key',
    })
    const affordable = error.metadata!.affordable_max_tokens as number
    const within = await caller(stack, limited.key)({ model: 'test/plain', max_tokens: affordable })
    expect(within.status).toBe(200)
  })

  test('answer 402 to an account that cannot pay, streaming or not', async () => {
    for (const stream of [false, true]) {
      const response = await caller(stack, poorKey)({ model: 'test/plain', max_tokens: 1_000, stream })
      const error = await expectError(response, 402, 'insufficient_balance')
      expect(error.metadata).toMatchObject({ available_usd: '0.000001', affordable_max_tokens: 0 })
      // No token limit would be low enough.
      expect(error.message).not.toMatch(/token limit/)
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

  test('is key, then request, then rate, then balance', async () => {
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

  test('refuses a key before the body is read, whatever it is', async () => {
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

  test('leaves nothing behind of a refused call: no job, no hold, no record', async () => {
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
      jobs: await stack.redis.get(`${QUEUE_PREFIX}:dispatch:events:length`),
      dispatched: await stack.redis.xlen(`${QUEUE_PREFIX}:dispatch:events`),
      settlements: await stack.redis.xlen(`${QUEUE_PREFIX}:settlement:events`),
      holds: await stack.redis.keys(accountKeys('*').holds),
      held: await stack.redis.get(accountKeys(accountId).held),
      records: await stack.postgres.callRecord.count(),
      upstream: stack.providers.log.received,
    }
  }
})
