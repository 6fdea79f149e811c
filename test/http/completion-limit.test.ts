import { describe, expect, test } from 'vitest'
import { formatUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { testStack } from '../helpers/resources.ts'
import { type CallOptions, caller, completionOf, readStream } from './wire.ts'

const WORDS = 100
const AFFORDED = 30
const MESSAGES = [{ role: 'user' as const, content: 'Go.' }]
/** What a call of AFFORDED completion tokens holds. */
const SHORT = picoUsd(BigInt(promptTokensBound(MESSAGES, {})) * 1_000_000n + BigInt(AFFORDED) * 2_000_000n)

const stack = testStack({ models: { 'test/plain': [{ at: 'alpha', model: `words-${WORDS}` }] } })

/** Makes a call and reads what its head and its end say of the limit. */
async function limitOf(key: string, body: Record<string, unknown>, options?: CallOptions) {
  const response = await caller(stack, { key })({ model: 'test/plain', messages: MESSAGES, ...body }, options)
  const header = response.headers.get('x-completion-limit')
  if (!body.stream) {
    const { choices, usage } = await completionOf(response)
    return { header, finish: choices[0]!.finish_reason, tokens: usage?.completion_tokens }
  }
  const { chunks, last } = readStream(await response.text())
  const finish = chunks.find(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason
  return { header, finish, tokens: last.usage?.completion_tokens }
}

const CUT = { header: String(AFFORDED), finish: 'length', tokens: AFFORDED }

describe.each([false, true])('x-completion-limit, streaming: %s', (stream) => {
  test('says what a short balance left of the completion limit', async () => {
    const { key } = await stack.account(formatUsd(SHORT))
    expect(await limitOf(key, { stream })).toEqual(CUT)
  })

  test('says what a short spending limit of the key left of it', async () => {
    const { key } = await stack.account('20.00', { limitPico: SHORT })
    expect(await limitOf(key, { stream })).toEqual(CUT)
  })

  test('is said to a repeat with the same Idempotency-Key', async () => {
    const { key } = await stack.account(formatUsd(SHORT))
    const headers = { 'idempotency-key': 'short' }
    expect(await limitOf(key, { stream }, { headers })).toEqual(CUT)
    expect(await limitOf(key, { stream }, { headers })).toEqual(CUT)
  })

  test('is absent where the balance covers the whole limit', async () => {
    const { key } = await stack.account('20.00')
    expect(await limitOf(key, { stream })).toEqual({ header: null, finish: 'stop', tokens: WORDS })
  })

  test('is absent where the request itself limits the answer', async () => {
    const { key } = await stack.account(formatUsd(SHORT))
    expect(await limitOf(key, { stream, max_tokens: AFFORDED })).toEqual({ ...CUT, header: null })
  })
})
