import { expect, test } from 'vitest'
import { picoUsdPerToken } from '../../../src/core/kernel/money.ts'
import { cacheFigures } from '../../../src/http/account-api/offer-view.ts'
import { rates } from '../../helpers/planned-catalog.ts'

test('the effective price of a prompt counts reads and writes of the cache at their own prices', () => {
  const price = { ...rates(1_000_000, 2_000_000), cacheRead: picoUsdPerToken(100_000n) }
  const use = { promptTokens: 1_000, readTokens: 900, writtenTokens: 50 }
  expect(cacheFigures(use, price)).toEqual({ cache_hit_rate: 0.9, effective_prompt: '0.19' })
  const written = { ...price, cacheWrite: picoUsdPerToken(1_250_000n) }
  expect(cacheFigures(use, written)).toEqual({ cache_hit_rate: 0.9, effective_prompt: '0.2025' })
  expect(cacheFigures(undefined, price)).toEqual({ cache_hit_rate: null, effective_prompt: null })
})
