import { describe, expect, test } from 'vitest'
import { keyBudget } from '../../src/core/billing/budget.ts'
import { formatUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { allowanceKey } from '../../src/platform/redis/redis-keys.ts'
import { allAtOnce } from '../helpers/all-at-once.ts'
import { ask, stream, type WholeAnswer } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const CALLS = 200
const WORDS = 100
const MESSAGES = [{ role: 'user' as const, content: 'Go.' }]
/** What one call holds. */
const HOLD = BigInt(promptTokensBound(MESSAGES, {})) * 1_000_000n + BigInt(WORDS) * 2_000_000n

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }],
    'test/held': [{ at: 'alpha', model: `words-${WORDS}.held` }],
    'test/begun': [{ at: 'alpha', model: `words-${WORDS}.held-10` }],
  },
  apis: 2,
})

/** Sends many calls at once, by turns to either API instance. None ends before all were decided on. */
const storm = (key: string): Promise<WholeAnswer[]> =>
  allAtOnce(stack.providers, CALLS, (index) =>
    ask({ url: stack.urls[index % 2]!, key }, { model: 'test/held', max_tokens: WORDS, messages: MESSAGES }),
  )

const outcomes = (answers: WholeAnswer[]) => ({
  succeeded: answers.filter(({ status }) => status === 200).length,
  refused: answers.filter(({ errorCode }) => errorCode === 'key_limit_exceeded').length,
})

async function spent(keyId: string): Promise<bigint> {
  const { _sum } = await stack.postgres.callRecord.aggregate({ where: { keyId }, _sum: { chargePico: true } })
  return _sum.chargePico ?? 0n
}

describe('of two hundred calls at once at two API instances', () => {
  test('five succeed on a key limit for five, though the account could pay for all', async () => {
    const limitPico = picoUsd(HOLD * 5n)
    const { key, keyId, accountId } = await stack.account('20.00', { limitPico })
    expect(outcomes(await storm(key))).toEqual({ succeeded: 5, refused: CALLS - 5 })
    await expectLedgerInOrder(stack)
    expect(await spent(keyId)).toBeLessThanOrEqual(limitPico)
    const left = allowanceKey(keyBudget(accountId, keyId), 'total')
    expect(await stack.redis.get(left)).toBe(String(limitPico - (await spent(keyId))))
  })

  test('no more succeed when the figure is lost meanwhile: open calls still count', async () => {
    const limitPico = picoUsd(HOLD * 5n)
    const { key, keyId, accountId } = await stack.account('20.00', { limitPico })
    const left = allowanceKey(keyBudget(accountId, keyId), 'total')
    const caller = { url: stack.url, key }
    const open = await Promise.all(
      [1, 2].map(() => stream(caller, { model: 'test/begun', max_tokens: WORDS, messages: MESSAGES })),
    )
    await Promise.all(open.map((one) => one.said(1)))
    await stack.redis.del(left)
    expect(outcomes(await storm(key))).toEqual({ succeeded: 3, refused: CALLS - 3 })
    for (const one of open) one.hangUp()
    await expectLedgerInOrder(stack)
    expect(await spent(keyId)).toBeLessThanOrEqual(limitPico)
    expect(await stack.redis.get(left)).toBe(String(limitPico - (await spent(keyId))))
  })

  test('as many calls succeed as the key may have open, and the others get 429', async () => {
    const { key } = await stack.account('20.00', { concurrentCalls: 7 })
    const answers = await storm(key)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7)
    const others = answers.filter(({ status }) => status !== 200)
    expect(new Set(others.map(({ errorCode }) => errorCode))).toEqual(new Set(['concurrency_limit_exceeded']))
    await expectLedgerInOrder(stack)
  })

  test('as many succeed as the key may send a minute', async () => {
    const { key } = await stack.account('20.00', { requestsPerMinute: 9 })
    const answers = await storm(key)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
    const others = answers.filter(({ status }) => status !== 200)
    expect(new Set(others.map(({ errorCode }) => errorCode))).toEqual(new Set(['rate_limit_exceeded']))
    await expectLedgerInOrder(stack)
  })
})

test('a call without a limit of its own gets what the key affords, and no call passes that', async () => {
  const limitPico = picoUsd(HOLD)
  const { key, keyId } = await stack.account('20.00', { limitPico, limitReset: 'daily' })
  const caller = { url: stack.url, key }
  const first = await ask(caller, { model: 'test/plain', messages: MESSAGES })
  expect(first).toMatchObject({ status: 200, finishReason: 'stop' })
  await expectLedgerInOrder(stack)
  const response = await postAs(key, `${stack.url}/v1/chat/completions`, {
    model: 'test/plain',
    messages: MESSAGES,
    max_tokens: WORDS,
  })
  const { error } = (await response.json()) as { error: { metadata: Record<string, string> } }
  expect(response.status).toBe(402)
  expect(error.metadata).toMatchObject({
    required_usd: formatUsd(picoUsd(HOLD)),
    available_usd: formatUsd(picoUsd(limitPico - (await spent(keyId)))),
  })
})
