import type { UsageFiguresView, UsageSeriesView } from '../../src/core/api/usage.ts'
import { approximateAmount, formatIn } from './format.ts'
import { isTimeZone } from './time-zone.ts'

/** What charts stack by group. */
export type Measure = 'cost' | 'tokens'

export type Interval = UsageSeriesView['interval']
type Group = UsageSeriesView['group_by']

const PERIODS = ['1', '7', '30', '90', '365', 'custom'] as const
type Period = (typeof PERIODS)[number]

/** What the usage page shows, as its address has it; what is absent is the default. */
export interface UsageSearch {
  days?: string
  /** Of a custom period: the first and the last day. */
  from?: string
  to?: string
  interval?: string
  group?: string
  zone?: string
}

/** The same with every default filled in. */
export interface UsageChoice {
  period: Period
  /** The first day and the last. */
  first: string
  last: string
  interval: Interval
  intervals: readonly Interval[]
  group: Group
  zone: string
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const DAY_MS = 86_400_000
/** As many as the gateway gives at a time, and as it sums by the hour. */
const DAYS_MAX = 366
const HOURLY_DAYS_MAX = 31

/** The day in a time zone at a moment: `2027-01-31`. */
export const dayIn = (zone: string, moment: Date): string =>
  new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(moment)

/** A day so many days later. */
export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

const countDays = (first: string, last: string): number =>
  Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1

const oneOf = <const Value extends string>(values: readonly Value[], given: unknown): Value | undefined =>
  values.find((value) => value === given)

/** Reads what to show. `localZone`: the reader's own time zone, the default. */
export function readUsageChoice(search: UsageSearch, localZone: string, now: Date): UsageChoice {
  const zone = search.zone && isTimeZone(search.zone) ? search.zone : localZone
  const period = oneOf(PERIODS, search.days) ?? '30'
  const { first, last } = daysOf(period, search, dayIn(zone, now))
  const days = countDays(first, last)
  const intervals: Interval[] = days <= HOURLY_DAYS_MAX ? ['hour', 'day', 'month'] : ['day', 'month']
  return {
    period,
    first,
    last,
    interval: oneOf(intervals, search.interval) ?? (days <= 2 ? 'hour' : days <= 92 ? 'day' : 'month'),
    intervals,
    group: oneOf(['model', 'key', 'member'], search.group) ?? 'model',
    zone,
  }
}

function daysOf(period: Period, { from = '', to = '' }: UsageSearch, today: string) {
  if (period !== 'custom') return { first: addDays(today, 1 - Number(period)), last: today }
  const last = isDay(to) ? to : today
  const first = isDay(from) && from <= last ? from : addDays(last, -29)
  return { first: countDays(first, last) > DAYS_MAX ? addDays(last, 1 - DAYS_MAX) : first, last }
}

/** The period with a day in it: unchanged, or longer, or around the day where it would be too long. */
export function periodWith({ first, last }: Pick<UsageChoice, 'first' | 'last'>, day: string): UsageSearch {
  if (!isDay(day) || (day >= first && day <= last)) return {}
  const [from, to] = day < first ? [day, last] : [first, day]
  return countDays(from, to) <= DAYS_MAX
    ? { days: 'custom', from, to, interval: undefined }
    : { days: 'custom', from: addDays(day, -15), to: addDays(day, 15), interval: undefined }
}

const isDay = (text: string): boolean => DAY.test(text) && !Number.isNaN(Date.parse(text))

/** The part of a choice that the gateway is asked for. */
export const seriesQuery = ({ first, last, interval, group, zone }: UsageChoice) => ({
  from: first,
  to: addDays(last, 1),
  interval,
  group_by: group,
  time_zone: zone,
})

/** A figure as a number, for drawing only. */
export const measured = (
  figures: Pick<UsageFiguresView, 'cost_usd' | 'total_tokens'>,
  measure: Measure,
): number => (measure === 'cost' ? approximateAmount(figures.cost_usd) : figures.total_tokens)

/** Groups that charts distinguish, each by a colour of its own; the others are drawn as one. */
export const SERIES_MAX = 7
/** The group of all others. */
export const OTHERS = ''

export interface StackedBucket {
  at: string
  figures: UsageFiguresView | null
  /** By group, in the order of `series`. */
  parts: Array<{ group: string; value: number }>
}

/** The most expensive groups, alike for every measure, and what they have in each bucket, those without calls included. */
export function stackUsage(
  view: UsageSeriesView,
  measure: Measure,
): { series: string[]; buckets: StackedBucket[] } {
  const stacks = new Map(view.stacks.map((stack) => [stack.group, stack]))
  const shown = view.groups.flatMap(({ group }) => stacks.get(group) ?? [])
  const hasOthers = view.groups_count > shown.length
  const totals = new Map(view.buckets.map((bucket) => [bucket.at, bucket]))
  const buckets = view.starts.map((at, index) => {
    const figures = totals.get(at) ?? null
    const parts = shown.map(({ group, total_tokens: tokens, cost_usd: costs }) => ({
      group,
      value: measured({ total_tokens: tokens[index] ?? 0, cost_usd: costs[index] ?? '0' }, measure),
    }))
    const rest = parts.reduce((left, { value }) => left - value, figures ? measured(figures, measure) : 0)
    if (hasOthers) parts.push({ group: OTHERS, value: Math.max(0, rest) })
    return { at, figures, parts }
  })
  return { series: [...shown.map(({ group }) => group), ...(hasOthers ? [OTHERS] : [])], buckets }
}

/**
 * The colour of each series, 0 to SERIES_MAX - 1, by its name and not by its rank: a model has the same on every page and
 * day, but where another of the same chart, earlier in the alphabet, has it.
 */
export function seriesColours(series: readonly string[]): Map<string, number> {
  const taken = new Map<string, number>()
  for (const name of series.filter((one) => one !== OTHERS).toSorted()) {
    let colour = hashOf(name) % SERIES_MAX
    while (taken.size < SERIES_MAX && [...taken.values()].includes(colour)) colour = (colour + 1) % SERIES_MAX
    taken.set(name, colour)
  }
  return taken
}

/** For bars and for their key: of each colour, and of all others. */
export const FILLS = [
  'fill-series-1 bg-series-1',
  'fill-series-2 bg-series-2',
  'fill-series-3 bg-series-3',
  'fill-series-4 bg-series-4',
  'fill-series-5 bg-series-5',
  'fill-series-6 bg-series-6',
  'fill-series-7 bg-series-7',
]

export const OTHERS_FILL = 'fill-series-8 bg-series-8'

/** The classes of each series. */
export function seriesFills(series: readonly string[]): (name: string) => string {
  const colours = seriesColours(series)
  return (name) => FILLS[colours.get(name) ?? FILLS.length] ?? OTHERS_FILL
}

const hashOf = (text: string): number =>
  [...text].reduce((hash, character) => (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0, 7)

/** The period of one bucket, to look at it more closely: a month by days, a day by hours. Null: an hour is the least. */
export function periodOf(at: string, interval: Interval, zone: string): UsageSearch | null {
  const day = dayIn(zone, new Date(at))
  if (interval === 'hour') return null
  const next = new Date(`${day.slice(0, 7)}-01T00:00:00Z`)
  next.setUTCMonth(next.getUTCMonth() + 1)
  const to = interval === 'day' ? day : addDays(next.toISOString().slice(0, 10), -1)
  return { days: 'custom', from: day, to, interval: undefined }
}

/** The start of a bucket where clocks show that zone's time: `31 Jan 2027`, `31 Jan, 14:00`, `Jan 2027`. */
export function formatStart(iso: string, interval: Interval, zone: string): string {
  const options: Record<Interval, Intl.DateTimeFormatOptions> = {
    hour: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    day: { day: 'numeric', month: 'short', year: 'numeric' },
    month: { month: 'short', year: 'numeric' },
  }
  return formatIn(zone, iso, options[interval])
}

/** The same in short, for axes. */
export function formatShortStart(iso: string, interval: Interval, zone: string): string {
  const options: Record<Interval, Intl.DateTimeFormatOptions> = {
    hour: { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    day: { day: 'numeric', month: 'short' },
    month: { month: 'short', year: '2-digit' },
  }
  return formatIn(zone, iso, options[interval])
}
