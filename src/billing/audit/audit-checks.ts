import { OPEN_QUARANTINE } from '../settlement/quarantine-store.ts'
import { PROMPT_SUM_SQL } from '../settlement/settlement-statements.ts'
import { CALL_PAYMENT_AUDIT_CHECKS } from './call-payment-audit-checks.ts'

/**
 * The invariants of the ledger as queries: each returns the violations as (subject, detail). They run in SQL over whole
 * tables, so the auditor holds no rows in memory.
 */
interface AuditCheck {
  name: string
  /** Must select text columns `subject` and `detail`. */
  sql: string
}

/** Excludes calls that an operator has reviewed. `callId` must be qualified: an unqualified `call_id` would be the review's. */
const unreviewed = (callId: string) =>
  `NOT EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = ${callId})`

/**
 * Compare what clients received with what they were charged. `settlement_conflicts` keeps the records that settlement
 * dropped; `call_records` has the charge. Calls that rightly cost nothing (failed by a provider or the gateway; nothing
 * produced; no fee on the client's BYOK key; a duplicate) violate none of these.
 */
const CONFLICT_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'no charged call returned an error to its client',
    sql: `
      SELECT call.id AS subject,
             'charged ' || call.charge_pico || ' as ' || call.status || ', its client received ' || aside.error_code AS detail
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

const KINDS = `('topup', 'refund', 'refund_reversal', 'dispute', 'dispute_won', 'dispute_lost')`

/** The invariants of top-ups over the ledger. The transactions of a payment have its id, alone or before a slash. */
const PAYMENT_AUDIT_CHECKS: readonly AuditCheck[] = [
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
        AND e.ledger_account <> 'rail:x402'
        AND (p.id IS NULL OR e.kind NOT IN ${KINDS} OR t.account_id <> p.account_id
             OR e.ledger_account NOT IN ('rail:' || p.rail, 'disputes', 'customer:' || p.account_id,
                                         'receivable:' || p.account_id))`,
  },
  {
    name: 'an account owes exactly what its receivable holds',
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
    name: 'every event of a rail is applied within an hour',
    sql: `
      SELECT rail || ' ' || id AS subject, type || ' of ' || payment_id || ' since ' || received_at AS detail
      FROM payment_events
      WHERE outcome IS NULL AND payment_id IS NOT NULL AND received_at < now() - interval '1 hour'`,
  },
]

const INVOICE_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'numbers of invoices have no gaps',
    sql: `
      SELECT s.issuer || ', ' || s.prefix AS subject,
             'last number ' || s.last_number || ', ' || count(i.id) || ' invoices up to ' || coalesce(max(i.number), 0) AS detail
      FROM invoice_series AS s LEFT JOIN invoices AS i ON i.issuer = s.issuer AND i.prefix = s.prefix
      GROUP BY s.issuer, s.prefix, s.last_number
      HAVING count(i.id) <> s.last_number OR coalesce(max(i.number), 0) <> s.last_number`,
  },
  {
    name: 'a top-up with an invoice is invoiced for what it brought, less what went back',
    sql: `
      SELECT p.id AS subject, 'kept ' || (p.settled_pico - p.returned_pico) || ', invoiced ' || i.amount AS detail
      FROM payments AS p
      JOIN (
        SELECT payment_id, sum(CASE kind WHEN 'invoice' THEN amount_pico ELSE -amount_pico END) AS amount
        FROM invoices GROUP BY payment_id
      ) AS i ON i.payment_id = p.id
      WHERE i.amount <> p.settled_pico - p.returned_pico`,
  },
]

/** The version of a rate without the suffix of the routing fee, and the fee in percent; see `feeRateVersion`. */
const BASE_VERSION = "regexp_replace(call.rate_version, '-byok-[0-9]{1,3}$', '')"
const FEE_PERCENT = "coalesce(substring(call.rate_version FROM '-byok-([0-9]{1,3})$')::bigint, 100)"
const listed = (column: string) => `published.${column} * ${FEE_PERCENT} / 100`
const isListed = (column: string) => `call.${column}_rate_pico IS NOT DISTINCT FROM ${listed(column)}`
/** A call without prompt cache prices has no cache rates and pays the prompt rate. */
const isListedOrNone = (column: string) => `(call.${column}_rate_pico IS NULL OR ${isListed(column)})`

/** A process may use a catalog shortly before the catalog worker records its rates. */
const PUBLISHED_WITHIN = "interval '1 hour'"

const RATE_AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'every call has the rates that were published as the version it names',
    sql: `
      SELECT call.id AS subject,
             call.served_model_id || ' at ' || call.prompt_rate_pico || ' and ' || call.completion_rate_pico
               || ' a token, which ' || coalesce(call.rate_version, 'no version') || ' is not' AS detail
      FROM call_records AS call
      WHERE call.served_model_id IS NOT NULL
        AND NOT EXISTS (
          SELECT 1 FROM rate_versions AS published
          WHERE published.model_id = call.served_model_id AND published.rate_version = ${BASE_VERSION}
            AND ${['prompt', 'completion', 'prompt_audio', 'prompt_image', 'units'].map(isListed).join(' AND ')}
            AND ${['cache_read', 'cache_write'].map(isListedOrNone).join(' AND ')})
        AND (call.settled_at_ms < extract(epoch FROM now() - ${PUBLISHED_WITHIN}) * 1000
             OR EXISTS (SELECT 1 FROM rate_versions AS published
                        WHERE published.model_id = call.served_model_id AND published.rate_version = ${BASE_VERSION}))
        AND ${unreviewed('call.id')}`,
  },
]

export const AUDIT_CHECKS: readonly AuditCheck[] = [
  {
    name: 'every ledger transaction balances',
    sql: `
      SELECT transaction_id || ' (' || kind || ')' AS subject, 'entries sum to ' || sum(amount_pico) AS detail
      FROM ledger_entries GROUP BY transaction_id, kind HAVING sum(amount_pico) <> 0`,
  },
  {
    name: 'every ledger transaction has entries',
    sql: `
      SELECT t.id || ' (' || t.kind || ')' AS subject, 'no entries' AS detail
      FROM ledger_transactions AS t
      LEFT JOIN ledger_entries AS e ON e.transaction_id = t.id AND e.kind = t.kind
      WHERE e.transaction_id IS NULL`,
  },
  {
    name: 'every ledger entry belongs to a transaction, and a customer entry to its account',
    sql: `
      SELECT e.transaction_id || ' (' || e.kind || ')' AS subject,
             e.ledger_account || ' in a transaction of ' || coalesce(t.account_id, 'no account') AS detail
      FROM ledger_entries AS e
      LEFT JOIN ledger_transactions AS t ON t.id = e.transaction_id AND t.kind = e.kind
      WHERE t.id IS NULL
         OR (e.ledger_account LIKE 'customer:%' AND e.ledger_account <> 'customer:' || t.account_id)`,
  },
  {
    name: 'all ledger entries sum to zero',
    sql: `
      SELECT 'ledger' AS subject, 'entries sum to ' || sum(amount_pico) AS detail
      FROM ledger_entries HAVING sum(amount_pico) <> 0`,
  },
  {
    name: "an account's balance is the sum of its entries",
    sql: `
      SELECT coalesce('customer:' || a.id, e.ledger_account) AS subject,
             'balance ' || coalesce(a.balance_pico::text, 'of no account') || ', entries '
               || coalesce(e.total, 0) AS detail
      FROM accounts AS a
      FULL JOIN (
        SELECT ledger_account, sum(amount_pico) AS total FROM ledger_entries
        WHERE ledger_account LIKE 'customer:%' GROUP BY ledger_account
      ) AS e ON e.ledger_account = 'customer:' || a.id
      WHERE a.balance_pico IS DISTINCT FROM coalesce(e.total, 0)`,
  },
  {
    name: 'no balance is below zero',
    sql: `SELECT id AS subject, 'balance ' || balance_pico AS detail FROM accounts WHERE balance_pico < 0`,
  },
  {
    name: 'a call has at most one capture',
    sql: `
      SELECT transaction_id AS subject, count(*) || ' captures' AS detail
      FROM ledger_entries WHERE kind = 'capture' AND ledger_account IN ('revenue', 'byok_fees')
      GROUP BY transaction_id HAVING count(*) > 1`,
  },
  {
    name: "a call's charge is what the ledger captured, from its own account, as revenue or as a fee",
    sql: `
      SELECT coalesce(c.id, e.transaction_id) AS subject,
             'charge ' || coalesce(c.charge_pico::text, 'of no call') || ', captured '
               || coalesce(e.captured::text, 'nothing') || ' to ' || coalesce(e.income, 'nothing') AS detail
      FROM (
        SELECT id, account_id, charge_pico, CASE WHEN is_byok THEN 'byok_fees' ELSE 'revenue' END AS income
        FROM call_records WHERE charge_pico <> 0
      ) AS c
      FULL JOIN (
        SELECT transaction_id,
               sum(amount_pico) FILTER (WHERE ledger_account IN ('revenue', 'byok_fees')) AS captured,
               min(ledger_account) FILTER (WHERE ledger_account NOT LIKE 'customer:%') AS income,
               -sum(amount_pico) FILTER (WHERE ledger_account LIKE 'customer:%') AS paid,
               min(ledger_account) FILTER (WHERE ledger_account LIKE 'customer:%') AS payer
        FROM ledger_entries WHERE kind = 'capture' GROUP BY transaction_id
      ) AS e ON e.transaction_id = c.id
      WHERE c.charge_pico IS DISTINCT FROM e.captured OR c.charge_pico IS DISTINCT FROM e.paid
         OR 'customer:' || c.account_id IS DISTINCT FROM e.payer OR c.income IS DISTINCT FROM e.income`,
  },
  {
    name: 'a charge is tokens times rates, and a failed call or a duplicate costs nothing',
    sql: `
      SELECT id AS subject, 'charged ' || charge_pico || ', recomputed ' || recomputed AS detail
      FROM (
        SELECT id, charge_pico,
               CASE WHEN status = 'failed' OR duplicate_of IS NOT NULL THEN 0
                    ELSE coalesce(${PROMPT_SUM_SQL.rate}
                                  + completion_tokens * completion_rate_pico::numeric, 0) END AS recomputed
        FROM call_records
      ) AS c WHERE charge_pico <> recomputed`,
  },
  {
    name: 'a duplicate refers to a call of its own account that is not a duplicate',
    sql: `
      SELECT d.id AS subject, 'duplicate of ' || d.duplicate_of || ', which '
               || CASE WHEN c.id IS NULL THEN 'does not exist' ELSE 'cannot settle it' END AS detail
      FROM call_records AS d LEFT JOIN call_records AS c ON c.id = d.duplicate_of
      WHERE d.duplicate_of IS NOT NULL
        AND (c.id IS NULL OR c.account_id <> d.account_id OR c.duplicate_of IS NOT NULL)`,
  },
  {
    name: "a call on the client's own provider key costs us nothing",
    sql: `
      SELECT id AS subject, 'costs ' || prompt_cost_pico || ' and ' || completion_cost_pico || ' a token' AS detail
      FROM call_records
      WHERE is_byok AND (prompt_cost_pico <> 0 OR completion_cost_pico <> 0
                         OR prompt_audio_cost_pico <> 0 OR prompt_image_cost_pico <> 0
                         OR cache_read_cost_pico <> 0 OR cache_write_cost_pico <> 0
                         OR units_cost_pico <> 0)`,
  },
  {
    name: 'no charge is above its hold',
    sql: `
      SELECT id AS subject, 'charged ' || charge_pico || ', held ' || hold_pico AS detail
      FROM call_records WHERE charge_pico > hold_pico OR charge_pico < 0`,
  },
  {
    name: 'the hold of every call in Redis equals its record',
    sql: `
      SELECT id AS subject, 'Redis held ' || redis_hold_pico || ', the record says ' || hold_pico AS detail
      FROM call_records WHERE redis_hold_pico <> hold_pico AND ${unreviewed('call_records.id')}`,
  },
  {
    name: 'every call belongs to an account',
    sql: `
      SELECT c.id AS subject, 'account ' || c.account_id || ' does not exist' AS detail
      FROM call_records AS c LEFT JOIN accounts AS a ON a.id = c.account_id WHERE a.id IS NULL`,
  },
  {
    name: 'every adjustment has a reason',
    sql: `
      SELECT t.id || ' (' || t.kind || ')' AS subject, 'no reason' AS detail
      FROM ledger_transactions AS t LEFT JOIN ledger_notes AS n ON n.id = t.id AND n.kind = t.kind
      WHERE t.kind = 'adjustment' AND n.id IS NULL`,
  },
  {
    name: 'no settlement is in quarantine',
    sql: `
      SELECT q.id AS subject, q.reason AS detail
      FROM quarantined_settlements AS q WHERE ${OPEN_QUARANTINE}`,
  },
  ...RATE_AUDIT_CHECKS,
  ...CONFLICT_AUDIT_CHECKS,
  ...PAYMENT_AUDIT_CHECKS,
  ...INVOICE_AUDIT_CHECKS,
  ...CALL_PAYMENT_AUDIT_CHECKS,
]
