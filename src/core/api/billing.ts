import { type Static, type TSchema, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { BalanceView } from './sessions.ts'
import { DecimalUsd, IsoTime, List } from './shared.ts'

/** Payment methods. `development` moves no money and must be labelled as a test. */
export const RailName = Type.Enum(['card', 'paypal', 'development'])
export type RailName = Static<typeof RailName>

export const TopUpOptions = Type.Object({
  presets_usd: Type.Array(DecimalUsd),
  min_usd: DecimalUsd,
  max_usd: DecimalUsd,
  /** The configured payment methods; empty: top-ups are closed. */
  rails: Type.Array(RailName),
})
export type TopUpOptions = Static<typeof TopUpOptions>

/** GET /console/api/billing */
export const BillingView = Type.Interface([BalanceView, TopUpOptions], {})
export type BillingView = Static<typeof BillingView>

export const topUpAmountWording = ({ min_usd, max_usd }: TopUpOptions): string =>
  `\`amount_usd\` takes an amount such as "25.00", from ${min_usd} to ${max_usd} USD, in whole cents.`

/** POST /billing/topups and /console/api/top-ups; the route checks that the amount is within the options. */
export function newTopUpBody(options: TopUpOptions) {
  const { rails } = options
  const offered = rails.length > 0 ? `Use one of: ${rails.join(', ')}.` : 'None is configured.'
  const noRail = { errorMessage: `\`rail\` names no way to pay here. ${offered}` }
  return Type.Object({
    rail: Type.Unsafe<RailName>(rails.length > 0 ? { enum: rails, ...noRail } : { not: {}, ...noRail }),
    amount_usd: Type.Unsafe<string | number>({
      type: ['string', 'number'],
      errorMessage: topUpAmountWording(options),
    }),
  })
}
export type NewTopUpBody = Static<ReturnType<typeof newTopUpBody>>

const TopUpState = Type.Enum(['created', 'pending', 'settled', 'failed', 'expired', 'refunded', 'disputed'])

/** POST /billing/topups → 201; GET /billing/topups/{id}. */
export const TopUp = Type.Object({
  payment_id: Type.String(),
  rail: RailName,
  /** No money moves. */
  test: Type.Boolean(),
  /** A charge of a saved card because the balance was low. */
  automatic: Type.Boolean(),
  state: TopUpState,
  amount_usd: DecimalUsd,
  refunded_usd: DecimalUsd,
  disputed_usd: DecimalUsd,
  /** The page for payment; null if no payment is due. */
  checkout_url: nullable(Type.String()),
  failure_reason: nullable(Type.String()),
  created_at: IsoTime,
  settled_at: nullable(IsoTime),
})
export type TopUp = Static<typeof TopUp>

/**
 * POST /console/api/top-ups → 201. Navigate to `checkout_url`; if it is null, the top-up is settled. GET
 * /console/api/top-ups/:id.
 */
export const TopUpView = Type.Interface([TopUp], {
  /** Present once the payment was received. */
  receipt: nullable(
    Type.Object({
      /** The email of a person, the name of an organisation. */
      billed_to: Type.String(),
      /** Paid, less what was refunded or is disputed. */
      net_usd: DecimalUsd,
    }),
  ),
})
export type TopUpView = Static<typeof TopUpView>

/** GET /billing/topups?before&limit, and the same at /console/api/top-ups: newest first. */
export interface TopUpPage<T> extends List<T> {
  has_more: boolean
  options: TopUpOptions
}
export const TopUpPage = <T extends TSchema>(topUp: T) =>
  Type.Interface([List(topUp)], { has_more: Type.Boolean(), options: TopUpOptions })

/** The kinds of transactions that are not charges of calls. */
export const KINDS_BESIDE_CAPTURES = [
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
  'call_payment',
  'call_payment_closed',
  'carried_charges',
  'carried_credits',
] as const

/**
 * GET /console/api/ledger?cursor&limit → Page<LedgerRow>: every movement of the balance, newest first; the charges
 * of a day (UTC) are one row. The sum of all rows is `balance_usd`.
 */
export const LedgerRow = Type.Object({
  /** Unique in the list. */
  id: Type.String(),
  kind: Type.Enum(['charges', ...KINDS_BESIDE_CAPTURES]),
  /** Signed as it changed the balance: charges are negative. */
  amount_usd: Type.String(),
  /** For `charges`: the end of the day, or the latest charge of the current day. */
  at: Type.String(),
  /** The day of `charges`, `2027-01-31`; otherwise null. */
  day: nullable(Type.String()),
  /** Number of calls in `charges`; otherwise null. */
  calls: nullable(Type.Number()),
  /** The top-up, for its receipt; otherwise null. */
  top_up_id: nullable(Type.String()),
  /** The operator's note; otherwise null. */
  note: nullable(Type.String()),
})
export type LedgerRow = Static<typeof LedgerRow>

/**
 * GET /console/api/statements/:month, `2027-01`: every change of the balance in a month, UTC. `opening_usd` and all
 * amounts sum to `closing_usd`, or to `balance_usd` in the current month.
 */
export const StatementView = Type.Object({
  month: Type.String(),
  opening_usd: Type.String(),
  closing_usd: Type.String(),
  /** By day of admission, then model. */
  charges: Type.Array(
    Type.Object({
      day: Type.String(),
      model: Type.String(),
      calls: Type.Number(),
      /** Negative. */
      amount_usd: Type.String(),
    }),
  ),
  charges_usd: Type.String(),
  /** The sum of `movements`: what was credited, less what was returned. */
  movements_usd: Type.String(),
  /** Oldest first. */
  movements: Type.Array(LedgerRow),
})
export type StatementView = Static<typeof StatementView>

export const OperatorTopUp = Type.Object({
  id: Type.String(),
  rail: Type.Enum(['stripe', 'paypal', 'development']),
  state: TopUpState,
  amount_usd: DecimalUsd,
  settled_usd: DecimalUsd,
  /** Returned by refunds and lost disputes. */
  returned_usd: DecimalUsd,
  /** Withheld until a dispute is decided. */
  disputed_usd: DecimalUsd,
  created_at: IsoTime,
  settled_at: nullable(IsoTime),
})
export type OperatorTopUp = Static<typeof OperatorTopUp>

/** GET /admin/api/ledger. */
export const LedgerView = Type.Object({
  object: Type.Literal('ledger'),
  at: IsoTime,
  /** Sums by ledger account, with one for all customers and one for all receivables. They sum to zero. */
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

export const MarginMetrics = Type.Object({
  calls: Type.Number(),
  prompt_tokens: Type.Number(),
  completion_tokens: Type.Number(),
  revenue_usd: DecimalUsd,
  /** Cost of the attempts that served a call. */
  cost_usd: DecimalUsd,
  /** Cost of the attempts that served none: failed, rescued or cancelled. */
  broken_cost_usd: DecimalUsd,
  /** Revenue less both costs. */
  margin_usd: DecimalUsd,
  /** Margin over revenue, 0 to 1; null without revenue. */
  margin_rate: nullable(Type.Number()),
  /** Of tokens of prompts of at least 1,024, the share that was read from providers' prompt caches; null without. */
  cache_hit_rate: nullable(Type.Number()),
  /** What these prompts cost per million tokens; null without. */
  effective_prompt: nullable(DecimalUsd),
  /** What they cost less than without the caches. */
  cache_saved_usd: DecimalUsd,
})
export type MarginMetrics = Static<typeof MarginMetrics>

const GatewaySums = Type.Object({
  calls: Type.Number(),
  failed_calls: Type.Number(),
  revenue_usd: DecimalUsd,
  margin_usd: DecimalUsd,
  /** Null: no call has a first token. */
  first_token_p95_ms: nullable(Type.Number()),
})

/** GET /admin/api/hours: the calls of the last 24 hours by hour of admission (UTC), the present hour last. */
export const GatewayHoursView = Type.Object({
  object: Type.Literal('hours'),
  /** Oldest first, hours without calls included. */
  data: Type.Array(Type.Object({ ...GatewaySums.properties, at: IsoTime })),
  total: GatewaySums,
})
export type GatewayHoursView = Static<typeof GatewayHoursView>

/** GET /admin/api/margin?from&to&group_by=model|provider|day|account&sort=revenue|cost|margin&limit&cursor. */
export const MarginView = Type.Object({
  object: Type.Literal('margin'),
  from: IsoTime,
  to: IsoTime,
  group_by: Type.Enum(['model', 'provider', 'day', 'account']),
  /** The greatest revenue or cost or the least margin first, or by day. */
  data: Type.Array(
    Type.Object({
      ...MarginMetrics.properties,
      group: Type.String(),
      /** The email of a customer or the name of an organisation, by account; else null. */
      name: nullable(Type.String()),
    }),
  ),
  next_cursor: nullable(Type.String()),
  /** Of all rows, not of the page. */
  total: MarginMetrics,
  /** By day (UTC) and model, on the first page: of the models with the most revenue, and of all others (empty `model`). */
  days: Type.Array(Type.Object({ day: Type.String(), model: Type.String(), margin_usd: DecimalUsd })),
})
export type MarginView = Static<typeof MarginView>

/** GET /v1/credits. */
export const Credits = Type.Object({
  data: Type.Object({ total_credits: DecimalUsd, total_usage: DecimalUsd, available: DecimalUsd }),
})

/** GET /v2/credits: the totals as numbers, as the libraries of other routers read them, and exactly. */
export const ExtendedCredits = Type.Object({
  data: Type.Object({
    total_credits: Type.Number(),
    total_usage: Type.Number(),
    total_credits_usd: DecimalUsd,
    total_usage_usd: DecimalUsd,
    available: DecimalUsd,
  }),
})
