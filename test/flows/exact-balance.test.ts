import { afterAll, beforeAll, expect, test } from 'vitest'
import { promptTokensBound } from '../../src/core/calls/prompt-tokens.ts'
import { formatUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { expectBooksInOrder } from '../helpers/books.ts'
import { ask } from '../helpers/chat-client.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

const CALLS = 1_000
const AFFORDABLE = 10
const WORDS = 200
const MESSAGES = [{ role: 'user' as const, content: 'Go.' }]

let stack: TestStack

beforeAll(async () => {
  stack = await startStack({
    models: { 'test/exact': [{ at: 'alpha', model: `words-${WORDS}.latency-200` }] },
  })
})
afterAll(() => stack?.close())

test.each([
  ['with a key without limits', {}],
  ['with a key of default limits', { requestsPerMinute: null, concurrentCalls: null }],
])(
  'of a thousand calls at once on a balance for ten, ten succeed and the rest are 402, %s',
  async (_, limits) => {
    const holdPico = BigInt(promptTokensBound(MESSAGES, {})) * 1_000_000n + BigInt(WORDS) * 2_000_000n
    const { key, accountId } = await stack.account(formatUsd(picoUsd(holdPico * BigInt(AFFORDABLE))), limits)
    const answers = await Promise.all(
      Array.from({ length: CALLS }, () =>
        ask({ url: stack.url, key }, { model: 'test/exact', max_tokens: WORDS, messages: MESSAGES }),
      ),
    )
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect({ succeeded: count(200), refused: count(402) }).toEqual({
      succeeded: AFFORDABLE,
      refused: CALLS - AFFORDABLE,
    })
    expect(new Set(answers.flatMap(({ errorCode }) => errorCode ?? []))).toEqual(
      new Set(['insufficient_balance']),
    )
    await expectBooksInOrder(stack)
    expect(await stack.postgres.callRecord.count({ where: { accountId } })).toBe(AFFORDABLE)
  },
)
