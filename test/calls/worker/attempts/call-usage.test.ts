import { describe, expect, test } from 'vitest'
import {
  checkUsage,
  isPlausibleCompletion,
  promptFault,
  type UsageLimits,
  usageOf,
  withinHold,
} from '../../../../src/calls/worker/attempts/call-usage.ts'
import { NOTHING_PRODUCED } from '../../../../src/core/calls/attempt-outcome.ts'
import type { Candidate } from '../../../../src/core/calls/call-job.ts'
import { NOTHING_USED } from '../../../../src/core/calls/call-outcome.ts'
import type { UsageFaults } from '../../../../src/core/calls/usage.ts'
import { createLogger } from '../../../../src/platform/observability/logger.ts'
import { candidateOf, chatOf, envelopeOf } from '../../../helpers/call-shapes.ts'

const LIMITS: UsageLimits = {
  promptTokensBound: 100,
  contextLength: 128_000,
  completionLimit: 4_000,
  hasMedia: false,
  contentBytes: 50,
  mayReason: false,
}

describe('the reported tokens of a prompt', () => {
  test.each([1, 7, 100])('are believed up to the bound: %d', (tokens) => {
    expect(promptFault(tokens, LIMITS)).toBeNull()
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, 4_497, 128_001])(
    'cannot be %d',
    (tokens) => {
      expect(promptFault(tokens, LIMITS)).toBe('absurd')
    },
  )

  test('show a bound that was too low where they are somewhat more, or as much as media may take', () => {
    expect(promptFault(101, LIMITS)).toBe('beyond-bound')
    expect(promptFault(4_496, LIMITS)).toBe('beyond-bound')
    expect(promptFault(100_000, { ...LIMITS, hasMedia: true })).toBe('beyond-bound')
    expect(promptFault(128_001, { ...LIMITS, hasMedia: true })).toBe('absurd')
  })
})

describe('the reported tokens of a completion', () => {
  test.each([1, 12, 300])('are believed where so much text can take them: %d', (tokens) => {
    expect(isPlausibleCompletion(tokens, LIMITS)).toBe(true)
  })

  test.each([0, 301, 4_001, -1, 2.5, Number.NaN])('cannot be %d', (tokens) => {
    expect(isPlausibleCompletion(tokens, LIMITS)).toBe(false)
  })

  test('are believed up to the limit where the model may have reasoned', () => {
    expect(isPlausibleCompletion(4_000, { ...LIMITS, mayReason: true })).toBe(true)
    expect(isPlausibleCompletion(4_001, { ...LIMITS, mayReason: true })).toBe(false)
  })

  test('may be 0 where nothing was said', () => {
    expect(isPlausibleCompletion(0, { ...LIMITS, contentBytes: 0 })).toBe(true)
  })
})

test('our own figures never come to more than was held', () => {
  const much = { promptTokens: 1_000, completionTokens: 9_000 }
  expect(withinHold(much, LIMITS)).toEqual({ promptTokens: 100, completionTokens: 4_000 })
})

test('uses of tools are charged, and tokens counted, where a completion broke off before its usage', async () => {
  const usage = { promptTokens: 0, completionTokens: 1, webSearches: 2 }
  const answer = { text: 'a b c', finalUsage: null, produced: { ...NOTHING_PRODUCED, usage } }
  const served = candidateOf({ uses: { webSearches: 10, codeExecutions: 0 } })
  const call = { envelope: envelopeOf(), content: chatOf(), served }
  const { used } = await usageOf(answer, call, { text: async () => 3, prompt: async () => 90 })
  expect(used).toMatchObject({
    usage: { promptTokens: 90, completionTokens: 3, webSearches: 2 },
    usageSource: 'counted',
    usageClamped: false,
  })
})

test('uses of tools are charged up to those that were held for, and none where none were', () => {
  const used = { promptTokens: 1, completionTokens: 1, webSearches: 5, codeExecutions: 1 }
  const plain = { promptTokens: 1, completionTokens: 1 }
  expect(withinHold(used, { ...LIMITS, uses: { webSearches: 3, codeExecutions: 0 } })).toEqual({
    ...plain,
    webSearches: 3,
  })
  expect(withinHold(used, { ...LIMITS, uses: { webSearches: 9, codeExecutions: 1 } })).toEqual(used)
  expect(withinHold(used, LIMITS)).toEqual(plain)
})

describe('a prompt beyond its bound', () => {
  const told: unknown[][] = []
  const board = {
    learn: (...args: unknown[]) => void told.push(['learn', ...args.slice(0, 3)]),
    exclude: (...args: unknown[]) => void told.push(['exclude', ...args.slice(0, 3)]),
  }
  /** Our own count of the empty prompt is 3. */
  const taught = async (
    promptTokens: number,
    prompt: UsageFaults['prompt'],
    served: Partial<Candidate> = {},
  ) => {
    told.length = 0
    await checkUsage(
      { promptTokens, completionTokens: 2 },
      {
        used: { ...NOTHING_USED, usage: { promptTokens, completionTokens: 2 } },
        faults: { prompt, completion: false },
      },
      {
        envelope: envelopeOf(),
        content: chatOf([]),
        served: candidateOf({ offerId: 'acme/one', promptTokensBound: 1_000, ...served }),
      },
      { board, logger: createLogger('silent', 'test') },
    )
    return told
  }

  test('teaches the tokens above our own count, rounded up', async () => {
    expect(await taught(1_010, 'beyond-bound')).toEqual([['learn', 'acme/one', 'text', 1_024]])
    expect(await taught(1_010, 'beyond-hold')).toEqual([['learn', 'acme/one', 'text', 1_024]])
  })

  test('closes the offer to its account where no call could hold as much, and only if it was not paid', async () => {
    expect(await taught(4_200, 'beyond-hold')).toEqual([['exclude', 'acme/one', 'text', 'acct_1']])
    expect(await taught(4_200, 'beyond-bound')).toEqual([])
  })

  test('says nothing where tools of the provider filled it', async () => {
    const uses = { webSearches: 1, codeExecutions: 0 }
    expect(await taught(90_000, 'beyond-hold', { uses })).toEqual([])
  })

  test('says nothing where the report is impossible, or the key is the client’s', async () => {
    expect(await taught(4_200, 'absurd')).toEqual([])
    expect(await taught(1_010, 'beyond-bound', { providerKeyId: 'key_1' })).toEqual([])
    expect(await taught(4_200, 'beyond-hold', { providerKeyId: 'key_1' })).toEqual([])
  })
})
