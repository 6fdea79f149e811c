import { type CatalogSnapshot, isAvailable, type Model } from '../core/catalog/catalog.ts'
import type { PricingFeed, PricingFeedEntry } from '../core/catalog/pricing-feed-view.ts'
import { formatRates, rateOf } from '../core/catalog/token-rates.ts'
import { shortHash } from '../core/kernel/short-hash.ts'
import { isoTime } from '../core/kernel/time.ts'

/** Unix seconds by model id: since when a model has its rate, if recorded. */
export type RateChangeTimes = ReadonlyMap<string, number>

/** The body of GET /pricing.json. Pure, and independent of times and orders of one process. */
export function pricingFeed(catalog: CatalogSnapshot, times: RateChangeTimes): PricingFeed {
  const models = [...catalog.models.values()]
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
  const list = formatRates(model.listPrice)
  return {
    id: model.id,
    name: model.name,
    vendor: model.vendor,
    ...formatRates(model.rate),
    list_prompt: list.prompt,
    list_completion: list.completion,
    ...(list.prompt_audio !== undefined && { list_prompt_audio: list.prompt_audio }),
    ...(list.prompt_image !== undefined && { list_prompt_image: list.prompt_image }),
    discount: discountOf(model),
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: model.inputModalities,
    open_weights: model.openWeights,
    zdr: model.offers.some((offer) => offer.shared && offer.provider.zdr),
    status: isAvailable(model) ? 'available' : 'unavailable',
    updated_at: isoTime(changedAt * 1000),
  }
}

const BASIS_POINTS = 10_000n

/** Truncated to hundredths of a percent, like the rates it is computed from. */
function discountOf({ listPrice, rate }: Model): string {
  const kinds = ['prompt', 'completion', 'promptAudio', 'promptImage'] as const
  const discounts = kinds
    .map((kind) => ({ list: rateOf(listPrice, kind), listed: rateOf(rate, kind) }))
    .filter(({ list }) => list > 0n)
    .map(({ list, listed }) => ((list - listed) * BASIS_POINTS) / list)
    .sort((a, b) => (a < b ? -1 : 1))
  const smallest = discounts[0] ?? 0n
  return (Number(smallest) / Number(BASIS_POINTS)).toFixed(4).replace(/(\.\d{2,}?)0+$/, '$1')
}
