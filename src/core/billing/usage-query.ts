import { Type } from 'typebox'
import { ApiError } from '../kernel/errors.ts'

export const USAGE_GROUPS = ['day', 'model', 'key'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]

/** A span of time, unix ms: from the first moment to just before the second. */
export interface TimeRange {
  fromMs: number
  toMs: number
}

/** A place in a list of calls, newest first: after this call. */
export interface CallCursor {
  admittedAtMs: number
  callId: string
}

/** A query string as parsed by the server. */
export type QueryParameters = Readonly<Record<string, unknown>>

const Moment = Type.Optional(
  Type.String({
    format: 'moment',
    description: 'A date (its midnight, UTC), or a date and time with its zone',
    errorMessage: '`{param}` must be a date such as 2027-01-31, or 2027-01-31T12:00:00Z.',
  }),
)
/** The parameters of `timeRange`. */
export const TIME_RANGE = { from: Moment, to: Moment }

/** A cursor as `formatCursor` prints it. */
export const Cursor = Type.String({
  format: 'cursor',
  errorMessage: 'Send `{param}` just as `next_cursor` had it.',
})

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const DAYS_MAX = 366

/**
 * Reads `from` and `to`: a date (its midnight, UTC) or a date and time with its zone. Without `to` until now,
 * without `from` the 30 days before. Throws ApiError `invalid_request`.
 */
export function readTimeRange(query: QueryParameters, nowMs: number): TimeRange {
  return rangeOf(readMoment(query, 'from'), readMoment(query, 'to'), nowMs)
}

/** The span of parameters that fit TIME_RANGE. Throws ApiError `invalid_request`. */
export function timeRange({ from, to }: { from?: string; to?: string }, nowMs: number): TimeRange {
  const momentOf = (text: string | undefined) => (text === undefined ? null : parseMoment(text))
  return rangeOf(momentOf(from), momentOf(to), nowMs)
}

function rangeOf(from: number | null, to: number | null, nowMs: number): TimeRange {
  const toMs = to ?? nowMs
  const fromMs = from ?? toMs - DEFAULT_DAYS * DAY_MS
  if (fromMs >= toMs) throw invalid('from', '`from` must lie before `to`.')
  if (toMs - fromMs > DAYS_MAX * DAY_MS)
    throw invalid('from', `Ask for ${DAYS_MAX} days at a time, at the most.`)
  return { fromMs, toMs }
}

/** Reads a cursor as `formatCursor` printed it; null without one. Throws ApiError `invalid_request`. */
export function readCursor(query: QueryParameters): CallCursor | null {
  const text = readText(query, 'cursor')
  if (text === null) return null
  const cursor = parseCursor(text)
  if (cursor === null) throw invalid('cursor', 'Send `cursor` just as `next_cursor` had it.')
  return cursor
}

/** The place that `formatCursor` printed; null for another text. */
export function parseCursor(text: string): CallCursor | null {
  const match = /^(\d{1,15})\.([\w-]{1,64})$/.exec(Buffer.from(text, 'base64url').toString('latin1'))
  return match?.[1] && match[2] ? { admittedAtMs: Number(match[1]), callId: match[2] } : null
}

export const formatCursor = ({ admittedAtMs, callId }: CallCursor): string =>
  Buffer.from(`${admittedAtMs}.${callId}`).toString('base64url')

/** Reads a parameter; null where it is absent or empty. Throws ApiError when it is there twice. */
export function readText(query: QueryParameters, name: string): string | null {
  const value = query[name]
  if (value === undefined || value === '') return null
  if (typeof value !== 'string') throw invalid(name, `Send \`${name}\` once.`)
  return value
}

const MOMENT = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

function readMoment(query: QueryParameters, name: string): number | null {
  const text = readText(query, name)
  if (text === null) return null
  const moment = parseMoment(text)
  if (moment === null)
    throw invalid(name, `\`${name}\` must be a date such as 2027-01-31, or 2027-01-31T12:00:00Z.`)
  return moment
}

/** The unix ms of a date (its midnight, UTC), or of a date and time with its zone; null for another text. */
export function parseMoment(text: string): number | null {
  const [, year, month, day] = MOMENT.exec(text) ?? []
  const moment = Date.parse(text)
  // Date takes the 31st of February for a day in March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  const exists = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
  return year === undefined || !exists || Number.isNaN(moment) ? null : moment
}

const invalid = (param: string, message: string): ApiError =>
  new ApiError('invalid_request', message, { param })
