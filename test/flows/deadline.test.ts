import { afterEach, expect, test } from 'vitest'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const MESSAGES = [{ role: 'user', content: 'Tell me about rail yards.' }]

const stack = testStack({
  environment: { NON_STREAMING_CALL_TIMEOUT_MS: '1500' },
  models: {
    'test/slow': [{ at: 'alpha', model: 'words-2000.rate-50' }],
    'test/native': [{ at: 'delta', model: 'words-2000.rate-50', wire: 'anthropic-messages' }],
    'test/silent': [{ at: 'alpha', model: 'hang-after-role' }],
  },
})
const caller = testAccount(stack, '5.00')
afterEach(() => expectLedgerInOrder(stack))

function post(path: string, body: object): Promise<Response> {
  return postAs(caller.key, `${caller.url}${path}`, { max_tokens: 4_000, messages: MESSAGES, ...body })
}

async function lastRecord() {
  await untilIdle(stack)
  return stack.postgres.callRecord.findFirstOrThrow({ orderBy: { id: 'desc' } })
}

test.each(['/v1/chat/completions', '/v2/chat/completions'])(
  'a whole answer that reaches its deadline comes with what there is as one that reached its limit, and is charged: %s',
  async (path) => {
    const answer = await post(path, { model: 'test/slow' })
    expect(answer.status).toBe(200)
    const { choices } = (await answer.json()) as { choices: Array<{ message: { content: string } }> }
    expect(choices).toMatchObject([{ finish_reason: 'length' }])
    expect(choices[0]!.message.content.split(' ').length).toBeGreaterThan(10)
    const record = await lastRecord()
    expect(record).toMatchObject({ status: 'completed', finishReason: 'length', usageSource: 'counted' })
    expect(record.completionTokens).toBeGreaterThan(10)
    expect(record.chargePico).toBe(
      BigInt(record.promptTokens) * record.promptRatePico! +
        BigInt(record.completionTokens) * record.completionRatePico!,
    )
    expect(record.chargePico).toBeLessThanOrEqual(record.holdPico)
  },
)

test('a native answer says max_tokens', async () => {
  const answer = await post('/v1/messages', { model: 'test/native' })
  expect(answer.status).toBe(200)
  const body = (await answer.json()) as { usage: { output_tokens: number } }
  expect(body).toMatchObject({ stop_reason: 'max_tokens', content: [{ type: 'text' }] })
  expect(body.usage.output_tokens).toBeGreaterThan(10)
  expect(await lastRecord()).toMatchObject({ status: 'completed', finishReason: 'length' })
})

test('without anything produced it is 504, and free', async () => {
  const answer = await post('/v1/chat/completions', { model: 'test/silent' })
  expect(answer.status).toBe(504)
  expect(await answer.json()).toMatchObject({ error: { code: 'upstream_timeout' } })
  expect(await lastRecord()).toMatchObject({ status: 'failed', chargePico: 0n })
})
