export const DAY_MS = 86_400_000

/** A moment in ISO 8601, UTC, with milliseconds. */
export const isoTime = (at: Date | number): string => new Date(at).toISOString()

export const isoTimeOrNull = (at: Date | number | null | undefined): string | null =>
  at === null || at === undefined ? null : isoTime(at)
