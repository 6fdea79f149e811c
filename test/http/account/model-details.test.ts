import { expect, test } from 'vitest'
import type { CallStats } from '../../../src/billing/reports/model-stats-store.ts'
import type { RateEntry } from '../../../src/catalog/rate-history-store.ts'
import type { Model } from '../../../src/core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../../src/core/kernel/money.ts'
import { DAY_MS } from '../../../src/core/kernel/time.ts'
import { modelDetails } from '../../../src/http/account/model-details.ts'

const model = {
  ...{ id: 'acme/swift', name: 'Swift', vendor: 'acme', kind: 'chat', contextLength: 8_192 },
  ...{ inputModalities: ['text'], supportedParameters: [], reasoning: false, openWeights: false },
  rate: { prompt: picoUsdPerToken(1n), completion: picoUsdPerToken(2n) },
  offers: [{ id: 'alpha/swift' }, { id: 'beta/swift' }],
} as unknown as Model

const catalog = { autoLadder: [] }

const DAY = 20_000
const stats: CallStats = {
  range: { fromMs: (DAY - 2) * DAY_MS + 5, toMs: DAY * DAY_MS + 5 },
  models: new Map(),
  offers: new Map(),
  modelDays: new Map([['acme/swift', [{ day: DAY, firstTokenMs: 120, tokensPerSecond: 44 }]]]),
  offerDays: new Map([
    ['alpha/swift', [{ day: DAY, attempts: 6, succeeded: 3 }]],
    [
      'beta/swift',
      [
        { day: DAY - 1, attempts: 9, succeeded: 9 },
        { day: DAY, attempts: 6, succeeded: 6 },
      ],
    ],
    ['gamma/other', [{ day: DAY, attempts: 99, succeeded: 0 }]],
  ]),
}

test('has every day of the period, with the uptime over all offers where attempts are enough', () => {
  expect(modelDetails(catalog, model, stats, []).days).toEqual([
    { day: '2024-10-02', first_token_ms: null, tokens_per_second: null, uptime: null },
    { day: '2024-10-03', first_token_ms: null, tokens_per_second: null, uptime: null },
    { day: '2024-10-04', first_token_ms: 120, tokens_per_second: 44, uptime: 9 / 12 },
  ])
  expect(modelDetails(catalog, model, null, null)).toMatchObject({ measured: null, days: [], prices: null })
})

test('leaves changes of the list price alone out of the prices', () => {
  const rate = (rateVersion: string, prompt: bigint, day: number) =>
    ({
      rateVersion,
      prompt,
      completion: 2_000_000n,
      units: null,
      effectiveAt: new Date(day * DAY_MS),
    }) as RateEntry
  const rates = [rate('b', 3_000_000n, 3), rate('b', 3_000_000n, 2), rate('a', 1_000_000n, 1)]
  expect(modelDetails(catalog, model, null, rates).prices).toEqual([
    { since: '1970-01-03T00:00:00.000Z', prompt: '3.00', completion: '2.00', units: null },
    { since: '1970-01-02T00:00:00.000Z', prompt: '1.00', completion: '2.00', units: null },
  ])
})
