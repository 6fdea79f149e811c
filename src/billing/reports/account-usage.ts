import type { TimeRange } from '../../core/billing/usage-query.ts'
import { DAY_MS, MINUTE_MS } from '../../core/kernel/time.ts'

/** Totals are kept by quarter of an hour and by day (UTC): every time zone begins its days at a quarter. */
export const QUARTER_MS = 15 * MINUTE_MS

/** Reads as few totals as the period allows. Without `byDay` no call is read with those of a whole day. */
export function usageSpans({ fromMs, toMs }: TimeRange, { byDay }: { byDay: boolean }) {
  const between = (low: number, ms: number) => Math.min(Math.max(ms, low), toMs)
  const up = (ms: number, widthMs: number) => Math.ceil(ms / widthMs) * widthMs
  const down = (ms: number, widthMs: number) => Math.floor(ms / widthMs) * widthMs
  const quartersFromMs = between(fromMs, up(fromMs, QUARTER_MS))
  const quartersToMs = between(quartersFromMs, down(toMs, QUARTER_MS))
  const daysFromMs = Math.min(byDay ? up(quartersFromMs, DAY_MS) : quartersToMs, quartersToMs)
  const daysToMs = Math.max(down(quartersToMs, DAY_MS), daysFromMs)
  return { quartersFromMs, daysFromMs, daysToMs, quartersToMs }
}

const totals = (widthMs: number, from: string, to: string) => `
  SELECT starts_at_ms AS at_ms, key_id, requested_model, calls, failed_calls, charged_calls, prompt_tokens,
         completion_tokens, charge_pico, first_tokens, durations
  FROM usage_totals
  WHERE account_id = $1 AND width_ms = ${widthMs} AND starts_at_ms >= ${from}::bigint AND starts_at_ms < ${to}::bigint`

const records = (from: string, to: string) => `
  SELECT admitted_at_ms, key_id, requested_model, 1, CASE WHEN status = 'failed' THEN 1 ELSE 0 END,
         CASE WHEN charge_pico > 0 THEN 1 ELSE 0 END, prompt_tokens, completion_tokens, charge_pico,
         count_bucket('{}', latency_bucket(first_token_at_ms - admitted_at_ms), 1),
         count_bucket('{}', latency_bucket(finished_at_ms - admitted_at_ms), 1)
  FROM call_records WHERE account_id = $1 AND admitted_at_ms >= ${from}::bigint AND admitted_at_ms < ${to}::bigint`

/**
 * The usage of an account in a period, as the common table expression `usage`: totals of whole days and quarters of an
 * hour, and the calls of less than a quarter at either end. Its parameters are $1 to $7; see `accountUsageValues`.
 */
export const ACCOUNT_USAGE = `usage AS NOT MATERIALIZED (
  ${[
    totals(DAY_MS, '$4', '$5'),
    totals(QUARTER_MS, '$3', '$4'),
    totals(QUARTER_MS, '$5', '$6'),
    records('$2', '$3'),
    records('$6', '$7'),
  ].join(' UNION ALL ')}
)`

export function accountUsageValues(accountId: string, range: TimeRange, options = { byDay: true }) {
  const { quartersFromMs, daysFromMs, daysToMs, quartersToMs } = usageSpans(range, options)
  const times = [range.fromMs, quartersFromMs, daysFromMs, daysToMs, quartersToMs, range.toMs]
  return [accountId, ...times.map(BigInt)]
}
