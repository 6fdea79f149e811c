import { formatRate, lesserOf, parseRate, picoUsdPerToken } from '../kernel/money.ts'
import type { TokenRates } from './catalog.ts'
import type { DocumentPrices } from './catalog-document.ts'
import { PUBLISHED_USE_PRICES } from './published-prices.ts'
import { listedRate, mapRates, rateOf, SMALLEST_DISCOUNT_PERCENT } from './token-rates.ts'

/** A rate limited to the ceiling: the list price less the smallest discount. Source: specification 1.5. */
export function heldToCeiling(rate: TokenRates, listPrice: TokenRates): TokenRates {
  const ceiling = listedRate(listPrice, SMALLEST_DISCOUNT_PERCENT)
  return mapRates(rate, (price, kind) => lesserOf(price, rateOf(ceiling, kind)))
}

/** The list prices that a document does not have to state, besides that of the prompt. */
const DEFAULTS = new Map<string, string>([['units', '0'], ...Object.entries(PUBLISHED_USE_PRICES)])

/**
 * Problems of a rate set by an operator: one message for every price that is less than 5 %
 * below its list price; empty if it is valid.
 */
export function rateProblems(rate: DocumentPrices, listPrice: DocumentPrices): string[] {
  const listed = new Map<string, string>(Object.entries(listPrice))
  return Object.entries(rate).flatMap(([name, price]) => {
    const list = listed.get(name) ?? DEFAULTS.get(name) ?? listPrice.prompt
    // Its default depends on the wire, which only the whole catalog knows: the ceiling is applied there.
    if (name === 'cache_write_hour' && !listed.has(name)) return []
    const listPico = parseRate(list)
    if (parseRate(price) * 100n <= listPico * BigInt(100 - SMALLEST_DISCOUNT_PERCENT)) return []
    const highest = formatRate(picoUsdPerToken((listPico * BigInt(100 - SMALLEST_DISCOUNT_PERCENT)) / 100n))
    return [
      `rate.${name}: ${price} is not ${SMALLEST_DISCOUNT_PERCENT} % below the list price ${list}; the highest rate is ${highest}`,
    ]
  })
}
