import { expect, test } from 'vitest'
import { allAtOnce } from '../helpers/all-at-once.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { openCalls } from '../helpers/open-hold.ts'
import { postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

/** More than an account may have open. */
const CALLS = 30
const KEY_CALLS = 5
const ACCOUNT_CALLS = 8
const DEFAULT_LIMITS = { requestsPerMinute: null, concurrentCalls: null }

const stack = testStack({
  models: {
    'test/held': [{ at: 'alpha', model: 'words-10.held' }],
  },
  apis: 2,
  environment: {
    CONCURRENT_CALLS: String(KEY_CALLS),
    ACCOUNT_CONCURRENT_CALLS: String(ACCOUNT_CALLS),
  },
})

async function statusOf(key: string, url: string) {
  const response = await postAs(key, `${url}/v1/chat/completions`, {
    model: 'test/held',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Go.' }],
  })
  await response.body?.cancel()
  return response.status
}

/** Sends many calls at once, by turns with each key and to either API instance. None ends before all were decided on. */
const storm = (keys: string[]) =>
  allAtOnce(stack.providers, CALLS, (index) =>
    statusOf(keys[index % keys.length]!, stack.urls[Math.floor(index / 2) % 2]!),
  )

/** An account with two keys of default limits. */
async function twoKeys() {
  const { accountId, key } = await stack.account('20.00', DEFAULT_LIMITS)
  const { json } = await stack.command('admin', 'key', 'create', '--account', accountId)
  return { accountId, keys: [key, json.key as string] }
}

const succeeded = (statuses: number[]) => statuses.filter((status) => status === 200).length

test('the operator raises and lowers what an account may have open, everywhere without waiting for the reload', async () => {
  const { accountId, keys } = await twoKeys()
  expect(succeeded(await storm(keys))).toBe(ACCOUNT_CALLS)
  expect(await openCalls(stack.redis, accountId)).toBe(0)
  const limit = (calls: string) =>
    stack.command('admin', 'account', 'limits', accountId, '--concurrency', calls)
  expect((await limit('3')).json).toMatchObject({ concurrent_calls: 3, requests_per_minute: null })
  await expect.poll(async () => succeeded(await storm(keys))).toBe(3)
  expect((await limit('default')).json).toMatchObject({ concurrent_calls: null })
  await expect.poll(async () => succeeded(await storm(keys))).toBe(ACCOUNT_CALLS)
  await expectLedgerInOrder(stack)
})
