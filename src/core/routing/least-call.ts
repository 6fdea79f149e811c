import { costOf } from '../billing/pricing.ts'
import { PROMPT_TOKENS_LEAST } from '../calls/prompt-tokens.ts'
import { type CatalogSnapshot, isAvailable } from '../catalog/catalog.ts'
import { type PicoUsd, ZERO_USD } from '../kernel/money.ts'

const known = new WeakMap<CatalogSnapshot, PicoUsd>()

/**
 * What the cheapest call of a catalog holds: the shortest prompt and one token of answer at the lowest rate
 * above zero. A balance below it pays for nothing. Zero where nothing has a price. Worked out once a snapshot.
 */
export function leastCallCost(catalog: CatalogSnapshot): PicoUsd {
  const before = known.get(catalog)
  if (before !== undefined) return before
  let least: PicoUsd | null = null
  for (const model of catalog.models.values()) {
    if (!isAvailable(model)) continue
    const cost = costOf({ promptTokens: PROMPT_TOKENS_LEAST, completionTokens: 1 }, model.rate)
    if (cost > 0n && (least === null || cost < least)) least = cost
  }
  known.set(catalog, least ?? ZERO_USD)
  return least ?? ZERO_USD
}
