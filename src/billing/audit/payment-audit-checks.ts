import type { AuditCheck } from './audit-checks.ts'

const KINDS = `('topup', 'refund', 'refund_reversal', 'dispute', 'dispute_won', 'dispute_lost')`

/** The invariants of top-ups over the ledger. A payment's transactions carry its id, alone or before a slash. */
export const PAYMENT_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: "a payment's money is where the ledger has it: at its rail, in dispute, or gone back",
    sql: `
      SELECT coalesce(p.id, e.payment_id) AS subject,
             'kept ' || coalesce((p.settled_pico - p.returned_pico)::text, 'by no payment') || ', in dispute '
               || coalesce(p.disputed_pico, 0) || '; the ledger has ' || coalesce(e.kept, 0) || ' and '
               || coalesce(e.disputed, 0) AS detail
      FROM payments AS p
      FULL JOIN (
        SELECT split_part(transaction_id, '/', 1) AS payment_id,
               coalesce(-sum(amount_pico) FILTER (WHERE ledger_account LIKE 'rail:%'), 0) AS kept,
               coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'disputes'), 0) AS disputed
        FROM ledger_entries WHERE kind IN ${KINDS} GROUP BY 1
      ) AS e ON e.payment_id = p.id
      WHERE p.settled_pico - p.returned_pico IS DISTINCT FROM coalesce(e.kept, 0)
         OR p.disputed_pico IS DISTINCT FROM coalesce(e.disputed, 0)`,
  },
  {
    name: 'a rail and the disputes move by payments alone, each by its own rail and for its own account',
    sql: `
      SELECT e.transaction_id || ' (' || e.kind || ')' AS subject, e.ledger_account || ' ' || e.amount_pico AS detail
      FROM ledger_entries AS e
      JOIN ledger_transactions AS t ON t.id = e.transaction_id AND t.kind = e.kind
      LEFT JOIN payments AS p ON p.id = split_part(e.transaction_id, '/', 1)
      WHERE (e.ledger_account LIKE 'rail:%' OR e.ledger_account = 'disputes' OR e.kind IN ${KINDS})
        AND (p.id IS NULL OR e.kind NOT IN ${KINDS} OR t.account_id <> p.account_id
             OR e.ledger_account NOT IN ('rail:' || p.rail, 'disputes', 'customer:' || p.account_id,
                                         'receivable:' || p.account_id))`,
  },
  {
    name: 'what an account owes is what its receivable says, and it owes nothing to others',
    sql: `
      SELECT coalesce('receivable:' || a.id, e.ledger_account) AS subject,
             'owed ' || coalesce(a.owed_pico::text, 'by no account') || ', entries ' || coalesce(e.total, 0) AS detail
      FROM accounts AS a
      FULL JOIN (
        SELECT ledger_account, sum(amount_pico) AS total FROM ledger_entries
        WHERE ledger_account LIKE 'receivable:%' GROUP BY ledger_account
      ) AS e ON e.ledger_account = 'receivable:' || a.id
      WHERE a.owed_pico IS DISTINCT FROM -coalesce(e.total, 0)`,
  },
  {
    name: 'what a rail told has acted within the hour',
    sql: `
      SELECT rail || ' ' || id AS subject, type || ' of ' || payment_id || ' since ' || received_at AS detail
      FROM payment_events
      WHERE outcome IS NULL AND payment_id IS NOT NULL AND received_at < now() - interval '1 hour'`,
  },
]
