import { expect, test } from 'vitest'
import { ask, streamed } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const LIMIT = 15
/** What may pass of an answer beyond its limit, see limit-guard.ts. */
const BYTES_MAX = (2 * LIMIT + 64) * 8

const stack = testStack({
  models: {
    'test/runs-on': [{ at: 'alpha', model: 'words-20000.ignore-limit' }],
    'test/whole': [{ at: 'alpha', model: 'words-20000.ignore-limit.ignore-stream' }],
  },
})
const caller = testAccount(stack, '5.00')

const asked = (model: string) => ({ model, max_tokens: LIMIT })

test.each([
  ['a stream', () => streamed(caller, asked('test/runs-on'))],
  ['an answer given whole', () => ask(caller, asked('test/runs-on'))],
  ['a stream of what its provider sends in one piece', () => streamed(caller, asked('test/whole'))],
])('%s that runs past its limit ends as one that reached it, and costs no more', async (_, call) => {
  const answer = await call()
  expect(answer).toMatchObject({ status: 200, finishReason: 'length', errorCode: null })
  expect(answer.text!.length).toBeLessThanOrEqual(BYTES_MAX)
  await untilIdle(stack)
  const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: answer.id! } })
  expect(record).toMatchObject({ status: 'completed', completionTokens: LIMIT, usageSource: 'counted' })
  expect(record.chargePico).toBe(BigInt(record.promptTokens) * 1_000_000n + BigInt(LIMIT) * 2_000_000n)
  await expectLedgerInOrder(stack)
})
