import { type CatalogSnapshot, isAvailable, type Model } from '../core/catalog.ts'
import { formatRate } from '../core/money.ts'

/** One model's live rates; decimal strings in USD per million tokens. */
export interface PricingFeedEntry {
  id: string
  name: string
  vendor: string
  prompt: string
  completion: string
  list_prompt: string
  list_completion: string
  /** The smaller of the two discounts, as a decimal fraction: `"0.05"` is 5 %. */
  discount: string
  context_length: number
  max_output_tokens: number
  input_modalities: readonly string[]
  open_weights: boolean
  /** Whether any provider of it keeps no data, so that `zdr` can be met. */
  zdr: boolean
  /** `unavailable`: known, but no provider of it is set up at this gateway. */
  status: 'available' | 'unavailable'
  /** ISO 8601. */
  updated_at: string
}

export interface PricingFeed {
  version: string
  /** ISO 8601. */
  generated_at: string
  currency: 'USD'
  unit: 'per_million_tokens'
  data: PricingFeedEntry[]
}

/** The body of GET /pricing.json. Pure; equal for equal snapshots, so it can be built once a snapshot. */
export function pricingFeed(catalog: CatalogSnapshot): PricingFeed {
  return {
    version: catalog.version,
    generated_at: isoTime(catalog.generatedAt),
    currency: 'USD',
    unit: 'per_million_tokens',
    data: [...catalog.models.values()].map(pricingEntry),
  }
}

function pricingEntry(model: Model): PricingFeedEntry {
  return {
    id: model.id,
    name: model.name,
    vendor: model.vendor,
    prompt: formatRate(model.rate.prompt),
    completion: formatRate(model.rate.completion),
    list_prompt: formatRate(model.listPrice.prompt),
    list_completion: formatRate(model.listPrice.completion),
    discount: discountOf(model),
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: model.inputModalities,
    open_weights: model.openWeights,
    zdr: model.offers.some((offer) => offer.provider.zdr),
    status: isAvailable(model) ? 'available' : 'unavailable',
    updated_at: isoTime(model.updatedAt),
  }
}

const BASIS_POINTS = 10_000n

/** Cut to hundredths of a percent, like the rates it comes from. */
function discountOf({ listPrice, rate }: Model): string {
  const kinds = ['prompt', 'completion'] as const
  const discounts = kinds
    .filter((kind) => listPrice[kind] > 0n)
    .map((kind) => ((listPrice[kind] - rate[kind]) * BASIS_POINTS) / listPrice[kind])
    .sort((a, b) => (a < b ? -1 : 1))
  const smallest = discounts[0] ?? 0n
  return (Number(smallest) / Number(BASIS_POINTS)).toFixed(4).replace(/(\.\d{2,}?)0+$/, '$1')
}

const isoTime = (unixSeconds: number): string => new Date(unixSeconds * 1000).toISOString()
