export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** A moment in ISO 8601, UTC, with milliseconds. */
export const isoTime = (at: Date | number): string => new Date(at).toISOString()

export const isoTimeOrNull = (at: Date | number | null | undefined): string | null =>
  at === null || at === undefined ? null : isoTime(at)

/** A day since 1970 as `2027-01-31`. */
export const isoDay = (day: number): string => isoTime(day * DAY_MS).slice(0, '2027-01-31'.length)

/** Start of the month of a time, UTC, unix ms. */
export function monthStartMs(nowMs: number): number {
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
}

/** Start of the next month. */
export function nextMonthMs(nowMs: number): number {
  const now = new Date(nowMs)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
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
