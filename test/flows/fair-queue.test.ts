import { expect, test } from 'vitest'
import { ask } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, waitingCalls } from '../helpers/ledger.ts'
import { testStack } from '../helpers/resources.ts'

const FLOOD = 100
const SHARE = 8

const stack = testStack({
  dispatchWorkers: 0,
  environment: {
    QUEUE_WAIT_MS: '170000',
    WORKER_CONCURRENCY: '4',
    ACCOUNT_QUEUE_SHARE: String(SHARE),
  },
  models: { 'test/plain': [{ at: 'alpha', model: 'words-2' }] },
})

test('a call of a quiet account behind a hundred of a flooding one is among the first to be claimed', async () => {
  const [flooding, quiet] = await Promise.all([stack.account('50.00'), stack.account('5.00')])
  const call = (key: string) => ask({ url: stack.url, key }, { model: 'test/plain', max_tokens: 4 })
  const flood = Array.from({ length: FLOOD }, () => call(flooding.key))
  await expect.poll(() => waitingCalls(stack.redis)).toBe(FLOOD)
  const one = call(quiet.key)
  await expect.poll(() => waitingCalls(stack.redis)).toBe(FLOOD + 1)

  await stack.startDispatch()
  expect((await one).status).toBe(200)
  for (const answer of await Promise.all(flood)) expect(answer.status).toBe(200)
  await expectLedgerInOrder(stack)
  const claims = await stack.postgres.callRecord.findMany({ orderBy: { claimedAtMs: 'asc' } })
  const place = claims.findIndex(({ accountId }) => accountId === quiet.accountId)
  // The workers' slots, and the flooding account's share, came before it.
  expect(place).toBeLessThan(SHARE + 5)
  expect(claims).toHaveLength(FLOOD + 1)
})
