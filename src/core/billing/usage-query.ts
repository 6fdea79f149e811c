import { Type } from 'typebox'
import { invalid } from '../kernel/errors.ts'
import { DAY_MS } from '../kernel/time.ts'

/** A period, unix ms: from the first instant until just before the second. */
export interface TimeRange {
  fromMs: number
  toMs: number
}

const Moment = Type.Optional(
  Type.String({
    format: 'moment',
    description: 'A date (its midnight, UTC), or a date and time with its zone',
    errorMessage: '`{param}` must be a date such as 2027-01-31, or 2027-01-31T12:00:00Z.',
  }),
)
/** The parameters of `timeRange`. */
export const TIME_RANGE = { from: Moment, to: Moment }

const DEFAULT_DAYS = 30
const DAYS_MAX = 366

/**
 * Reads a period from parameters that match TIME_RANGE: without `to` until now, without `from` the 30 days before.
 * Throws ApiError `invalid_request`.
 */
export function timeRange({ from, to }: { from?: string; to?: string }, nowMs: number): TimeRange {
  const momentOf = (text: string | undefined) => (text === undefined ? null : parseMoment(text))
  const toMs = momentOf(to) ?? nowMs
  const fromMs = momentOf(from) ?? toMs - DEFAULT_DAYS * DAY_MS
  if (fromMs >= toMs) throw invalid('from', '`from` must be before `to`.')
  if (toMs - fromMs > DAYS_MAX * DAY_MS)
    throw invalid('from', `Ask for ${DAYS_MAX} days at a time, at the most.`)
  return { fromMs, toMs }
}

const FIRST_YEAR = 1970
const MOMENT = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** The unix ms of a date (its midnight, UTC), or of a date and time with its zone; null for another text. */
export function parseMoment(text: string): number | null {
  const [, year, month, day] = MOMENT.exec(text) ?? []
  if (Number(year) < FIRST_YEAR) return null
  const moment = Date.parse(text)
  // Date accepts the 31st of February as a day in March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  const exists = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
  return year === undefined || !exists || Number.isNaN(moment) ? null : moment
}
