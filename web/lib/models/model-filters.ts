export const MODEL_ORDERS = [
  'popular',
  'newest',
  'price',
  'dearest',
  'quality',
  'speed',
  'context',
  'name',
] as const
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
  /** The picture of prices and quality above the list. */
  view?: 'chart'
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
    view: search.view === 'chart' ? 'chart' : undefined,
    sort,
    compare: comparedIds(text(search.compare, COMPARE_LENGTH_MAX)).join(',') || undefined,
  })
}

/** The parameters of the page that compares models. */
export const readCompared = ({ models }: Record<string, unknown>): { models?: string } => {
  const ids = comparedIds(text(models, COMPARE_LENGTH_MAX))
  return ids.length === 0 ? {} : { models: ids.join(',') }
}

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
