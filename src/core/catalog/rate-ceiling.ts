import { listedRate, SMALLEST_DISCOUNT_PERCENT } from '../billing/pricing.ts'
import { formatRate, lesserOf, parseRate, picoUsdPerToken } from '../kernel/money.ts'
import type { TokenRates } from './catalog.ts'
import type { DocumentPrices } from './catalog-document.ts'
import { mapRates, rateOf } from './token-rates.ts'

/** A rate held to the ceiling: at least the smallest discount below the list price. Source: specification 1.5. */
export function heldToCeiling(rate: TokenRates, listPrice: TokenRates): TokenRates {
  const ceiling = listedRate(listPrice, SMALLEST_DISCOUNT_PERCENT)
  return mapRates(rate, (price, kind) => lesserOf(price, rateOf(ceiling, kind)))
}

/**
 * What is wrong with a rate that an operator set himself, one text for every price of it that is less than 5 %
 * below its list price; none when it may stand.
 */
export function rateProblems(rate: DocumentPrices, listPrice: DocumentPrices): string[] {
  const listed = new Map<string, string>(Object.entries(listPrice))
  return Object.entries(rate).flatMap(([name, price]) => {
    const list = listed.get(name) ?? listPrice.prompt
    const listPico = parseRate(list)
    if (parseRate(price) * 100n <= listPico * BigInt(100 - SMALLEST_DISCOUNT_PERCENT)) return []
    const highest = formatRate(picoUsdPerToken((listPico * BigInt(100 - SMALLEST_DISCOUNT_PERCENT)) / 100n))
    return [
      `rate.${name}: ${price} is not ${SMALLEST_DISCOUNT_PERCENT} % below the list price ${list}; the highest rate is ${highest}`,
    ]
  })
}
