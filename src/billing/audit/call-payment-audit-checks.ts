import { CALL_PAYMENT_ACCOUNT } from '../../core/billing/postings.ts'
import type { AuditCheck } from './audit-check.ts'

const KINDS = "('call_payment', 'call_payment_closed')"
const CARRIED = "('carried_charges', 'carried_credits')"
/** Calls of archived months are in their archives, their payments stay. */
const IS_HERE = (callId: string) => `archived_at(${callId}) IS NULL`

/** The invariants of payments for single calls. Their ledger transactions have the id of the call. */
export const CALL_PAYMENT_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: "a call payment's money is where the ledger has it: authorized, received for its call, or not asked for",
    reads: 'rows',
    sql: `
      WITH touched AS (
        SELECT call_id FROM scoped_call_payments
        UNION SELECT transaction_id FROM scoped_entries
        WHERE (ledger_account = 'customer:${CALL_PAYMENT_ACCOUNT}' AND kind NOT IN ${CARRIED}) OR kind IN ${KINDS}
      )
      SELECT touched.call_id AS id,
             coalesce(p.state::text, 'no payment') || ' of ' || coalesce(p.amount_pico, 0) || ', at the rail '
               || coalesce(e.at_rail, 0) || ', left of it ' || coalesce(e.remaining, 0) AS detail
      FROM touched LEFT JOIN call_payments AS p ON p.call_id = touched.call_id
      CROSS JOIN LATERAL (
        SELECT -coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'rail:x402'), 0) AS at_rail,
               coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'customer:${CALL_PAYMENT_ACCOUNT}'), 0) AS remaining,
               count(*) AS entries
        FROM ledger_entries WHERE transaction_id = touched.call_id
      ) AS e
      WHERE (p.call_id IS NULL OR e.entries = 0
             OR e.at_rail <> CASE WHEN p.closed_at IS NOT NULL AND p.state <> 'settled' THEN 0 ELSE p.amount_pico END
             OR (p.closed_at IS NOT NULL AND e.remaining <> 0) OR e.remaining < 0)
        AND ${IS_HERE('touched.call_id')}`,
  },
  {
    name: 'the rail of call payments moves by them alone, for their account',
    reads: 'rows',
    subject: "id || ' (' || kind || ')'",
    sql: `
      SELECT e.transaction_id AS id, e.kind, e.ledger_account || ' ' || e.amount_pico AS detail
      FROM scoped_entries AS e
      JOIN ledger_transactions AS t ON t.id = e.transaction_id AND t.kind = e.kind
      WHERE (e.ledger_account IN ('rail:x402', 'call_payment_remainder', 'unpaid_calls') OR e.kind IN ${KINDS})
        AND ((e.kind NOT IN ${KINDS} AND e.kind NOT IN ${CARRIED}) OR t.account_id <> '${CALL_PAYMENT_ACCOUNT}')`,
  },
  {
    name: 'a call without a key has one payment, which covers what it held',
    reads: 'rows',
    sql: `
      SELECT call.id, 'held ' || call.hold_pico || ', paid ' || coalesce(p.amount_pico::text, 'by nothing') AS detail
      FROM scoped_calls AS call LEFT JOIN call_payments AS p ON p.call_id = call.id
      WHERE call.account_id = '${CALL_PAYMENT_ACCOUNT}' AND (p.call_id IS NULL OR call.hold_pico > p.amount_pico)`,
  },
  {
    name: 'no failed call is settled, and what is settled has its call',
    reads: 'rows',
    waits: true,
    sql: `
      SELECT p.call_id AS id, p.state || ', its call ' || coalesce(call.status::text, 'has no record') AS detail,
             call.id IS NULL AND p.over_at >= now() AS waits
      FROM (
        SELECT call_id FROM scoped_call_payments
        UNION SELECT id FROM scoped_calls WHERE account_id = '${CALL_PAYMENT_ACCOUNT}'
      ) AS touched
      JOIN call_payments AS p ON p.call_id = touched.call_id
      LEFT JOIN call_records AS call ON call.id = p.call_id
      WHERE p.state IN ('settling', 'settled', 'unproven')
        AND (call.id IS NULL OR call.status IN ('failed', 'interrupted') OR call.account_id <> '${CALL_PAYMENT_ACCOUNT}')
        AND ${IS_HERE('p.call_id')}`,
  },
  {
    name: 'a call payment settles the amount that was quoted and signed',
    reads: 'rows',
    sql: `
      SELECT call_id AS id, 'amount ' || amount_pico || ', asked for ' || (request->'terms'->>'amount') AS detail
      FROM scoped_call_payments
      WHERE amount_pico <> (request->'terms'->>'amount')::numeric * 1000000
         OR request->'terms'->>'amount' IS DISTINCT FROM request->'payload'->'payload'->'authorization'->>'value'`,
  },
  {
    name: 'every call payment is proven or refuted',
    reads: 'open',
    sql: `
      SELECT call_id AS id, 'attempts ' || attempts || ', ' || coalesce(reason, 'no response') AS detail
      FROM call_payments
      WHERE state = 'unproven' OR (closed_at IS NULL AND over_at < now() - interval '1 hour')`,
  },
]
