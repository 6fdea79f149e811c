/** An invariant of the ledger as a query, which selects its violations. */
export interface AuditCheck {
  name: string
  /**
   * `rows`: reads the `scoped_*` tables of `AuditScope`, so that it finds a violation with the row that causes it.
   * `full`: the same, but only the full audit runs it. `open`: reads little, whatever was before, and is always run.
   */
  reads: 'rows' | 'full' | 'open'
  /**
   * Must select text columns `id`, of a row by which `scoped_*` finds the violation again, and `detail`. It may select
   * `waits`: true where something may still come that makes it none.
   */
  sql: string
  /** What is reported as its subject: an expression over the columns of `sql`. Absent: `id`. */
  subject?: string
  /** Whether `sql` selects `waits`. */
  waits?: true
}

/**
 * The rows that a check reads: those written by transactions in [`fromXact`, `toXact`), those in a range of ids (after
 * `after`, up to `upTo` or to the end), or those of some ids.
 */
export type AuditScope =
  | { kind: 'written'; fromXact: bigint; toXact: bigint }
  | { kind: 'range'; after: string; upTo: string | null }
  | { kind: 'ids'; ids: readonly string[] }

/** The tables with a scope, and the columns that name a row in it: of a call, a ledger transaction or a payment. */
const SCOPED = {
  calls: ['call_records', 'id'],
  entries: ['ledger_entries', 'transaction_id'],
  conflicts: ['settlement_conflicts', 'call_id'],
  payments: ['payments', 'id'],
  invoices: ['invoices', 'payment_id'],
  call_payments: ['call_payments', 'call_id'],
} as const

/** The tables that a full audit reads in the order of their ids, and the indexed columns with these. */
export const SCOPED_TABLES = [...Object.values(SCOPED), ['ledger_transactions', 'id'] as const]

const CONDITIONS = {
  written: () => 'written_xact >= $1::bigint AND written_xact < $2::bigint',
  range: (id: string) => `${id} > $1::text AND ($2::text IS NULL OR ${id} <= $2::text)`,
  ids: (id: string) => `${id} = ANY($1::text[])`,
} as const

/**
 * The `WITH` clause that defines `scoped_calls`, `scoped_entries` and so on; `touched_entries`, all entries of the transactions
 * with an entry in scope; and `touched_captures`, those of the captures of calls in scope. Ledger transactions have no
 * `written_xact`: new ones are those of new entries.
 */
export function scopedTables({ kind }: AuditScope): string {
  const tables = Object.entries(SCOPED).map(
    ([name, [table, id]]) =>
      [`scoped_${name}`, `SELECT * FROM ${table} WHERE ${CONDITIONS[kind](id)}`] as const,
  )
  const others = kind === 'written' ? OF_NEW_ROWS : ofIds(CONDITIONS[kind]('id'))
  return `WITH ${[...tables, ...Object.entries(others)]
    .map(([name, sql]) => `${name} AS NOT MATERIALIZED (${sql})`)
    .join(',\n')}`
}

/** New rows may belong to a transaction that has older ones. */
const OF_NEW_ROWS = {
  scoped_transactions: `
    SELECT * FROM ledger_transactions WHERE (id, kind) IN (SELECT transaction_id, kind FROM scoped_entries)`,
  touched_entries: `
    SELECT entry.* FROM (SELECT DISTINCT transaction_id, kind FROM scoped_entries) AS touched
    JOIN ledger_entries AS entry ON entry.transaction_id = touched.transaction_id AND entry.kind = touched.kind`,
  touched_captures: `
    SELECT entry.* FROM (
      SELECT id FROM scoped_calls UNION SELECT transaction_id FROM scoped_entries WHERE kind = 'capture'
    ) AS touched
    JOIN ledger_entries AS entry ON entry.transaction_id = touched.id AND entry.kind = 'capture'`,
}

/** All rows of a transaction have its id, so they are in scope together. */
const ofIds = (condition: string) => ({
  scoped_transactions: `SELECT * FROM ledger_transactions WHERE ${condition}`,
  touched_entries: 'SELECT * FROM scoped_entries',
  touched_captures: "SELECT * FROM scoped_entries WHERE kind = 'capture'",
})

/** The parameters of these conditions. */
export function scopeValues(scope: AuditScope): unknown[] {
  switch (scope.kind) {
    case 'written':
      return [scope.fromXact, scope.toXact]
    case 'range':
      return [scope.after, scope.upTo]
    case 'ids':
      return [scope.ids]
    default:
      return scope satisfies never
  }
}

/** Excludes calls that an operator has reviewed. `callId` must be qualified: an unqualified `call_id` would be the review's. */
export const unreviewed = (callId: string) =>
  `NOT EXISTS (SELECT 1 FROM call_reviews AS review WHERE review.call_id = ${callId})`
