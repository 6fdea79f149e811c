import { CALL_PAYMENT_ACCOUNT } from '../../core/payments/x402.ts'

/** The invariants of payments for single calls; see AuditCheck. Their ledger transactions have the id of the call. */
export const CALL_PAYMENT_AUDIT_CHECKS = [
  {
    name: "a call payment's money is where the ledger has it: authorized, received for its call, or not asked for",
    sql: `
      SELECT coalesce(p.call_id, e.call_id) AS subject,
             coalesce(p.state::text, 'no payment') || ' of ' || coalesce(p.amount_pico, 0) || ', at the rail '
               || coalesce(e.at_rail, 0) || ', left of it ' || coalesce(e.remaining, 0) AS detail
      FROM call_payments AS p
      FULL JOIN (
        SELECT transaction_id AS call_id,
               -coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'rail:x402'), 0) AS at_rail,
               coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'customer:${CALL_PAYMENT_ACCOUNT}'), 0) AS remaining
        FROM ledger_entries
        WHERE transaction_id IN (
          SELECT id FROM ledger_transactions
          WHERE account_id = '${CALL_PAYMENT_ACCOUNT}' OR kind IN ('call_payment', 'call_payment_closed')
        )
        GROUP BY transaction_id
      ) AS e ON e.call_id = p.call_id
      WHERE p.call_id IS NULL OR e.call_id IS NULL
         OR e.at_rail <> CASE WHEN p.closed_at IS NOT NULL AND p.state <> 'settled' THEN 0 ELSE p.amount_pico END
         OR (p.closed_at IS NOT NULL AND e.remaining <> 0) OR e.remaining < 0`,
  },
  {
    name: 'the rail of call payments moves by them alone, for their account',
    sql: `
      SELECT e.transaction_id || ' (' || e.kind || ')' AS subject, e.ledger_account || ' ' || e.amount_pico AS detail
      FROM ledger_entries AS e
      JOIN ledger_transactions AS t ON t.id = e.transaction_id AND t.kind = e.kind
      WHERE (e.ledger_account IN ('rail:x402', 'call_payment_remainder', 'unpaid_calls')
             OR e.kind IN ('call_payment', 'call_payment_closed'))
        AND (e.kind NOT IN ('call_payment', 'call_payment_closed') OR t.account_id <> '${CALL_PAYMENT_ACCOUNT}')`,
  },
  {
    name: 'a call without a key has one payment, which covers what it held',
    sql: `
      SELECT call.id AS subject,
             'held ' || call.hold_pico || ', paid ' || coalesce(p.amount_pico::text, 'by nothing') AS detail
      FROM call_records AS call LEFT JOIN call_payments AS p ON p.call_id = call.id
      WHERE call.account_id = '${CALL_PAYMENT_ACCOUNT}' AND (p.call_id IS NULL OR call.hold_pico > p.amount_pico)`,
  },
  {
    name: 'no failed call is settled, and what is settled has its call',
    sql: `
      SELECT p.call_id AS subject, p.state || ', its call ' || coalesce(call.status::text, 'has no record') AS detail
      FROM call_payments AS p LEFT JOIN call_records AS call ON call.id = p.call_id
      WHERE p.state IN ('settling', 'settled', 'unproven')
        AND (call.status IN ('failed', 'interrupted')
             OR (call.id IS NULL AND p.over_at < now()) OR call.account_id <> '${CALL_PAYMENT_ACCOUNT}')`,
  },
  {
    name: 'a call payment settles the amount that was quoted and signed',
    sql: `
      SELECT call_id AS subject, 'amount ' || amount_pico || ', asked for ' || (request->'terms'->>'amount') AS detail
      FROM call_payments
      WHERE amount_pico <> (request->'terms'->>'amount')::numeric * 1000000
         OR request->'terms'->>'amount' IS DISTINCT FROM request->'payload'->'payload'->'authorization'->>'value'`,
  },
  {
    name: 'every call payment is proven or refuted',
    sql: `
      SELECT call_id AS subject, 'attempts ' || attempts || ', ' || coalesce(reason, 'no response') AS detail
      FROM call_payments
      WHERE state = 'unproven' OR (closed_at IS NULL AND over_at < now() - interval '1 hour')`,
  },
]
