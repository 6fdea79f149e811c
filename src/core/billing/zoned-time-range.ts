import { Type } from 'typebox'
import { invalid } from '../kernel/errors.ts'
import { DAY_MS, HOUR_MS, isoTime, parseMoment } from '../kernel/time.ts'
import { bucketStarts, isTimeZone, startOfDay } from './time-buckets.ts'
import { type TimeRange, timeRange } from './usage-query.ts'

/** The parameter for the time zone of dates. */
export const TIME_ZONE = {
  time_zone: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'A name of the IANA database, such as Europe/Berlin; default: UTC',
    }),
  ),
}

const DATE = /^\d{4}-\d{2}-\d{2}$/

/** `timeRange` with dates in a time zone. Throws ApiError `invalid_request`. */
export function zonedTimeRange(
  query: { from?: string; to?: string; time_zone?: string },
  nowMs: number,
): TimeRange {
  const { time_zone: timeZone = 'UTC' } = query
  if (!isTimeZone(timeZone))
    throw invalid('time_zone', '`time_zone` must be a name such as Europe/Berlin or UTC.')
  const moment = (name: 'from' | 'to') => {
    const text = query[name]
    if (text === undefined) return {}
    const midnight = DATE.test(text) ? parseMoment(text) : null
    return { [name]: midnight === null ? text : isoTime(startOfDay(midnight, timeZone)) }
  }
  return timeRange({ ...moment('from'), ...moment('to') }, nowMs)
}

const HOURLY_MS = 2 * DAY_MS
/** More than the days of the longest period. */
const PARTS_MAX = 400

/** The starts of the days of a period, or of its hours where it is short. */
export const partStarts = (range: TimeRange, timeZone = 'UTC'): number[] =>
  bucketStarts(range, range.toMs - range.fromMs <= HOURLY_MS ? 'hour' : 'day', timeZone, PARTS_MAX)!

/** The start of the period of equal length before a period: where that starts with a day, with a day as well. */
export function startBefore({ fromMs, toMs }: TimeRange, timeZone: string): number {
  const dayOf = (atMs: number) => bucketStarts({ fromMs: atMs, toMs: atMs + 1 }, 'day', timeZone, 1)![0]!
  const atMs = fromMs - (toMs - fromMs)
  // Clocks may have changed, by an hour at most.
  return dayOf(fromMs) === fromMs && dayOf(toMs) === toMs ? dayOf(atMs + 2 * HOUR_MS) : atMs
}
