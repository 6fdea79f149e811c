import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/kernel/time.ts'

/** The least width of totals: every time zone begins its days at a quarter of an hour. */
export const QUARTER_MS = 15 * MINUTE_MS
/** Totals are kept by day (UTC), hour and quarter of an hour. */
const WIDTHS_MS = [DAY_MS, HOUR_MS, QUARTER_MS]

/** What is read of one width; width 0: call records. */
interface UsageSpan {
  widthMs: number
  fromMs: number
  toMs: number
}

/** The fewest totals whose sums are the usage between each bound and the next, in order: none spans a bound. */
export function usageSpans(boundsMs: readonly number[]): UsageSpan[] {
  const spans: UsageSpan[] = []
  for (const [index, toMs] of boundsMs.entries())
    for (const span of index === 0 ? [] : spansBetween(boundsMs[index - 1]!, toMs)) {
      const last = spans.at(-1)
      if (last?.widthMs === span.widthMs) last.toMs = span.toMs
      else spans.push(span)
    }
  return spans
}

function spansBetween(fromMs: number, toMs: number, [widthMs, ...finer] = WIDTHS_MS): UsageSpan[] {
  if (fromMs >= toMs) return []
  if (widthMs === undefined) return [{ widthMs: 0, fromMs, toMs }]
  const [first, last] = [Math.ceil(fromMs / widthMs) * widthMs, Math.floor(toMs / widthMs) * widthMs]
  if (first >= last) return spansBetween(fromMs, toMs, finer)
  const middle = { widthMs, fromMs: first, toMs: last }
  return [...spansBetween(fromMs, first, finer), middle, ...spansBetween(last, toMs, finer)]
}

/**
 * The usage of an account as the common table expression `usage`: totals, and the calls of less than a quarter of an hour
 * at an end of a period. Its parameters are $1 to $5; see `accountUsageValues`. Each span is read by an index: OFFSET
 * keeps the planner from joining them to all totals of the account.
 */
export const ACCOUNT_USAGE = `usage AS NOT MATERIALIZED (
  SELECT part, used.* FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[]) AS span (part, width_ms, from_ms, to_ms)
  CROSS JOIN LATERAL (
    SELECT starts_at_ms AS at_ms, key_id, requested_model, calls, failed_calls, charged_calls, prompt_tokens,
           completion_tokens, charge_pico, first_tokens, durations
    FROM usage_totals
    WHERE account_id = $1 AND width_ms = span.width_ms AND starts_at_ms >= from_ms AND starts_at_ms < to_ms OFFSET 0
  ) AS used WHERE span.width_ms > 0
  UNION ALL
  SELECT part, used.* FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[]) AS span (part, width_ms, from_ms, to_ms)
  CROSS JOIN LATERAL (
    SELECT admitted_at_ms, key_id, requested_model, 1, CASE WHEN status = 'failed' THEN 1 ELSE 0 END,
           CASE WHEN charge_pico > 0 THEN 1 ELSE 0 END, prompt_tokens, completion_tokens, charge_pico,
           latency_count(first_token_at_ms - admitted_at_ms),
           latency_count(finished_at_ms - admitted_at_ms)
    FROM call_records WHERE account_id = $1 AND admitted_at_ms >= from_ms AND admitted_at_ms < to_ms OFFSET 0
  ) AS used WHERE span.width_ms = 0
)`

/** Each part of the usage, 0 and so on, is between its first bound and its last; see `usageSpans`. */
export function accountUsageValues(accountId: string, ...parts: ReadonlyArray<readonly number[]>): unknown[] {
  const spans = parts.flatMap((boundsMs, part) => usageSpans(boundsMs).map((span) => ({ part, ...span })))
  const times = (name: keyof UsageSpan) => spans.map((span) => BigInt(span[name]))
  return [accountId, spans.map(({ part }) => part), times('widthMs'), times('fromMs'), times('toMs')]
}
