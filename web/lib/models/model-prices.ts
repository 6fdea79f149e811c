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

/** A model that is priced by something else may charge nothing for tokens, and then has no such price. */
const tokenRate = (rate: string, { unit }: Priced): string | undefined =>
  unit === undefined || rateNumber(rate) > 0 ? rate : undefined

/** Every price of tokens, in the order of a price list: of a model without it, the rate is undefined. */
const PRICES: ReadonlyArray<readonly [name: string, of: (model: Priced) => [string | undefined, string]]> = [
  ['Input, per million tokens', (model) => [tokenRate(model.prompt, model), model.list_prompt]],
  [
    'Audio input, per million tokens',
    (model) => [model.prompt_audio, model.list_prompt_audio ?? model.list_prompt],
  ],
  [
    'Image input, per million tokens',
    (model) => [model.prompt_image, model.list_prompt_image ?? model.list_prompt],
  ],
  [
    'Cached input, per million tokens',
    (model) => [model.cache_read, model.list_cache_read ?? model.list_prompt],
  ],
  [
    'Cache write, per million tokens',
    (model) => [model.cache_write, model.list_cache_write ?? model.list_prompt],
  ],
  [
    'Cache write for an hour, per million tokens',
    (model) => [model.cache_write_hour, model.list_cache_write_hour ?? model.list_prompt],
  ],
  ['Output, per million tokens', (model) => [tokenRate(model.completion, model), model.list_completion]],
]

/** What a model is priced by, in the order of a price list; what is not counted in tokens comes last. */
export function modelPrices(model: Priced): ModelPrice[] {
  const ofTokens = PRICES.flatMap(([name, of]) => {
    const [rate, list] = of(model)
    return rate === undefined ? [] : [{ name, rate, list }]
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
