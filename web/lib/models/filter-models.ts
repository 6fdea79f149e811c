import { rateNumber } from '../format.ts'
import type { CatalogModel } from './model-catalog.ts'
import type { ModelFilters, ModelOrder } from './model-filters.ts'
import { searchModels } from './model-search.ts'

/** The models that pass: in the chosen order, else the best fit for the search first. */
export function filterModels(models: readonly CatalogModel[], filters: ModelFilters): CatalogModel[] {
  const passing = models.filter((model) => passes(model, filters))
  const fits = searchModels(passing, filters.q ?? '')
  const compare = COMPARE[filters.sort ?? 'popular']
  const found = [...fits.keys()]
  if (filters.sort !== undefined || !filters.q) return found.sort(compare)
  return found.sort((a, b) => fits.get(a)! - fits.get(b)! || a.id.length - b.id.length || compare(a, b))
}

function passes(model: CatalogModel, filters: ModelFilters): boolean {
  const { vendor, max_price: maxPrice, min_context: minContext, input, kind } = filters
  if (!filters.all && model.status !== 'available') return false
  if (vendor !== undefined && model.vendor !== vendor) return false
  if (maxPrice !== undefined && (hasUnits(model) || rateNumber(model.completion) > maxPrice)) return false
  if (minContext !== undefined && model.context_length < minContext) return false
  if (input !== undefined && !model.input_modalities.includes(input)) return false
  if (kind !== undefined && (model.kind ?? 'chat') !== kind) return false
  if (filters.tools && !model.supported_parameters.includes('tools')) return false
  if (filters.structured && !model.supported_parameters.includes('response_format')) return false
  if (filters.reasoning && !model.reasoning) return false
  if (filters.zdr && !model.zdr) return false
  return !filters.open_weights || model.open_weights
}

/** It has a price of searches, images or the like, which no price of tokens compares with. */
const hasUnits = (model: CatalogModel): boolean => model.units !== undefined

type Compare = (a: CatalogModel, b: CatalogModel) => number

/** One for all comparisons: `localeCompare` with options makes one each time. */
const { compare: compareNames } = new Intl.Collator('en', { numeric: true })
const byName: Compare = (a, b) => compareNames(a.name, b.name) || (a.id < b.id ? -1 : 1)
/** Three prompt tokens to one completion token, as the gateway's own order has it. */
const blended = (model: CatalogModel) => rateNumber(model.prompt) * 3 + rateNumber(model.completion)
const unitsLast: Compare = (a, b) => Number(hasUnits(a)) - Number(hasUnits(b))
/** What is not known comes last. */
const newest: Compare = (a, b) => (b.released_at ?? '').localeCompare(a.released_at ?? '') || byName(a, b)
const rank = ({ popularity }: CatalogModel) => popularity ?? Number.MAX_SAFE_INTEGER

const COMPARE: Record<ModelOrder, Compare> = {
  popular: (a, b) => rank(a) - rank(b) || newest(a, b),
  newest,
  price: (a, b) => unitsLast(a, b) || blended(a) - blended(b) || byName(a, b),
  dearest: (a, b) => unitsLast(a, b) || blended(b) - blended(a) || byName(a, b),
  quality: (a, b) => (b.quality?.value ?? -1) - (a.quality?.value ?? -1) || byName(a, b),
  speed: (a, b) => (b.tokens_per_second ?? -1) - (a.tokens_per_second ?? -1) || byName(a, b),
  context: (a, b) => b.context_length - a.context_length || byName(a, b),
  name: byName,
}

/** The distinct values of a list, sorted for a menu. */
export const distinct = (values: Iterable<string>): string[] =>
  [...new Set(values)].sort((a, b) => a.localeCompare(b, 'en'))
