import { type Static, Type } from 'typebox'
import { nullable } from './nullable.ts'
import { BalanceView } from './sessions.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

export const RailName = Type.Enum(['card', 'paypal', 'development'])
export type RailName = Static<typeof RailName>

/** GET /console/api/billing */
export const BillingView = Type.Object({
  ...BalanceView.properties,
  presets_usd: Type.Array(Type.String()),
  min_usd: Type.String(),
  max_usd: Type.String(),
  /** The ways to pay that are set up; empty: top-ups are closed. `development` moves no money: say so. */
  rails: Type.Array(RailName),
})
export type BillingView = Static<typeof BillingView>

/** POST /console/api/top-ups → 201 TopUpView. Navigate to `checkout_url`; where it is null, it is settled already. */
export const NewTopUpBody = Type.Object({
  /** Whole cents, within min and max: "25.00". */
  amount_usd: Type.String(),
  rail: RailName,
})
export type NewTopUpBody = Static<typeof NewTopUpBody>

export const ReceiptView = Type.Object({
  /** The top-up's id. */
  number: Type.String(),
  issued_at: Type.String(),
  email: Type.String(),
  description: Type.String(),
  paid_usd: Type.String(),
  refunded_usd: Type.String(),
  net_usd: Type.String(),
  method: RailName,
})
export type ReceiptView = Static<typeof ReceiptView>

/** GET /console/api/top-ups?cursor&limit → Page<TopUpView>, newest first; GET /console/api/top-ups/:id → TopUpView. */
export const TopUpView = Type.Object({
  id: Type.String(),
  rail: RailName,
  /** No money moves. */
  test: Type.Boolean(),
  state: Type.Enum(['created', 'pending', 'settled', 'failed', 'expired', 'refunded', 'disputed']),
  amount_usd: Type.String(),
  refunded_usd: Type.String(),
  disputed_usd: Type.String(),
  /** Where to pay; null when there is nothing to pay any more. */
  checkout_url: nullable(Type.String()),
  failure_reason: nullable(Type.String()),
  created_at: Type.String(),
  settled_at: nullable(Type.String()),
  /** Present once the money came in. */
  receipt: nullable(ReceiptView),
})
export type TopUpView = Static<typeof TopUpView>

/**
 * GET /console/api/ledger?cursor&limit → Page<LedgerRow>: every movement of the balance, newest first; the charges
 * of a day (UTC) are one row. The sum of all rows is `balance_usd`.
 */
export const LedgerRow = Type.Object({
  /** Unique in the list. */
  id: Type.String(),
  kind: Type.Enum([
    'charges',
    'free_credit',
    'credit',
    'adjustment',
    'topup',
    'refund',
    'refund_reversal',
    'dispute',
    'dispute_won',
    'dispute_lost',
    'collection',
  ]),
  /** Signed as it changed the balance: charges are negative. */
  amount_usd: Type.String(),
  /** Of `charges`: the end of the day, or the latest charge of a day that runs. */
  at: Type.String(),
  /** The day of `charges`, `2027-01-31`; else null. */
  day: nullable(Type.String()),
  /** How many calls `charges` sums; else null. */
  calls: nullable(Type.Number()),
  /** The top-up it belongs to, for its receipt; else null. */
  top_up_id: nullable(Type.String()),
  /** What the operator wrote to it; else null. */
  note: nullable(Type.String()),
})
export type LedgerRow = Static<typeof LedgerRow>

export const OperatorTopUp = Type.Object({
  id: Type.String(),
  rail: Type.String(),
  state: Type.String(),
  amount_usd: DecimalUsd,
  settled_usd: DecimalUsd,
  created_at: IsoTime,
  settled_at: nullable(IsoTime),
})
export type OperatorTopUp = Static<typeof OperatorTopUp>

/** GET /admin/api/ledger. */
export const LedgerView = Type.Object({
  object: Type.Literal('ledger'),
  at: IsoTime,
  /** Sums by ledger account; those of customers and receivables are taken together. They sum to zero. */
  data: Type.Array(
    Type.Object({
      ledger_account: Type.String(),
      accounts: Type.Number(),
      entries: Type.Number(),
      balance_usd: DecimalUsd,
    }),
  ),
  total_usd: DecimalUsd,
})
export type LedgerView = Static<typeof LedgerView>

export const MarginFigures = Type.Object({
  calls: Type.Number(),
  prompt_tokens: Type.Number(),
  completion_tokens: Type.Number(),
  revenue_usd: DecimalUsd,
  /** Of what served calls. */
  cost_usd: DecimalUsd,
  /** Of attempts that served none: failed, rescued or cancelled. */
  broken_cost_usd: DecimalUsd,
  /** Revenue less both costs. */
  margin_usd: DecimalUsd,
  /** Margin over revenue, 0 to 1; null without revenue. */
  margin_rate: nullable(Type.Number()),
})
export type MarginFigures = Static<typeof MarginFigures>

/** GET /admin/api/margin?from&to&group_by=model|provider|day. */
export const MarginView = Type.Object({
  object: Type.Literal('margin'),
  from: IsoTime,
  to: IsoTime,
  group_by: Type.Enum(['model', 'provider', 'day']),
  /** The greatest revenue first, or by day. */
  data: Type.Array(
    Type.Object({
      ...MarginFigures.properties,

      group: Type.String(),
    }),
  ),
  total: MarginFigures,
})
export type MarginView = Static<typeof MarginView>
