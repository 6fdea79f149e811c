import type { UsageInterval } from '../api/usage.ts'
import type { TimeRange } from './usage-query.ts'

const HOUR_MS = 3_600_000

/** Whether a text names a time zone of the IANA database, such as `Europe/Berlin` or `UTC`. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return /^[A-Za-z]/.test(name)
  } catch {
    return false
  }
}

/**
 * The starts of the hours, days or months of a span in a time zone, unix ms: the first at or before the span's first
 * moment. Null when there are more than `countMax`.
 */
export function bucketStarts(
  { fromMs, toMs }: TimeRange,
  unit: UsageInterval,
  timeZone: string,
  countMax: number,
): number[] | null {
  const starts: number[] = []
  for (let at = bucketStart(fromMs, unit, timeZone); at < toMs; at = nextStart(at, unit, timeZone)) {
    starts.push(at)
    if (starts.length > countMax) return null
  }
  return starts
}

/** The moment at which a day (its midnight, as if in UTC) begins in a time zone. */
export function startOfDay(midnightUtcMs: number, timeZone: string): number {
  const first = midnightUtcMs - offsetMs(midnightUtcMs, timeZone)
  const second = midnightUtcMs - offsetMs(first, timeZone)
  const exact = [first, second].find((at) => at + offsetMs(at, timeZone) === midnightUtcMs)
  // Where clocks are put forward at midnight, the day begins with the first moment after.
  return exact ?? Math.max(first, second)
}

function bucketStart(atMs: number, unit: UsageInterval, timeZone: string): number {
  const offset = offsetMs(atMs, timeZone)
  const local = new Date(atMs + offset)
  switch (unit) {
    case 'hour':
      return Math.floor((atMs + offset) / HOUR_MS) * HOUR_MS - offset
    case 'day':
      return startOfDay(Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()), timeZone)
    case 'month':
      return startOfDay(Date.UTC(local.getUTCFullYear(), local.getUTCMonth()), timeZone)
  }
}

function nextStart(startMs: number, unit: UsageInterval, timeZone: string): number {
  if (unit === 'hour') return startMs + HOUR_MS

  const local = new Date(startMs + offsetMs(startMs, timeZone))
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()]
  return startOfDay(unit === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1), timeZone)
}

const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone)
  if (known) return known
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  clocks.set(timeZone, clock)
  return clock
}

/** How far a zone's clocks are ahead of UTC at a moment. */
function offsetMs(atMs: number, timeZone: string): number {
  const parts = Object.fromEntries(
    clockOf(timeZone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1_000) * 1_000
}
