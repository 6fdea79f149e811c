export const DAY_MS = 86_400_000

/** A moment in ISO 8601, UTC, with milliseconds. */
export const isoTime = (at: Date | number): string => new Date(at).toISOString()

export const isoTimeOrNull = (at: Date | number | null | undefined): string | null =>
  at === null || at === undefined ? null : isoTime(at)

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
