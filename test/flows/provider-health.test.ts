import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { HEALTH_BREAKERS } from '../../src/platform/redis/redis-keys.ts'
import { ask, streamed } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

/** Of each kind; together more than open a breaker, and soon at their provider. */
const CALLS = 4
const LIMIT_MS = 1_500

const stack = testStack({
  processes: ['dispatch'],
  environment: {
    LAST_FIRST_TOKEN_TIMEOUT_MS: String(LIMIT_MS),
    IDLE_TIMEOUT_MS: String(LIMIT_MS),
    BREAKER_FAILURES: '5',
  },
  models: {
    'test/begins-late': [{ at: 'alpha', model: 'words-5.held' }],
    'test/goes-on': [{ at: 'alpha', model: 'words-30.held-10' }],
    'test/plain': [{ at: 'alpha', model: 'words-5' }],
  },
})
const caller = testAccount(stack, '20.00')

test('a worker that stood still for longer than its limits serves its calls and opens no breaker', async () => {
  const worker = stack.dispatch[0]!
  expect(await ask(caller, { model: 'test/plain' })).toMatchObject({ status: 200 })
  stack.providers.log.clear()
  const silent = Array.from({ length: CALLS }, () => ask(caller, { model: 'test/begins-late' }))
  const begun = Array.from({ length: CALLS }, () => streamed(caller, { model: 'test/goes-on' }))
  await expect.poll(() => stack.providers.log.received).toBe(2 * CALLS)

  worker.pause()
  // The provider answers at once; nobody reads it. The pause is shorter than what its API instance waits for a worker.
  stack.providers.release()
  await delay(LIMIT_MS + 2_000)
  worker.resume()

  for (const answer of await Promise.all(silent))
    expect(answer).toMatchObject({ status: 200, finishReason: 'stop' })
  for (const answer of await Promise.all(begun)) expect(answer).toMatchObject({ done: true, errorCode: null })
  expect(await stack.redis.hgetall(HEALTH_BREAKERS)).toEqual({})
  expect(await ask(caller, { model: 'test/plain' })).toMatchObject({ status: 200 })
  await expectLedgerInOrder(stack)
})
