import { Type } from 'typebox'
import { invalid } from '../kernel/errors.ts'
import { isoTime, parseMoment } from '../kernel/time.ts'
import { isTimeZone, startOfDay } from './time-buckets.ts'
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
