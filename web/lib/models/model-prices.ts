import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'
import { rateNumber } from '../format.ts'
import { priceOf, unitPrice, unitPriceTitle } from './unit-prices.ts'

/** One of a model's prices in USD, with the list price that it is below. */
export interface ModelPrice {
  name: string
  rate: string
  list: string
}

type Priced = Omit<PricingFeedEntry, 'max_output_tokens'>

/** The prices of tokens, in the order of a price list. */
const PRICES = [
  ['Input, per million tokens', 'prompt'],
  ['Audio input, per million tokens', 'prompt_audio'],
  ['Image input, per million tokens', 'prompt_image'],
  ['Cached input, per million tokens', 'cache_read'],
  ['Cache write, per million tokens', 'cache_write'],
  ['Cache write for an hour, per million tokens', 'cache_write_hour'],
  ['Output, per million tokens', 'completion'],
] as const

/** What a model is priced by, in the order of a price list; what is not counted in tokens comes last. */
export function modelPrices(model: Priced): ModelPrice[] {
  const ofTokens = PRICES.flatMap(([name, of]) => {
    const { [of]: rate, [`list_${of}` as const]: list = model.list_prompt } = model
    // What is priced by something else may charge nothing for tokens.
    const isCharged = rate !== undefined && (model.unit === undefined || rateNumber(rate) > 0)
    return isCharged ? [{ name, rate, list }] : []
  })
  const { unit, units, list_units: list = units } = model
  const known = [...ofTokens, ...pricesOfUses(model)]
  if (unit === undefined || units === undefined || list === undefined) return known
  return [...known, { name: unitPriceTitle(unit), rate: unitPrice(unit, units), list: unitPrice(unit, list) }]
}

const USES_SHOWN = 1_000n

/** What uses of tools cost that the provider runs itself. */
const pricesOfUses = (model: Priced): ModelPrice[] =>
  [
    ['Web searches, per thousand', model.web_search, model.list_web_search] as const,
    ['Calls with code execution, per thousand', model.code_execution, model.list_code_execution] as const,
  ].flatMap(([name, rate, list = rate]) =>
    rate === undefined || list === undefined
      ? []
      : [{ name, rate: priceOf(USES_SHOWN, rate), list: priceOf(USES_SHOWN, list) }],
  )

/** The names of the prices that any of some models has, in the order of a price list. */
export function priceNames(models: readonly Priced[]): string[] {
  const names = new Set(models.flatMap((model) => modelPrices(model).map(({ name }) => name)))
  const ordered = PRICES.map(([name]) => name).filter((name) => names.delete(name))
  return [...ordered, ...names]
}
