import { type CatalogSnapshot, isAvailable, type Model, type TokenRates } from '../core/catalog/catalog.ts'
import type { DocumentPrices } from '../core/catalog/catalog-document.ts'
import { listedModels } from '../core/catalog/listed-models.ts'
import type { PricingFeed, PricingFeedEntry } from '../core/catalog/pricing-feed-view.ts'
import { formatRates, PRICE_KINDS, rateOf } from '../core/catalog/token-rates.ts'
import { shortHash } from '../core/kernel/short-hash.ts'
import { isoTime } from '../core/kernel/time.ts'
import { sizesOf } from './model-list.ts'

/** Unix seconds by model id: since when a model has its rate, if recorded. */
export type RateChangeTimes = ReadonlyMap<string, number>

/** The body of GET /pricing.json. Pure, and independent of times and orders of one process. */
export function pricingFeed(catalog: CatalogSnapshot, times: RateChangeTimes): PricingFeed {
  const models = listedModels(catalog)
  const changedAt = (model: Model) => times.get(model.id) ?? model.updatedAt
  const data = models.map((model) => pricingEntry(model, changedAt(model)))
  const newest = models.reduce((latest, model) => Math.max(latest, changedAt(model)), 0)
  const generatedAt = isoTime(newest * 1000)
  return {
    version: shortHash(JSON.stringify([generatedAt, data])),
    generated_at: generatedAt,
    currency: 'USD',
    unit: 'per_million_tokens',
    data,
  }
}

function pricingEntry(model: Model, changedAt: number): PricingFeedEntry {
  return {
    id: model.id,
    name: model.name,
    vendor: model.vendor,
    ...formatRates(model.rate),
    ...listPrices(model.listPrice),
    discount: discountOf(model),
    ...(model.kind !== 'chat' && { kind: model.kind }),
    ...sizesOf(model),
    open_weights: model.openWeights,
    zdr: model.offers.some((offer) => offer.shared && offer.provider.zdr),
    status: isAvailable(model) ? 'available' : 'unavailable',
    updated_at: isoTime(changedAt * 1000),
  }
}

type ListPrices = {
  [Name in keyof DocumentPrices as `list_${Name}`]: DocumentPrices[Name]
}

const listPrices = (listPrice: TokenRates): ListPrices =>
  Object.fromEntries(
    Object.entries(formatRates(listPrice)).map(([name, price]) => [`list_${name}`, price]),
  ) as ListPrices

const BASIS_POINTS = 10_000n

/** Truncated to hundredths of a percent, like the rates it is computed from. */
function discountOf({ listPrice, rate }: Model): string {
  const discounts = PRICE_KINDS.map((kind) => ({ list: rateOf(listPrice, kind), listed: rateOf(rate, kind) }))
    .filter(({ list }) => list > 0n)
    .map(({ list, listed }) => ((list - listed) * BASIS_POINTS) / list)
    .sort((a, b) => (a < b ? -1 : 1))
  const smallest = discounts[0] ?? 0n
  return (Number(smallest) / Number(BASIS_POINTS)).toFixed(4).replace(/(\.\d{2,}?)0+$/, '$1')
}
