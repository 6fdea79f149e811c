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
