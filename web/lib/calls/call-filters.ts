import type { Generation } from '../../../src/core/api/calls.ts'
import { lastDays } from '../format.ts'
import { addDays } from '../usage-view.ts'
import { type CallPlace, PLACE_PARAMETERS } from './call-order.ts'

type CallStatus = Generation['status']

/** The filters of the operators' page of calls; every field is in the address. */
export interface OperatorCallFilters extends CallPlace {
  /** A text in any of them, or the id of a call. */
  q?: string
  account?: string
  key?: string
  request?: string
  model?: string
  offer?: string
  status?: CallStatus
  /** Calls that took at least so long. */
  min_duration_ms?: string
  /** `requests`: what was refused before it was a call. */
  tab?: string
  /** The last so many days; absent: 30. */
  days?: string
}

const TEXTS = ['tab', 'q', 'account', 'key', 'request', 'model', 'offer', ...PLACE_PARAMETERS] as const
export const CALL_STATUSES: readonly CallStatus[] = ['completed', 'failed', 'cancelled', 'interrupted']
/** The periods of operators' pages. */
export const SPANS = [
  { value: '1', name: 'Today (UTC)' },
  { value: '7', name: '7 days' },
  { value: '30', name: '30 days' },
]
const TEXT_MAX = 200

/** Reads the filters out of an address. Whatever is no filter is left out, never an error. */
export function readCallFilters(search: Record<string, unknown>): OperatorCallFilters {
  const filters: OperatorCallFilters = {}
  for (const name of TEXTS) {
    const text = textOf(search[name])
    if (text !== '') filters[name] = text
  }
  const status = CALL_STATUSES.find((known) => known === search.status)
  if (status) filters.status = status
  const duration = textOf(search.min_duration_ms)
  if (/^[1-9]\d{0,7}$/.test(duration)) filters.min_duration_ms = duration
  const span = SPANS.find(({ value }) => value === textOf(search.days))
  if (span) filters.days = span.value
  return filters
}

const DAYS_MAX = 366

/** The period that operators' calls are listed of: the last days, or longer where the moment to go to is before them. */
export function callPeriod({ days = '30' }: OperatorCallFilters, atIso: string | null, now: Date) {
  const { from } = lastDays(Number(days), now)
  const day = atIso?.slice(0, 10) ?? from
  if (day >= from) return { from }
  const first = addDays(day, -Number(days))
  const end = addDays(first, DAYS_MAX)
  return { from: first, ...(Date.parse(end) < now.getTime() && { to: end }) }
}

/** Whether a text is the id of a call, as the box for ids takes it. */
export const isCallId = (text: string): boolean => /^chatcmpl_[0-9A-HJKMNP-TV-Z]{26}$/.test(text)

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim().slice(0, TEXT_MAX) : ''
