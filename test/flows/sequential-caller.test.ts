import { describe, expect, test } from 'vitest'
import { keyBudget } from '../../src/core/billing/budget.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { allowanceKey } from '../../src/platform/redis/redis-keys.ts'
import { ask, stream } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testStack } from '../helpers/resources.ts'

const CALLS = 40
const MESSAGES = [{ role: 'user' as const, content: 'Go.' }]
const WORDS = 12
/** The balance is this; a call may cost nearly all of it, and costs a two-hundredth. */
const BALANCE = '0.010000000000'
const MAX_TOKENS = 4_900
const BODY = { model: 'test/plain', max_tokens: MAX_TOKENS, messages: MESSAGES }

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/broken': [{ at: 'alpha', model: 'status-500' }],
  },
  apis: 2,
})

describe('a caller that sends one call after another, with a balance that covers one hold', () => {
  test('is never refused, whichever API instance it asks', async () => {
    const { key } = await stack.account(BALANCE)
    for (let call = 0; call < CALLS; call++) {
      const answer = await ask({ url: stack.urls[call % 2]!, key }, BODY)
      expect(answer).toMatchObject({ status: 200, errorCode: null })
    }
    await expectLedgerInOrder(stack)
  })

  test('is never refused when it streams', async () => {
    const { key } = await stack.account(BALANCE)
    for (let call = 0; call < CALLS; call++) {
      const open = await stream({ url: stack.urls[call % 2]!, key }, BODY)
      expect(await open.end).toMatchObject({ status: 200, done: true })
    }
    await expectLedgerInOrder(stack)
  })

  test('is never refused after calls that failed', async () => {
    const { key } = await stack.account(BALANCE)
    for (let call = 0; call < 5; call++) {
      const failed = await ask({ url: stack.urls[call % 2]!, key }, { ...BODY, model: 'test/broken' })
      expect(failed.status).toBeGreaterThanOrEqual(500)
    }
    expect(await ask({ url: stack.url, key }, BODY)).toMatchObject({ status: 200 })
    await expectLedgerInOrder(stack)
  })

  test('is not refused by a spending limit of the key either, and the limit stays exact', async () => {
    const hold = BigInt(promptTokensBound(MESSAGES, {})) * 1_000_000n + BigInt(MAX_TOKENS) * 2_000_000n
    const limitPico = picoUsd(hold + hold / 10n)
    const { key, keyId, accountId } = await stack.account('5.00', { limitPico })
    for (let call = 0; call < 20; call++) {
      expect(await ask({ url: stack.url, key }, BODY)).toMatchObject({ status: 200 })
    }
    await expectLedgerInOrder(stack)
    const { _sum } = await stack.postgres.callRecord.aggregate({
      where: { keyId },
      _sum: { chargePico: true },
    })
    const left = allowanceKey(keyBudget(accountId, keyId), 'total')
    expect(await stack.redis.get(left)).toBe(String(limitPico - (_sum.chargePico ?? 0n)))
  })
})
