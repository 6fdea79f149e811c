import { expect, test } from 'vitest'
import { costOf, mostPromptCost, promptTokensCovered } from '../../../src/core/billing/pricing.ts'
import type { Usage } from '../../../src/core/calls/usage.ts'
import { readRates } from '../../../src/core/catalog/token-rates.ts'

/** Each price another power of ten, so that the cost tells what was charged at which. */
const RATES = readRates({
  prompt: '1',
  completion: '10',
  promptAudio: '100',
  promptImage: '1000',
  cacheRead: '10000',
  cacheWrite: '100000',
  cacheWriteHour: '1000000',
  units: '10000000',
  webSearch: '100000000',
  codeExecution: '1000000000',
})
const PLAIN = readRates({ prompt: '1', completion: '10' })
const USAGE: Usage = {
  promptTokens: 20,
  completionTokens: 2,
  audioTokens: 3,
  imageTokens: 4,
  cachedTokens: 5,
  cacheWriteTokens: 7,
  cacheWriteHourTokens: 1,
  units: 7,
  webSearches: 8,
  codeExecutions: 9,
}

test('every part of a usage is charged at its own rate, and the rest of the prompt at the rate of the prompt', () => {
  expect(costOf(USAGE, RATES)).toBe(9_871_654_321n)
})

test('parts of the prompt without a rate of their own cost the rate of the prompt, and uses nothing', () => {
  expect(costOf(USAGE, PLAIN)).toBe(20n + 20n)
  expect(costOf({ promptTokens: 20, completionTokens: 2 }, RATES)).toBe(20n + 20n)
})

test('an hour in the cache costs what a write costs where it has no rate of its own', () => {
  const usage = { promptTokens: 3, completionTokens: 0, cacheWriteTokens: 3, cacheWriteHourTokens: 1 }
  expect(costOf(usage, readRates({ prompt: '1', completion: '1', cacheWrite: '5' }))).toBe(15n)
})

const BOUND = {
  promptTokens: 10,
  audioTokens: 2,
  imageTokens: 3,
  units: 1,
  webSearches: 1,
  codeExecutions: 1,
}

test('a prompt costs at most the dearest rate of each token, its uses, and what media cost beyond that', () => {
  expect(mostPromptCost(BOUND, PLAIN)).toBe(10n)
  const cached = readRates({
    prompt: '1',
    completion: '1',
    cacheRead: '4',
    promptAudio: '9',
    promptImage: '3',
  })
  // Images cost less than the dearest token: nothing beyond it.
  expect(mostPromptCost(BOUND, cached)).toBe(10n * 4n + 2n * 5n)
  const uses = readRates({
    prompt: '0',
    completion: '0',
    units: '1',
    webSearch: '10',
    codeExecution: '100',
    promptImage: '1000',
  })
  expect(mostPromptCost(BOUND, uses)).toBe(3_111n)
})

test('an amount covers the tokens of the bound, and as many more as it pays at the dearest rate', () => {
  const bound = { promptTokens: 10, audioTokens: 0, imageTokens: 0 }
  const rates = readRates({ prompt: '2', completion: '1', cacheWrite: '3' })
  const covered = (amount: bigint) => promptTokensCovered(bound, rates, amount)
  expect([covered(0n), covered(30n), covered(32n), covered(33n), covered(60n)]).toEqual([10, 10, 10, 11, 20])
  expect(promptTokensCovered(bound, readRates({ prompt: '0', completion: '1' }), 0n)).toBe(
    Number.MAX_SAFE_INTEGER,
  )
})
