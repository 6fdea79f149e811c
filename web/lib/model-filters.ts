import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { rateNumber } from './format.ts'

export const MODEL_ORDERS = ['name', 'price', 'dearest', 'context', 'newest'] as const
export type ModelOrder = (typeof MODEL_ORDERS)[number]

/** The filters of the models page; every field is in the address, so that a search can be shared. */
export interface ModelFilters {
  q?: string
  vendor?: string
  /** Completion rate at most, USD per million tokens. */
  max_price?: number
  /** Context window at least, tokens. */
  min_context?: number
  input?: string
  zdr?: boolean
  open_weights?: boolean
  /** Also those that no provider here serves. */
  all?: boolean
  sort?: ModelOrder
}

/** Reads the filters out of an address. Whatever is no filter is left out, never an error. */
export function readModelFilters(search: Record<string, unknown>): ModelFilters {
  const sort = MODEL_ORDERS.find((order) => order === search.sort)
  return withoutAbsent({
    q: text(search.q),
    vendor: text(search.vendor),
    max_price: positive(search.max_price),
    min_context: positive(search.min_context),
    input: text(search.input),
    zdr: isTrue(search.zdr),
    open_weights: isTrue(search.open_weights),
    all: isTrue(search.all),
    sort: sort === 'name' ? undefined : sort,
  })
}

/** The models that pass, in the chosen order. Every word of the search must occur in id, name or vendor. */
export function filterModels(models: readonly PricingFeedEntry[], filters: ModelFilters): PricingFeedEntry[] {
  const words = (filters.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return models.filter((model) => passes(model, filters, words)).sort(COMPARE[filters.sort ?? 'name'])
}

function passes(model: PricingFeedEntry, filters: ModelFilters, words: string[]): boolean {
  const { vendor, max_price: maxPrice, min_context: minContext, input } = filters
  if (!filters.all && model.status !== 'available') return false
  if (vendor !== undefined && model.vendor !== vendor) return false
  if (maxPrice !== undefined && rateNumber(model.completion) > maxPrice) return false
  if (minContext !== undefined && model.context_length < minContext) return false
  if (input !== undefined && !model.input_modalities.includes(input)) return false
  if (filters.zdr && !model.zdr) return false
  if (filters.open_weights && !model.open_weights) return false
  const haystack = `${model.id} ${model.name} ${model.vendor}`.toLowerCase()
  return words.every((word) => haystack.includes(word))
}

type Compare = (a: PricingFeedEntry, b: PricingFeedEntry) => number

const byName: Compare = (a, b) => a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1)
/** Three prompt tokens to one completion token, as the gateway's own order has it. */
const blended = (model: PricingFeedEntry) => rateNumber(model.prompt) * 3 + rateNumber(model.completion)

const COMPARE: Record<ModelOrder, Compare> = {
  name: byName,
  price: (a, b) => blended(a) - blended(b) || byName(a, b),
  dearest: (a, b) => blended(b) - blended(a) || byName(a, b),
  context: (a, b) => b.context_length - a.context_length || byName(a, b),
  newest: (a, b) => b.updated_at.localeCompare(a.updated_at) || byName(a, b),
}

/** The distinct values of a list, sorted for a menu. */
export const distinct = (values: Iterable<string>): string[] =>
  [...new Set(values)].sort((a, b) => a.localeCompare(b, 'en'))

const text = (value: unknown): string | undefined =>
  (typeof value === 'string' || typeof value === 'number') && value !== ''
    ? String(value).slice(0, 100)
    : undefined

const positive = (value: unknown): number | undefined => {
  const number = Number(value)
  return value !== '' && Number.isFinite(number) && number > 0 ? number : undefined
}

const isTrue = (value: unknown): true | undefined =>
  value === true || value === 'true' || value === 1 ? true : undefined

function withoutAbsent<T extends object>(filters: T): T {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) as T
}
