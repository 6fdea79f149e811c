import { OPEN_QUARANTINE } from '../settlement/quarantine-store.ts'
import type { AuditCheck } from './audit-check.ts'
import { CALL_AUDIT_CHECKS } from './call-audit-checks.ts'
import { CALL_PAYMENT_AUDIT_CHECKS } from './call-payment-audit-checks.ts'
import { PAYMENT_AUDIT_CHECKS } from './payment-audit-checks.ts'
import { TOTALS_AUDIT_CHECKS } from './totals-audit-checks.ts'

const WITH_KIND = "id || ' (' || kind || ')'"

/** The invariants of transactions and their entries. */
const LEDGER_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'every ledger transaction balances',
    reads: 'rows',
    subject: WITH_KIND,
    sql: `
      SELECT transaction_id AS id, kind, 'entries sum to ' || sum(amount_pico) AS detail
      FROM touched_entries GROUP BY transaction_id, kind HAVING sum(amount_pico) <> 0`,
  },
  {
    name: 'every ledger transaction has entries',
    reads: 'full',
    subject: WITH_KIND,
    sql: `
      SELECT t.id, t.kind, 'no entries' AS detail FROM scoped_transactions AS t
      WHERE NOT EXISTS (SELECT 1 FROM ledger_entries AS e WHERE e.transaction_id = t.id AND e.kind = t.kind)`,
  },
  {
    name: 'every ledger entry belongs to a transaction, and a customer entry to its account',
    reads: 'rows',
    subject: WITH_KIND,
    sql: `
      SELECT e.transaction_id AS id, e.kind,
             e.ledger_account || ' in a transaction of ' || coalesce(t.account_id, 'no account') AS detail
      FROM scoped_entries AS e
      LEFT JOIN ledger_transactions AS t ON t.id = e.transaction_id AND t.kind = e.kind
      WHERE t.id IS NULL
         OR (e.ledger_account LIKE 'customer:%' AND e.ledger_account <> 'customer:' || t.account_id)`,
  },
  {
    name: 'all ledger entries sum to zero',
    reads: 'open',
    sql: `
      SELECT 'ledger' AS id, 'entries sum to ' || total AS detail
      FROM (SELECT sum(value::numeric) AS total FROM audit_point, jsonb_each_text(sums)) AS proven WHERE total <> 0`,
  },
  {
    name: 'a call has at most one capture',
    reads: 'rows',
    sql: `
      SELECT transaction_id AS id, count(*) || ' captures' AS detail
      FROM touched_captures WHERE ledger_account IN ('revenue', 'byok_fees')
      GROUP BY transaction_id HAVING count(*) > 1`,
  },
  {
    name: "a call's charge is what the ledger captured, from its own account, as revenue or as a fee",
    reads: 'rows',
    sql: `
      SELECT touched.id,
             'charge ' || coalesce(c.charge_pico::text, 'of no call') || ', captured '
               || coalesce(e.captured::text, 'nothing') || ' to ' || coalesce(e.income, 'nothing') AS detail
      FROM (
        SELECT id FROM scoped_calls UNION SELECT transaction_id FROM scoped_entries WHERE kind = 'capture'
      ) AS touched
      LEFT JOIN (
        SELECT id, account_id, charge_pico, CASE WHEN is_byok THEN 'byok_fees' ELSE 'revenue' END AS income
        FROM call_records
      ) AS c ON c.id = touched.id AND c.charge_pico <> 0
      LEFT JOIN (
        SELECT transaction_id, sum(amount_pico) FILTER (WHERE ledger_account IN ('revenue', 'byok_fees')) AS captured,
               min(ledger_account) FILTER (WHERE ledger_account NOT LIKE 'customer:%') AS income,
               -sum(amount_pico) FILTER (WHERE ledger_account LIKE 'customer:%') AS paid,
               min(ledger_account) FILTER (WHERE ledger_account LIKE 'customer:%') AS payer
        FROM touched_captures GROUP BY transaction_id
      ) AS e ON e.transaction_id = touched.id
      WHERE c.charge_pico IS DISTINCT FROM e.captured OR c.charge_pico IS DISTINCT FROM e.paid
         OR 'customer:' || c.account_id IS DISTINCT FROM e.payer OR c.income IS DISTINCT FROM e.income`,
  },
  {
    name: 'every adjustment has a reason',
    reads: 'rows',
    subject: WITH_KIND,
    sql: `
      SELECT t.id, t.kind, 'no reason' AS detail
      FROM scoped_transactions AS t LEFT JOIN ledger_notes AS n ON n.id = t.id AND n.kind = t.kind
      WHERE t.kind = 'adjustment' AND n.id IS NULL`,
  },
  {
    name: 'no settlement is in quarantine',
    reads: 'open',
    sql: `
      SELECT q.id, q.reason AS detail
      FROM quarantined_settlements AS q WHERE ${OPEN_QUARANTINE}`,
  },
]

/** The invariants over rows. Those of whole accounts are in balance-audit.ts. */
export const AUDIT_CHECKS: readonly AuditCheck[] = [
  ...LEDGER_AUDIT_CHECKS,
  ...CALL_AUDIT_CHECKS,
  ...PAYMENT_AUDIT_CHECKS,
  ...CALL_PAYMENT_AUDIT_CHECKS,
  ...TOTALS_AUDIT_CHECKS,
]
