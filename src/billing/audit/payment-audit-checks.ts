import type { AuditCheck } from './audit-check.ts'

const KINDS = `('topup', 'refund', 'refund_reversal', 'dispute', 'dispute_won', 'dispute_lost')`
const PAYMENT_OF = (transactionId: string) => `split_part(${transactionId}, '/', 1)`

/**
 * The entries of payments that are in scope themselves or by an entry: those of their account's transactions, and those in
 * scope without a payment. The transactions of a payment have its id, alone or before a slash.
 */
const PAYMENT_ENTRIES = `
  WITH touched AS (
    SELECT id FROM scoped_payments
    UNION SELECT ${PAYMENT_OF('transaction_id')} FROM scoped_entries WHERE kind IN ${KINDS}
  ), entries AS (
    SELECT p.id AS payment_id, e.transaction_id, e.kind, e.ledger_account, e.amount_pico
    FROM touched JOIN payments AS p ON p.id = touched.id
    JOIN ledger_transactions AS t ON t.account_id = p.account_id AND t.kind <> 'capture' AND ${PAYMENT_OF('t.id')} = p.id
    JOIN ledger_entries AS e ON e.transaction_id = t.id AND e.kind = t.kind
    WHERE e.kind IN ${KINDS}
    UNION
    SELECT ${PAYMENT_OF('transaction_id')}, transaction_id, kind, ledger_account, amount_pico
    FROM scoped_entries WHERE kind IN ${KINDS}
  )`

/** The invariants of top-ups over the ledger. */
const LEDGER_CHECKS: readonly AuditCheck[] = [
  {
    name: "a payment's money is where the ledger has it: at its rail, in dispute, or gone back",
    reads: 'rows',
    subject: 'payment_id',
    sql: `${PAYMENT_ENTRIES}
      SELECT coalesce(p.id, e.first_id) AS id, touched.id AS payment_id,
             'kept ' || coalesce((p.settled_pico - p.returned_pico)::text, 'by no payment') || ', in dispute '
               || coalesce(p.disputed_pico, 0) || '; the ledger has ' || coalesce(e.kept, 0) || ' and '
               || coalesce(e.disputed, 0) AS detail
      FROM touched
      LEFT JOIN payments AS p ON p.id = touched.id
      LEFT JOIN (
        SELECT payment_id, min(transaction_id) AS first_id,
               coalesce(-sum(amount_pico) FILTER (WHERE ledger_account LIKE 'rail:%'), 0) AS kept,
               coalesce(sum(amount_pico) FILTER (WHERE ledger_account = 'disputes'), 0) AS disputed
        FROM entries GROUP BY payment_id
      ) AS e ON e.payment_id = touched.id
      WHERE (p.id IS NOT NULL OR e.payment_id IS NOT NULL)
        AND (p.settled_pico - p.returned_pico IS DISTINCT FROM coalesce(e.kept, 0)
             OR p.disputed_pico IS DISTINCT FROM coalesce(e.disputed, 0))`,
  },
  {
    name: 'a rail and the disputes move by payments alone, each by its own rail and for its own account',
    reads: 'rows',
    subject: "id || ' (' || kind || ')'",
    sql: `
      SELECT e.transaction_id AS id, e.kind, e.ledger_account || ' ' || e.amount_pico AS detail
      FROM scoped_entries AS e
      JOIN ledger_transactions AS t ON t.id = e.transaction_id AND t.kind = e.kind
      LEFT JOIN payments AS p ON p.id = ${PAYMENT_OF('e.transaction_id')}
      WHERE (e.ledger_account LIKE 'rail:%' OR e.ledger_account = 'disputes' OR e.kind IN ${KINDS})
        AND e.ledger_account <> 'rail:x402'
        AND (p.id IS NULL OR e.kind NOT IN ${KINDS} OR t.account_id <> p.account_id
             OR e.ledger_account NOT IN ('rail:' || p.rail, 'disputes', 'customer:' || p.account_id,
                                         'receivable:' || p.account_id))`,
  },
  {
    name: 'every event of a rail is applied within an hour',
    reads: 'open',
    sql: `
      SELECT rail || ' ' || id AS id, type || ' of ' || payment_id || ' since ' || received_at AS detail
      FROM payment_events
      WHERE outcome IS NULL AND payment_id IS NOT NULL AND received_at < now() - interval '1 hour'`,
  },
]

const INVOICE_CHECKS: readonly AuditCheck[] = [
  {
    name: 'numbers of invoices have no gaps',
    reads: 'rows',
    subject: 'series',
    sql: `
      SELECT i.payment_id AS id, i.issuer || ', ' || i.prefix AS series,
             'number ' || i.number || ' follows no ' || i.number - 1 AS detail
      FROM scoped_invoices AS i
      WHERE i.number > 1 AND NOT EXISTS (
        SELECT 1 FROM invoices AS previous
        WHERE previous.issuer = i.issuer AND previous.prefix = i.prefix AND previous.number = i.number - 1)
      UNION ALL
      SELECT s.issuer || ', ' || s.prefix, s.issuer || ', ' || s.prefix,
             'last number ' || s.last_number || ', invoices up to ' || coalesce(last.number, 0)
      FROM invoice_series AS s
      CROSS JOIN LATERAL (
        SELECT max(number) AS number FROM invoices AS i WHERE i.issuer = s.issuer AND i.prefix = s.prefix
      ) AS last
      WHERE s.last_number <> coalesce(last.number, 0)`,
  },
  {
    name: 'a top-up with an invoice is invoiced for what it brought, less what went back',
    reads: 'rows',
    sql: `
      SELECT p.id, 'kept ' || (p.settled_pico - p.returned_pico) || ', invoiced ' || i.amount AS detail
      FROM (SELECT id FROM scoped_payments UNION SELECT payment_id FROM scoped_invoices) AS touched
      JOIN payments AS p ON p.id = touched.id
      JOIN LATERAL (
        SELECT sum(CASE kind WHEN 'invoice' THEN amount_pico ELSE -amount_pico END) AS amount
        FROM invoices WHERE payment_id = p.id
      ) AS i ON i.amount IS NOT NULL
      WHERE i.amount <> p.settled_pico - p.returned_pico`,
  },
]

/** The invariants of top-ups and their invoices. */
export const PAYMENT_AUDIT_CHECKS: readonly AuditCheck[] = [...LEDGER_CHECKS, ...INVOICE_CHECKS]
