import { expect, test } from 'vitest'
import type { CatalogSnapshot, Model } from '../../../src/core/catalog/catalog.ts'
import { parseRate } from '../../../src/core/kernel/money.ts'
import { leastCallCost } from '../../../src/core/routing/plan-candidate.ts'
import { PROMPT_TOKENS_LEAST, promptTokensBound } from '../../../src/core/text-tokens/prompt-tokens.ts'

const snapshot = (...rates: Array<[prompt: string, completion: string]>) =>
  ({
    models: new Map(
      rates.map(([prompt, completion], index) => [
        `model-${index}`,
        {
          rate: { prompt: parseRate(prompt), completion: parseRate(completion) },
          kind: 'chat',
          offers: [{ shared: true }],
        } as unknown as Model,
      ]),
    ),
  }) as unknown as CatalogSnapshot

test('is the shortest prompt and one token of the cheapest model that has a price', () => {
  const catalog = snapshot(['3', '15'], ['0', '0'], ['0.1', '0.4'])
  expect(leastCallCost(catalog)).toBe(BigInt(PROMPT_TOKENS_LEAST) * 100_000n + 400_000n)
})

test('is zero where nothing has a price', () => {
  expect(leastCallCost(snapshot(['0', '0']))).toBe(0n)
  expect(leastCallCost(snapshot())).toBe(0n)
})

test('takes the shortest prompt to be what an empty message is bounded by', () => {
  expect(promptTokensBound([{ role: 'user', content: '' }], {})).toBe(PROMPT_TOKENS_LEAST)
})
