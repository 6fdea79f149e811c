import { type Static, Type } from 'typebox'
import type { LedgerKind } from '../billing/postings.ts'
import { KINDS_BESIDE_CAPTURES } from './billing.ts'
import { nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

export const LEDGER_KINDS = ['capture', ...KINDS_BESIDE_CAPTURES] as const satisfies readonly LedgerKind[]

const Kind = Type.Enum([...LEDGER_KINDS])

/**
 * GET /admin/api/accounts/:id/ledger?kind&calls&limit&cursor: `Page<AccountLedgerRow>`, newest first. The charges of a
 * day (UTC) are one row unless `calls=each`. The sum of all rows is the balance. The same as CSV: …/ledger.csv.
 */
export const AccountLedgerRow = Type.Object({
  /** Unique in the list. */
  id: Type.String(),
  kind: Kind,
  /** For charges: when the call, or the latest call of the day, was received. */
  at: IsoTime,
  /** Signed as it changed the balance: charges are negative. */
  amount_usd: Type.String(),
  /** The sum of this row and all older ones; null if only one kind is listed. */
  balance_usd: nullable(Type.String()),
  call_id: nullable(Type.String()),
  /** The requested model of the call. */
  model: nullable(Type.String()),
  top_up_id: nullable(Type.String()),
  /** The day of charges, `2027-01-31`, and the number of calls in it. */
  day: nullable(Type.String()),
  calls: nullable(Type.Number()),
  /** The operator's note on a manual posting, and the operator's key or account. */
  reason: nullable(Type.String()),
  by: nullable(Type.String()),
})
export type AccountLedgerRow = Static<typeof AccountLedgerRow>

/** GET /admin/api/accounts/:id/ledger/totals. */
export const AccountLedgerTotals = Type.Object({
  object: Type.Literal('ledger_totals'),
  data: Type.Array(Type.Object({ kind: Kind, count: Type.Number(), amount_usd: Type.String() })),
  /** The sum of `data`, which equals the balance of a consistent ledger. */
  sum_usd: Type.String(),
  balance_usd: DecimalUsd,
})
export type AccountLedgerTotals = Static<typeof AccountLedgerTotals>
