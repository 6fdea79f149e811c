import { costOf } from '../billing/pricing.ts'
import { PROMPT_TOKENS_LEAST } from '../calls/prompt-tokens.ts'
import { type CatalogSnapshot, isAvailable } from '../catalog/catalog.ts'
import { type PicoUsd, ZERO_USD } from '../kernel/money.ts'
import { oncePer } from '../kernel/once-per.ts'

/**
 * What the cheapest call of a catalog holds: the shortest prompt and one token of answer at the lowest rate
 * above zero. A balance below it pays for nothing. Zero where nothing has a price. Computed once a snapshot.
 */
export const leastCallCost = oncePer(({ models }: CatalogSnapshot): PicoUsd => {
  let least: PicoUsd | null = null
  for (const model of models.values()) {
    if (!isAvailable(model)) continue
    const cost = costOf({ promptTokens: PROMPT_TOKENS_LEAST, completionTokens: 1 }, model.rate)
    if (cost > 0n && (least === null || cost < least)) least = cost
  }
  return least ?? ZERO_USD
})
