import type { AuditCheck } from './audit-checks.ts'

/** A call that is decided about is named no more. `callId` is qualified: an unqualified `call_id` would be the review's. */
const unreviewed = (callId: string) =>
  `NOT EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = ${callId})`

/**
 * Whether what callers were told is what they were charged for. `settlement_conflicts` keeps what settlement set
 * aside; what a call is charged stands in `call_records`. Calls that rightly cost nothing (failed, by a provider
 * or by the gateway; nothing produced; no fee on the client's own key; a duplicate) break none of these.
 */
export const CONFLICT_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'no call is charged whose caller was told that it failed',
    sql: `
      SELECT call.id AS subject,
             'charged ' || call.charge_pico || ' as ' || call.status || ', its caller was told ' || aside.error_code AS detail
      FROM settlement_conflicts AS aside JOIN call_records AS call ON call.id = aside.call_id
      WHERE aside.error_code IS NOT NULL AND call.charge_pico > 0
        AND (aside.status = 'failed' OR call.status = 'completed') AND ${unreviewed('call.id')}`,
  },
  {
    name: 'no call is given away that a provider served',
    sql: `
      SELECT id AS subject, prompt_tokens || ' and ' || completion_tokens || ' tokens, charged nothing' AS detail
      FROM call_records
      WHERE charge_pico = 0 AND duplicate_of IS NULL AND status <> 'failed' AND completion_tokens > 0
        AND (prompt_rate_pico > 0 OR completion_rate_pico > 0)
        AND attempts @> '[{"outcome": "ok"}]' AND ${unreviewed('call_records.id')}
      UNION ALL
      SELECT call.id, 'charged nothing as ' || call.status || ', a record set aside charges ' || aside.charge_pico
      FROM settlement_conflicts AS aside JOIN call_records AS call ON call.id = aside.call_id
      WHERE call.charge_pico = 0 AND call.duplicate_of IS NULL AND aside.charge_pico > 0 AND ${unreviewed('call.id')}`,
  },
  {
    name: 'no call has records that contradict each other',
    sql: `
      SELECT aside.call_id AS subject,
             outcome || ': ' || status || coalesce(' (' || error_code || ')', '') || ', ' || completion_tokens
               || ' tokens, charge ' || charge_pico AS detail
      FROM settlement_conflicts AS aside WHERE ${unreviewed('aside.call_id')}`,
  },
]
