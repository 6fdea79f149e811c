import { describe, expect, test } from 'vitest'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'
import { allAtOnce } from '../helpers/all-at-once.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const CALLS = 200
/** More than an account may have open. */
const FEW_CALLS = 30
const KEY_CALLS = 5
const ACCOUNT_CALLS = 8
const DEFAULT_LIMITS = { requestsPerMinute: null, concurrentCalls: null }

const stack = testStack({
  models: {
    'test/held': [{ at: 'alpha', model: 'words-10.held' }],
    'test/quick': [{ at: 'alpha', model: 'words-2' }],
  },
  apis: 2,
  environment: {
    CONCURRENT_CALLS: String(KEY_CALLS),
    ACCOUNT_CONCURRENT_CALLS: String(ACCOUNT_CALLS),
  },
})

async function call(key: string, model: string, url = stack.url) {
  const response = await postAs(key, `${url}/v1/chat/completions`, {
    model,
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Go.' }],
  })
  const { error } = (await response.json()) as { error?: { code: string; message: string } }
  return { status: response.status, headers: response.headers, code: error?.code, message: error?.message }
}

/** Sends many calls at once, by turns with each key and to either API instance. None ends before all were decided on. */
const storm = (keys: string[], calls = CALLS) =>
  allAtOnce(stack.providers, calls, (index) =>
    call(keys[index % keys.length]!, 'test/held', stack.urls[Math.floor(index / 2) % 2]),
  )

/** An account with two keys of default limits. */
async function twoKeys() {
  const { accountId, key } = await stack.account('20.00', DEFAULT_LIMITS)
  const { json } = await stack.command('admin', 'key', 'create', '--account', accountId)
  return { accountId, keys: [key, json.key as string] }
}

const succeeded = (answers: Array<{ status: number }>) =>
  answers.filter(({ status }) => status === 200).length

describe('of two hundred calls at once', () => {
  test('as many succeed as the operator grants every key, whatever the customer stored for this one', async () => {
    const { key } = await stack.account('20.00', { ...DEFAULT_LIMITS, customerConcurrentCalls: 100_000 })
    const answers = await storm([key])
    expect(succeeded(answers)).toBe(KEY_CALLS)
    const others = answers.filter(({ status }) => status !== 200)
    expect(new Set(others.map(({ code }) => code))).toEqual(new Set(['concurrency_limit_exceeded']))
    expect(others[0]!.message).toMatch(/^This key /)
    await expectLedgerInOrder(stack)
  })

  test('with two keys, as many succeed as their account may have open, and no slot is lost', async () => {
    const { accountId, keys } = await twoKeys()
    for (let round = 0; round < 3; round++) {
      const answers = await storm(keys)
      expect(succeeded(answers)).toBe(ACCOUNT_CALLS)
      expect(answers.some(({ message }) => message?.startsWith('The keys of this account together'))).toBe(
        true,
      )
      expect(await stack.redis.zcard(accountKeys(accountId).open)).toBe(0)
    }
    await expectLedgerInOrder(stack)
  })
})

test('the operator raises and lowers what an account may have open, everywhere without waiting for the reload', async () => {
  const { accountId, keys } = await twoKeys()
  const limit = (calls: string) =>
    stack.command('admin', 'account', 'limits', accountId, '--concurrency', calls)
  expect((await limit('3')).json).toMatchObject({ concurrent_calls: 3, requests_per_minute: null })
  await expect.poll(async () => succeeded(await storm(keys, FEW_CALLS))).toBe(3)
  expect((await limit('default')).json).toMatchObject({ concurrent_calls: null })
  await expect.poll(async () => succeeded(await storm(keys, FEW_CALLS))).toBe(ACCOUNT_CALLS)
  await expectLedgerInOrder(stack)
})

test('the keys of an account share its requests per minute, and the headers show what leaves fewer', async () => {
  const { accountId, keys } = await twoKeys()
  // The fewer, the longer until the next one is allowed.
  const requests = 2
  await stack.command('admin', 'account', 'limits', accountId, '--rpm', String(requests))
  for (let sent = 0; sent < requests; sent++) {
    const answer = await call(keys[sent % 2]!, 'test/quick')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe(String(requests))
    expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe(String(requests - sent - 1))
  }
  const refused = await call(keys[0]!, 'test/quick')
  expect(refused).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
  expect(refused.message).toMatch(/^The keys of this account together/)
  await expectLedgerInOrder(stack)
})
