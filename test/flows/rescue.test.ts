import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { ask, type Caller, streamed } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { getAs } from '../helpers/requests.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

const WORDS = 40

let stack: TestStack
let caller: Caller
let whole: string
let promptTokens: number

beforeAll(async () => {
  // So much cheaper that the draw by price makes alpha the first as good as always.
  const pair = (model: string, beta = model) => [
    { at: 'alpha', model, cost: '0.0001' },
    { at: 'beta', model: beta, cost: '0.50' },
  ]
  stack = await startStack({
    environment: { IDLE_TIMEOUT_MS: '500' },
    models: {
      'test/plain': pair(`words-${WORDS}`),
      'test/cut': pair(`words-${WORDS}.on-alpha-cut-after-7`),
      'test/reset': pair(`words-${WORDS}.multibyte.on-alpha-reset-after-7`),
      'test/end': pair(`words-${WORDS}.on-alpha-end-after-7`),
      'test/stall': pair(`words-${WORDS}.on-alpha-stall-after-7`),
      'test/broken': [{ at: 'alpha', model: `words-${WORDS}.cut-after-7.tag-broken` }],
      'test/backup': {
        offers: [{ at: 'beta', model: `words-${WORDS}.tag-backup` }],
        list_price: { prompt: '8.00', completion: '10.00' },
        rate: { prompt: '7.00', completion: '9.00' },
      },
      'test/error': pair(`words-${WORDS}.on-alpha-error-event-7`),
      'test/different': pair(`words-${WORDS}.different-text.on-alpha-cut-after-7`),
      'test/shorter': pair(`words-${WORDS}.on-alpha-cut-after-20`, 'words-5'),
      'test/prefill': [
        { at: 'alpha', model: `words-${WORDS}.cut-after-7`, cost: '0.0001' },
        { at: 'beta', model: `words-${WORDS}.prefill.tag-beta`, cost: '0.50', assistant_prefill: true },
      ],
    },
  })
  caller = await stack.account('5.00')
  const answer = await ask(caller, { model: 'test/plain' })
  whole = answer.text!
  await untilIdle(stack)
  promptTokens = (await record(answer.id!)).promptTokens
})
afterAll(() => stack?.close())

const record = (id: string) => stack.postgres.callRecord.findUniqueOrThrow({ where: { id } })

describe('a stream that breaks after content', () => {
  test.each(['cut', 'end', 'stall', 'error'])(
    '(%s) a broken stream is continued by a provider with the same text and charged once for the whole',
    async (fault) => {
      const answer = await streamed(caller, { model: `test/${fault}` })
      expect(answer).toMatchObject({ text: whole, done: true, finishReason: 'stop', errorCode: null })
      await expectLedgerInOrder(stack)
      const charged = await record(answer.id!)
      expect(charged).toMatchObject({ status: 'completed', completionTokens: WORDS, promptTokens })
      expect(charged.chargePico).toBe(BigInt(promptTokens) * 1_000_000n + BigInt(WORDS) * 2_000_000n)
      expect(charged.attempts).toMatchObject([{}, { outcome: 'ok' }])
    },
  )

  test('a broken stream is continued by another listed model under the first name and price', async () => {
    const answer = await streamed(caller, { models: ['test/broken', 'test/backup'] })
    expect(answer).toMatchObject({ text: whole, done: true, finishReason: 'stop', model: 'test/broken' })
    await expectLedgerInOrder(stack)
    const charged = await record(answer.id!)
    expect(charged).toMatchObject({ status: 'completed', requestedModel: 'test/broken' })
    expect(charged.chargePico).toBe(BigInt(promptTokens) * 1_000_000n + BigInt(WORDS) * 2_000_000n)
    expect(charged.attempts).toMatchObject([{}, {}, { outcome: 'ok', rescued: true }])
    const lookup = await getAs(caller.key, `${stack.url}/v1/generations/${answer.id}`)
    expect(await lookup.json()).toMatchObject({ model: 'test/broken', rescued: true })
  })

  test('is byte-identical with characters of several bytes', async () => {
    const plain = await ask(caller, { model: 'test/reset' })
    const answer = await streamed(caller, { model: 'test/reset' })
    expect(answer).toMatchObject({ text: plain.text, done: true })
    await expectLedgerInOrder(stack)
  })

  test.each(['different', 'shorter'])(
    'ends truthfully when the other provider says something else (%s), and is charged for what came',
    async (kind) => {
      const answer = await streamed(caller, { model: `test/${kind}` })
      expect(answer).toMatchObject({ status: 200, done: false, finishReason: 'error' })
      expect(answer.errorCode).toBe('all_providers_failed')
      expect(answer.text.length).toBeGreaterThan(0)
      await expectLedgerInOrder(stack)
      const charged = await record(answer.id!)
      expect(charged).toMatchObject({ status: 'interrupted', usageSource: 'counted' })
      expect(charged.completionTokens).toBe(await countTextTokens(answer.text))
    },
  )

  test('is continued by prefill where the target can, and charged once for the whole', async () => {
    const answer = await streamed(caller, { model: 'test/prefill' })
    expect(answer).toMatchObject({ text: whole, done: true, finishReason: 'stop' })
    const continuation = stack.providers.log.requests.find(({ model }) => model?.includes('tag-beta'))
    const { messages } = continuation!.body as { messages: Array<{ role: string; content: string }> }
    expect(messages.at(-1)?.role).toBe('assistant')
    expect(whole.startsWith(messages.at(-1)!.content)).toBe(true)
    await expectLedgerInOrder(stack)
    const charged = await record(answer.id!)
    expect(charged.status).toBe('completed')
    expect(charged.chargePico).toBeLessThanOrEqual(charged.holdPico)
  })
})
