import { LRUCache } from 'lru-cache'
import type { UsageInterval } from '../api/usage.ts'
import { HOUR_MS } from '../kernel/time.ts'
import type { TimeRange } from './usage-query.ts'

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
 * The starts of the hours, days or months of a period in a time zone, unix ms; the first is at or before the start of
 * the period. Null when there are more than `countMax`.
 */
export function bucketStarts(
  { fromMs, toMs }: TimeRange,
  unit: UsageInterval,
  timeZone: string,
  countMax: number,
): number[] | null {
  const clock = clockOf(timeZone)
  const starts: number[] = []
  for (let at = bucketStart(fromMs, unit, clock); at < toMs; at = nextStart(at, unit, clock)) {
    starts.push(at)
    if (starts.length > countMax) return null
  }
  return starts
}

/** The time at which a day (its midnight, as if in UTC) starts in a time zone. */
export function startOfDay(midnightUtcMs: number, timeZone: string): number {
  return dayStart(midnightUtcMs, clockOf(timeZone))
}

function dayStart(midnightUtcMs: number, clock: Intl.DateTimeFormat): number {
  const first = midnightUtcMs - offsetMs(midnightUtcMs, clock)
  const second = midnightUtcMs - offsetMs(first, clock)
  const exact = [first, second].find((at) => at + offsetMs(at, clock) === midnightUtcMs)
  // If clocks skip midnight, the day starts with the first instant after it.
  return exact ?? Math.max(first, second)
}

function bucketStart(atMs: number, unit: UsageInterval, clock: Intl.DateTimeFormat): number {
  const offset = offsetMs(atMs, clock)
  const local = new Date(atMs + offset)
  switch (unit) {
    case 'hour':
      return Math.floor((atMs + offset) / HOUR_MS) * HOUR_MS - offset
    case 'day':
      return dayStart(Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()), clock)
    case 'month':
      return dayStart(Date.UTC(local.getUTCFullYear(), local.getUTCMonth()), clock)
  }
}

function nextStart(startMs: number, unit: UsageInterval, clock: Intl.DateTimeFormat): number {
  if (unit === 'hour') return startMs + HOUR_MS

  const local = new Date(startMs + offsetMs(startMs, clock))
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()]
  return dayStart(unit === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1), clock)
}

/** More than the number of names in the database. */
const CLOCKS_MAX = 1_000
/** By the canonical name of a zone. ICU ignores case, so the number of spellings is unlimited. */
const clocks = new LRUCache<string, Intl.DateTimeFormat>({ max: CLOCKS_MAX })

/** The number of time zones with a cached clock. */
export const clocksHeld = (): number => clocks.size

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
  clocks.set(clock.resolvedOptions().timeZone, clock)
  return clock
}

/** The offset of a zone's clocks from UTC at a time. */
function offsetMs(atMs: number, clock: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(clock.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1_000) * 1_000
}
