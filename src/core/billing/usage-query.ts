import { Type } from 'typebox'
import { invalid } from '../kernel/errors.ts'
import { DAY_MS, parseMoment } from '../kernel/time.ts'

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
export function timeRange(
  { from, to }: { from?: string; to?: string },
  nowMs: number,
  daysMax = DAYS_MAX,
): TimeRange {
  const momentOf = (text: string | undefined) => (text === undefined ? null : parseMoment(text))
  const toMs = momentOf(to) ?? nowMs
  const fromMs = momentOf(from) ?? toMs - DEFAULT_DAYS * DAY_MS
  if (fromMs >= toMs) throw invalid('from', '`from` must be before `to`.')
  if (toMs - fromMs > daysMax * DAY_MS)
    throw invalid('from', `Ask for ${daysMax} days at a time, at the most.`)
  return { fromMs, toMs }
}
