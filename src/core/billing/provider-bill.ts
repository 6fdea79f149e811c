import { type PicoUsd, parseUsd, picoUsd } from '../kernel/money.ts'

/** The usage of one offer on one day (UTC), from a provider's bill or our records. Null: not stated. */
export interface OfferDay {
  /** `YYYY-MM-DD`. */
  day: string
  /** `<provider>/<the provider's name of the model>`. */
  offerId: string
  promptTokens: bigint | null
  completionTokens: bigint | null
  costPico: PicoUsd | null
}

const KEYS = ['day', 'provider', 'model'] as const
const FIGURES = { prompt_tokens: 'promptTokens', completion_tokens: 'completionTokens' } as const

/**
 * Parses a provider's usage from CSV: a header with `day`, `provider`, `model` and one or more of `prompt_tokens`,
 * `completion_tokens` and `cost_usd`, in any order; other columns are ignored. Lines of the same offer and day are
 * added. Throws RangeError, which names the line, for a line with more or fewer cells than the header, a day that is none, and
 * a number that is none or negative.
 */
export function readProviderBill(text: string): OfferDay[] {
  const [header = '', ...lines] = text.split(/\r?\n/)
  const columns = cellsOf(header)
  const has = (name: string) => columns.includes(name)
  if (new Set(columns).size < columns.length) throw new RangeError('the header names a column twice')
  const missing = KEYS.filter((name) => !has(name))
  if (missing.length > 0) throw new RangeError(`the header has no ${missing.join(', ')}`)
  if (!has('prompt_tokens') && !has('completion_tokens') && !has('cost_usd'))
    throw new RangeError('the header has none of prompt_tokens, completion_tokens, cost_usd')
  const days = new Map<string, OfferDay>()
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    try {
      const cells = cellsOf(line)
      if (cells.length !== columns.length)
        throw new RangeError(`has ${cells.length} cells, the header ${columns.length}`)
      const read = readLine(Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])))
      const key = `${read.day} ${read.offerId}`
      const known = days.get(key)
      days.set(key, known ? sumOf(known, read) : read)
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
      throw new RangeError(`line ${index + 2}: ${error.message}`)
    }
  }
  return [...days.values()]
}

function readLine(cells: Record<string, string>): OfferDay {
  const { day = '', provider = '', model = '', cost_usd: cost } = cells
  if (!isDay(day)) throw new RangeError(`"${day}" is not a day such as 2026-01-31`)
  if (provider === '' || model === '') throw new RangeError('provider or model is missing')
  const tokens = (name: keyof typeof FIGURES) => {
    const text = cells[name]
    if (!text) return null
    if (!/^\d{1,18}$/.test(text)) throw new RangeError(`${name} is not a whole number: "${text}"`)
    return BigInt(text)
  }
  if (cost?.startsWith('-')) throw new RangeError(`cost_usd is negative: "${cost}"`)
  return {
    day,
    offerId: `${provider}/${model}`,
    promptTokens: tokens('prompt_tokens'),
    completionTokens: tokens('completion_tokens'),
    costPico: cost ? parseUsd(cost) : null,
  }
}

function isDay(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** Cells contain no commas and no inner quotes. */
const cellsOf = (line: string): string[] =>
  line.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))

function sumOf(one: OfferDay, other: OfferDay): OfferDay {
  const add = (a: bigint | null, b: bigint | null) => (a === null ? b : a + (b ?? 0n))
  const costPico = add(one.costPico, other.costPico)
  return {
    ...one,
    promptTokens: add(one.promptTokens, other.promptTokens),
    completionTokens: add(one.completionTokens, other.completionTokens),
    costPico: costPico === null ? null : picoUsd(costPico),
  }
}

export interface BillComparison {
  day: string
  offerId: string
  billed: OfferDay | null
  recorded: OfferDay | null
  /** The largest relative difference between a billed amount and ours: 0.02 is two percent of the larger one. */
  difference: number
}

/** Compares a bill with our records, by day and offer. Only amounts in the bill are compared. */
export function compareBill(billed: readonly OfferDay[], recorded: readonly OfferDay[]): BillComparison[] {
  const keyOf = ({ day, offerId }: OfferDay) => `${day} ${offerId}`
  const ours = new Map(recorded.map((one) => [keyOf(one), one]))
  const theirs = new Map(billed.map((one) => [keyOf(one), one]))
  return [...new Set([...theirs.keys(), ...ours.keys()])].toSorted().map((key) => {
    const [bill = null, own = null] = [theirs.get(key), ours.get(key)]
    const { day, offerId } = (bill ?? own)!
    return { day, offerId, billed: bill, recorded: own, difference: differenceOf(bill, own) }
  })
}

function differenceOf(billed: OfferDay | null, recorded: OfferDay | null): number {
  if (!billed) return 1
  const figures = ['promptTokens', 'completionTokens', 'costPico'] as const
  return Math.max(
    ...figures.map((name) => {
      const said = billed[name]
      return said === null ? 0 : shareOf(said, recorded?.[name] ?? 0n)
    }),
  )
}

function shareOf(one: bigint, other: bigint): number {
  const larger = one > other ? one : other
  const smaller = one > other ? other : one
  return larger <= 0n ? 0 : Number(((larger - smaller) * 1_000_000n) / larger) / 1_000_000
}
