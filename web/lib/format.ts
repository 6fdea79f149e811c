import type { RailName, TopUpView } from '../../src/core/api/billing.ts'
import { shownZone } from './time-zone.ts'

const COUNT = new Intl.NumberFormat('en-US')

/** Whole numbers with thousands separators. */
export const formatCount = (count: number): string => COUNT.format(count)

const SHORT_COUNT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 })

/** A count of tokens in short: `128K`, `1M`, `1.05M`. For context windows, where the exact number is beside it. */
export const formatTokens = (tokens: number): string => SHORT_COUNT.format(tokens)

/** A duration: `312 ms`, `1.24 s`, `2 min 5 s`; a dash for null. */
export function formatDuration(milliseconds: number | null): string {
  if (milliseconds === null) return '–'
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(2)} s`
  const seconds = Math.round(milliseconds / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

const PERCENT = new Intl.NumberFormat('en-US', {
  style: 'percent',
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
})

/** A share, 0 to 1, in percent with two decimals: `100.00%`, `99.95%`, `0.30%`. What is not all never reads as all. */
export const formatShare = (share: number): string =>
  PERCENT.format(share < 1 ? Math.min(share, 0.9999) : share).replace('-', '−')

/** With a capital: `API key`, `Model`. */
export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** One and many: `1 call`, `2,000 calls`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`

/** Rate limits as one short text; null means the default. */
export function rateLimitsText(requestsPerMinute: number | null, concurrentCalls: number | null): string {
  if (requestsPerMinute === null && concurrentCalls === null) return 'default'
  const text = (count: number | null) => (count === null ? 'default' : formatCount(count))
  return `${text(requestsPerMinute)} RPM, ${text(concurrentCalls)} concurrent`
}

const DAY_MS = 86_400_000

/** The day of a moment in UTC, as the gateway counts days: `2027-01-31`. */
const dayOf = (moment: Date): string => moment.toISOString().slice(0, 10)

/** Every day from the first to the last, both included; the gateway leaves out days without calls. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = []
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY_MS) days.push(dayOf(new Date(at)))
  return days
}

/** The span of the last so many days up to and with today, as the gateway takes it: `to` is tomorrow's midnight. */
export function lastDays(count: number, now: Date): { from: string; to: string } {
  return {
    from: dayOf(new Date(now.getTime() - (count - 1) * DAY_MS)),
    to: dayOf(new Date(now.getTime() + DAY_MS)),
  }
}

/** The first and the last day of a span as the gateway takes it, whose `to` is the midnight after. */
export const daysOf = ({ from, to }: { from: string; to: string }): { first: string; last: string } => ({
  first: from,
  last: dayOf(new Date(Date.parse(to) - DAY_MS)),
})

const DATE: Intl.DateTimeFormatOptions = { year: 'numeric', month: 'short', day: 'numeric' }
const TIME: Intl.DateTimeFormatOptions = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
}

const MOMENT: Intl.DateTimeFormatOptions = { ...DATE, ...TIME }

/** By zone and options: to make one takes twenty times as long as to use it. */
const formatters = new Map<string, Intl.DateTimeFormat>()

/** A moment as clocks of a zone show it, in English. */
export function formatIn(timeZone: string, iso: string, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify([timeZone, options])
  let formatter = formatters.get(key)
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-GB', { ...options, timeZone })
    formatters.set(key, formatter)
  }
  return formatter.format(new Date(iso))
}

/** A date in the reader's time zone: `31 Jan 2027`. */
export const formatDate = (iso: string): string => formatIn(shownZone(), iso, DATE)

/** A day in UTC: `31 Jan 2027`. */
export const formatDay = (day: string): string => formatIn('UTC', day, DATE)

/** The same in short, for axes: `31 Jan`. */
export const formatShortDay = (day: string): string =>
  formatIn('UTC', day, { month: 'short', day: 'numeric' })

/** A moment in the reader's time zone or another one: `31 Jan 2027, 14:03:07`. */
export const formatMoment = (iso: string, timeZone = shownZone()): string => formatIn(timeZone, iso, MOMENT)

/** The same in short, for phones: `31 Jan, 14:03`. */
export const formatShortMoment = (iso: string, timeZone = shownZone()): string =>
  formatIn(timeZone, iso, {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })

/** A time of day in the reader's time zone: `14:03:07`. */
export const formatTime = (iso: string): string => formatIn(shownZone(), iso, TIME)

const UNITS: ReadonlyArray<[Intl.RelativeTimeFormatUnit, number]> = [
  ['day', DAY_MS],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** How long ago, roughly: `3 minutes ago`, `in 2 days`. */
export function formatAgo(iso: string, now: Date): string {
  const sinceMs = Date.parse(iso) - now.getTime()
  for (const [unit, ms] of UNITS) {
    if (Math.abs(sinceMs) >= ms) {
      return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.round(sinceMs / ms), unit)
    }
  }
  return 'just now'
}

const DECIMAL = /^-?\d+(\.\d+)?$/

/** By the most decimals: to make one takes twenty times as long as to use it. */
const amountFormatters = new Map<number, Intl.NumberFormat>()

/** An amount as text, exact or with at most so many decimals: `$1,234.50`, `−$0.0000123`. Throws RangeError on anything else. */
export function formatAmount(usd: string, decimals = 100): string {
  if (!DECIMAL.test(usd)) throw new RangeError(`not an amount: ${usd}`)
  let formatter = amountFormatters.get(decimals)
  if (!formatter) {
    const options = { style: 'currency', currency: 'USD', maximumFractionDigits: decimals } as const
    formatter = new Intl.NumberFormat('en-US', options)
    amountFormatters.set(decimals, formatter)
  }
  // Digits of a text are kept, which a number would lose.
  return formatter.format(usd as Intl.StringNumericLiteral).replace('-', '−')
}

/** Decimals of the amounts in a column, so that they have their points below each other: of calls, and of payments. */
const COLUMN_DECIMALS = { column: 6, cents: 2 }
const SIGNIFICANT_DIGITS = 4

/** An amount rounded for a column: `text`, and the zeros that fill its decimals up. */
export function columnAmount(
  usd: string,
  place: keyof typeof COLUMN_DECIMALS = 'column',
): { text: string; filler: string } {
  const text = roundedAmount(usd, COLUMN_DECIMALS[place])
  const [, decimals = ''] = text.split('.')
  return { text, filler: '0'.repeat(COLUMN_DECIMALS[place] - decimals.length) }
}

/** An amount rounded to four significant digits, and never to less than cents: `$1,234.57`, `$0.05827`. */
export function shortAmount(usd: string): string {
  const [whole = '', decimals = ''] = usd.replace('-', '').split('.')
  const leading = /^0*$/.test(whole) ? (/^0*/.exec(decimals)?.[0].length ?? 0) : 0
  const needed = /^0*$/.test(whole) ? leading + SIGNIFICANT_DIGITS : SIGNIFICANT_DIGITS - whole.length
  return roundedAmount(usd, Math.max(2, needed))
}

/** What would round to zero is shown as less than the smallest amount of so many decimals. */
function roundedAmount(usd: string, decimals: number): string {
  const text = formatAmount(usd, decimals)
  if (/[1-9]/.test(text) || !/[1-9]/.test(usd)) return text
  return `${usd.startsWith('-') ? '−' : ''}<$0.${'0'.repeat(decimals - 1)}1`
}

/** The same amount with the sign it changes a balance by: `+$5.00`, `−$0.12`. */
export function formatChange(usd: string): string {
  const text = formatAmount(usd)
  return text.startsWith('−') ? text : `+${text}`
}

/** For drawing only: the height of a bar needs no exactness, an amount in text does. */
export const approximateAmount = (usd: string): number => Number(usd)

/** A price for comparing and sorting. Rates have at most six decimals, far within a double. */
export const rateNumber = (rate: string): number => Number(rate)

/** A short label for a chart's axis, with the decimals that its step needs, alike on all its marks: `$0.80`, `$0.0012`. */
export function axisAmount(value: number, step = value / 10): string {
  const needed = step > 0 ? Math.ceil(-Math.log10(step) - 1e-9) : 0
  const isWhole = Number.isInteger(step) && Number.isInteger(value)
  const digits = isWhole ? 0 : Math.min(12, Math.max(2, needed))
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return `$${text}`
}

/** The names of payment methods on screen. */
export const RAIL_NAMES: Record<RailName, string> = {
  card: 'Card',
  paypal: 'PayPal',
  development: 'Test payment',
}

const TOP_UP_STATES: Record<TopUpView['state'], string> = {
  created: 'Unpaid',
  pending: 'Pending',
  settled: 'Paid',
  failed: 'Failed',
  expired: 'Expired',
  refunded: 'Refunded',
  disputed: 'Disputed',
}

/** The state of a top-up on screen. `isPartLeft`: not all of it was refunded. */
export const topUpStateName = (state: TopUpView['state'], isPartLeft: boolean): string =>
  state === 'refunded' && isPartLeft ? 'Partly refunded' : TOP_UP_STATES[state]
