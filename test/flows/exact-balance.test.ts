import { expect, test } from 'vitest'
import { formatUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { allAtOnce } from '../helpers/all-at-once.ts'
import { ask } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { getAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const CALLS = 1_000
const AFFORDABLE = 10
const WORDS = 200
const MESSAGES = [{ role: 'user' as const, content: 'Go.' }]

const stack = testStack({
  models: { 'test/held': [{ at: 'alpha', model: `words-${WORDS}.held` }] },
  // A thousand connections at once are more than a server lets wait to be accepted.
  apis: 2,
})

/** A machine that is busy with others sheds the calls for which it has no turn in time: they come again. */
async function served(...call: Parameters<typeof ask>): ReturnType<typeof ask> {
  const answer = await ask(...call)
  return answer.errorCode === 'overloaded' ? served(...call) : answer
}

test.each([
  ['with a key without limits', {}],
  ['with a key of default limits', { requestsPerMinute: null, concurrentCalls: null }],
])(
  'of a thousand calls at once on a balance for ten, ten succeed and the rest are 402, %s',
  async (_, limits) => {
    const holdPico = BigInt(promptTokensBound(MESSAGES, {})) * 1_000_000n + BigInt(WORDS) * 2_000_000n
    const { key, accountId } = await stack.account(formatUsd(picoUsd(holdPico * BigInt(AFFORDABLE))), limits)
    // A starved PostgreSQL would refuse all of them by their key before they come to the balance.
    for (const url of stack.urls)
      await eventually(async () => {
        const response = await getAs(key, `${url}/v1/key`)
        expect(response.status).toBe(200)
      })
    const answers = await allAtOnce(stack.providers, CALLS, (index) =>
      served(
        { url: stack.urls[index % 2]!, key },
        { model: 'test/held', max_tokens: WORDS, messages: MESSAGES },
      ),
    )
    const count = (code: string | null) => answers.filter(({ errorCode }) => errorCode === code).length
    expect({ succeeded: count(null), refused: count('insufficient_balance') }).toEqual({
      succeeded: AFFORDABLE,
      refused: CALLS - AFFORDABLE,
    })
    await expectLedgerInOrder(stack)
    expect(await stack.postgres.callRecord.count({ where: { accountId } })).toBe(AFFORDABLE)
  },
)
