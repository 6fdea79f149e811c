import { beforeAll, describe, expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { accountKeys, queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { CHAT_PATH, caller, expectError, MESSAGES, rawExchange } from './wire.ts'

const BODY_LIMIT_BYTES = 32 * 1024 * 1024
const IMAGE = [{ type: 'image_url', image_url: { url: 'https://images.example/cat.png' } }]

const stack = testStack({
  models: {
    'test/plain': [{ at: 'beta', model: 'words-12' }],
    'test/paced': [{ at: 'beta', model: 'words-2000.rate-40' }],
  },
})
const owner = testAccount(stack, '20.00')
const poor = testAccount(stack, '0.000001')
const expired = testAccount(stack, '1.00', { expiresAt: new Date(Date.now() - 1_000) })
const revoked = testAccount(stack, '1.00')
const suspended = testAccount(stack, '1.00')
const call = caller(stack, owner)
const operator = { key: '' }
beforeAll(async () => {
  operator.key = await stack.adminKey()
  await stack.command('admin', 'key', 'revoke', revoked.keyId)
  await stack.command('admin', 'account', 'suspend', suspended.accountId)
  for (const refused of [revoked, suspended])
    await eventually(async () => expect((await caller(stack, refused)({})).status).toBe(403))
})

/** Sends anything at all to the chat-completions endpoint. */
const send = (body: string | ReadableStream, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(stack.url + CHAT_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
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
    const { key } = owner
    const typo = key.slice(0, 20) + (key[20] === 'a' ? 'b' : 'a') + key.slice(21)
    const response = await caller(stack, { key: typo })({ model: 'test/plain' })
    const error = await expectError(response, 401, 'invalid_api_key')
    expect(error.message).not.toContain(typo.slice(6, 14))
  })

  test('takes the scheme in any case', async () => {
    expect((await send(bodyWith({}), { authorization: `bearer ${owner.key}` })).status).toBe(200)
  })

  test('answers 403 to revoked, expired, suspended and admin keys', async () => {
    for (const [refused, code] of [
      [revoked, 'key_revoked'],
      [expired, 'key_revoked'],
      [suspended, 'account_suspended'],
      [operator, 'not_permitted'],
    ] as const) {
      const response = await caller(stack, refused)({ model: 'test/plain' })
      expect((await expectError(response, 403, code)).type).toBe('permission_error')
      expect(response.headers.get('www-authenticate')).toBeNull()
    }
  })
})

describe('limits of a key', () => {
  test('answer 429 with Retry-After of 1 to 60 s beyond its requests a minute', async () => {
    const limited = await stack.account('1.00', { requestsPerMinute: 3 })
    const by = caller(stack, limited)
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
    const by = caller(stack, limited)
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
    const response = await caller(stack, limited)({ model: 'test/plain', max_tokens: 1_000 })
    const error = await expectError(response, 402, 'key_limit_exceeded')
    expect(error.type).toBe('billing_error')
    expect(error.message).toMatch(/^The key's spending limit does not cover .* Raise it under API keys/)
    expect(error.metadata).toEqual({
      required_usd: expect.stringMatching(/^0\.00\d+$/),
      available_usd: '0.0001',
      affordable_max_tokens: expect.any(Number),
      top_up_url: expect.stringMatching(/^http/),
      limited_by: 'key',
    })
    const affordable = error.metadata!.affordable_max_tokens as number
    const within = await caller(stack, limited)({ model: 'test/plain', max_tokens: affordable })
    expect(within.status).toBe(200)
  })

  test('answer 402 to an account that cannot pay, streaming or not', async () => {
    for (const stream of [false, true]) {
      const response = await caller(stack, poor)({ model: 'test/plain', max_tokens: 1_000, stream })
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
    expect((await caller(stack, account)({ model: 'test/plain', max_tokens: 1 })).status).toBe(200)
    return caller(stack, account)
  }

  test('is key, then request, then rate, then balance', async () => {
    const brokenBody = { model: 'test/none', temperature: 9, messages: [{ role: 'user', content: IMAGE }] }
    await expectError(await caller(stack, { key: 'sk-sy-none' })(brokenBody), 401, 'invalid_api_key')
    await expectError(await caller(stack, revoked)(brokenBody), 403, 'key_revoked')
    await expectError(await caller(stack, operator)(brokenBody), 403, 'not_permitted')
    const by = await spent()
    await expectError(await by(brokenBody), 400, 'invalid_request')
    await expectError(await by({ model: 'test/none' }), 404, 'model_not_found')
    const image = { model: 'test/plain', messages: [{ role: 'user', content: IMAGE }] }
    await expectError(await by(image), 422, 'unsupported_shape')
    await expectError(await by({ model: 'test/plain', max_tokens: 4_000 }), 429, 'rate_limit_exceeded')
    await expectError(
      await caller(stack, poor)({ model: 'test/plain', max_tokens: 1_000 }),
      402,
      'insufficient_balance',
    )
  })

  test('refuses a key before the body is read, whatever it is', async () => {
    const headers = { authorization: `Bearer ${revoked.key}`, 'content-type': 'text/plain' }
    await expectError(await send('not JSON', headers), 403, 'key_revoked')
    const admin = { authorization: `Bearer ${operator.key}` }
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
    const bySpent = await spent()
    const before = await traces()
    await Promise.all([
      call({ model: 'test/none' }),
      call({ model: 'test/plain', temperature: 9 }),
      call({ model: 'test/plain', provider: { zdr: true } }),
      call({ model: 'test/plain', messages: [{ role: 'user', content: IMAGE }] }),
      caller(stack, poor)({ model: 'test/plain', max_tokens: 1_000 }),
      bySpent({ model: 'test/plain', max_tokens: 4_000 }),
      caller(stack, operator)({ model: 'test/plain' }),
      send('{'),
    ])
    expect(await traces()).toEqual(before)
  })

  async function traces() {
    await stack.settled(owner.accountId)
    return {
      jobs: await stack.redis.get(`${queuePrefix(0)}:dispatch:events:length`),
      dispatched: await stack.redis.xlen(`${queuePrefix(0)}:dispatch:events`),
      settlements: await stack.redis.xlen(`${queuePrefix(0)}:settlement:events`),
      accounts: (await stack.redis.keys(accountKeys('*').record)).sort(),
      held: await stack.redis.hget(accountKeys(owner.accountId).record, 'held'),
      records: await stack.postgres.callRecord.count(),
      upstream: stack.providers.log.received,
    }
  }
})
