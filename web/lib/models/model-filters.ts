import { rateNumber } from '../format.ts'
import type { CatalogModel } from './model-catalog.ts'
import { searchModels } from './model-search.ts'

export const MODEL_ORDERS = ['popular', 'newest', 'price', 'dearest', 'speed', 'context', 'name'] as const
export type ModelOrder = (typeof MODEL_ORDERS)[number]

/** Models that a comparison shows side by side, at most. */
export const COMPARED_MAX = 4

/** The filters of the models page; every field is in the address, so that a search can be shared. */
export interface ModelFilters {
  q?: string
  vendor?: string
  /** Completion rate at most, USD per million tokens. */
  max_price?: number
  /** Context window at least, tokens. */
  min_context?: number
  input?: string
  /** What it does; absent: anything. */
  kind?: string
  tools?: boolean
  structured?: boolean
  reasoning?: boolean
  zdr?: boolean
  open_weights?: boolean
  /** Also those that no provider here serves. */
  all?: boolean
  /** Absent: how well a model fits the search, else how much it is used. */
  sort?: ModelOrder
  /** Ids of models chosen for a comparison, separated by commas. */
  compare?: string
}

/** The ids of a comparison, each once and at most four. */
export const comparedIds = (list: string | undefined): string[] =>
  [...new Set((list ?? '').split(',').filter(Boolean))].slice(0, COMPARED_MAX)

/** Reads the filters out of an address. Whatever is no filter is left out, never an error. */
export function readModelFilters(search: Record<string, unknown>): ModelFilters {
  const sort = MODEL_ORDERS.find((order) => order === search.sort)
  return withoutAbsent({
    q: text(search.q),
    vendor: text(search.vendor),
    max_price: positive(search.max_price),
    min_context: positive(search.min_context),
    input: text(search.input),
    kind: text(search.kind),
    tools: isTrue(search.tools),
    structured: isTrue(search.structured),
    reasoning: isTrue(search.reasoning),
    zdr: isTrue(search.zdr),
    open_weights: isTrue(search.open_weights),
    all: isTrue(search.all),
    sort,
    compare: comparedIds(text(search.compare, COMPARE_LENGTH_MAX)).join(',') || undefined,
  })
}

/** The parameters of the page that compares models. */
export const readCompared = ({ models }: Record<string, unknown>): { models?: string } => {
  const ids = comparedIds(text(models, COMPARE_LENGTH_MAX))
  return ids.length === 0 ? {} : { models: ids.join(',') }
}

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

const byName: Compare = (a, b) =>
  a.name.localeCompare(b.name, 'en', { numeric: true }) || (a.id < b.id ? -1 : 1)
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
  speed: (a, b) => (b.tokens_per_second ?? -1) - (a.tokens_per_second ?? -1) || byName(a, b),
  context: (a, b) => b.context_length - a.context_length || byName(a, b),
  name: byName,
}

/** The distinct values of a list, sorted for a menu. */
export const distinct = (values: Iterable<string>): string[] =>
  [...new Set(values)].sort((a, b) => a.localeCompare(b, 'en'))

/** Four ids of the longest kind. */
const COMPARE_LENGTH_MAX = 820

const text = (value: unknown, lengthMax = 100): string | undefined =>
  (typeof value === 'string' || typeof value === 'number') && value !== ''
    ? String(value).slice(0, lengthMax)
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
