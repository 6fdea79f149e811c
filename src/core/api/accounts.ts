import { type Static, Type } from 'typebox'
import { MEMBER_ROLES } from '../accounts/member-permissions.ts'
import { AutoTopUpView } from './auto-top-up.ts'
import { OperatorTopUp } from './billing.ts'
import { InvoiceView } from './invoices.ts'
import { OperatorKey } from './keys.ts'
import { OperatorActionView } from './operations.ts'
import { amount, CLOSED, line, nullable, RATE_LIMIT_FIELDS } from './request-fields.ts'
import { email } from './sessions.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

export const OperatorAccount = Type.Object({
  id: Type.String(),
  /** The email of a person, the name of an organisation. */
  name: Type.String(),
  is_organisation: Type.Boolean(),
  /** Null for an organisation. */
  email: nullable(Type.String()),
  state: Type.Enum(['free_credit', 'active', 'exhausted', 'suspended']),
  balance_usd: DecimalUsd,
  owed_usd: DecimalUsd,
  low_balance_usd: nullable(DecimalUsd),
  /** The holder's monthly cap on the spending of all keys; null: no cap. */
  monthly_limit_usd: nullable(DecimalUsd),
  /** Limit over all keys, set by an operator; null: the default. */
  requests_per_minute: nullable(Type.Number()),
  concurrent_calls: nullable(Type.Number()),
  /** Start of a slowdown because of uncharged provider cost; null: none. */
  slowed_at: nullable(IsoTime),
  created_at: IsoTime,
})
export type OperatorAccount = Static<typeof OperatorAccount>

/** GET /admin/api/accounts?search&limit&cursor: `Page<ListedAccount>`. */
export const ListedAccount = Type.Object({
  ...OperatorAccount.properties,
  /** What its calls cost in all. */
  spent_usd: DecimalUsd,
  last_call_at: nullable(IsoTime),
})
export type ListedAccount = Static<typeof ListedAccount>

/** A suspension because of returned money; suspensions by an operator are among the actions. */
export const OperatorSuspension = Type.Object({
  id: Type.String(),
  at: IsoTime,
  payment_id: Type.String(),
  reason: Type.String(),
  shortfall_usd: DecimalUsd,
})
export type OperatorSuspension = Static<typeof OperatorSuspension>

/** GET /admin/api/accounts/:id (its id or its email). */
export const OperatorAccountDetail = Type.Object({
  ...OperatorAccount.properties,
  object: Type.Literal('account'),
  /** The spendable amount, and the holds of calls in flight; null while Redis is away. */
  available_usd: nullable(DecimalUsd),
  held_usd: nullable(DecimalUsd),
  open_holds: nullable(Type.Number()),
  /** Whether a customer can sign in to it. Such a customer creates its keys, and operators get no link to it. */
  has_holder: Type.Boolean(),
  /** The members of an organisation, or the organisations of a person. */
  memberships: Type.Array(
    Type.Object({ account_id: Type.String(), name: Type.String(), role: Type.Enum([...MEMBER_ROLES]) }),
  ),
  keys: Type.Array(OperatorKey),
  /** The last 30 days that had calls, oldest first. */
  spend: Type.Array(
    Type.Object({
      day: Type.String(),
      calls: Type.Number(),
      total_tokens: Type.Number(),
      cost_usd: DecimalUsd,
    }),
  ),
  /** The latest 20. */
  top_ups: Type.Array(OperatorTopUp),
  suspensions: Type.Array(OperatorSuspension),
  /** Operators' actions on this account, the latest 20. */
  actions: Type.Array(OperatorActionView),
})
export type OperatorAccountDetail = Static<typeof OperatorAccountDetail>

/** The reason, which is stored in the ledger. */
const reason = line('reason', 1, 500)

/** The reference of a posting; each reference posts once. */
const reference = Type.Optional(
  Type.String({
    pattern: '^[\\x21-\\x7e]{1,100}$',
    errorMessage: '`reference` takes 1 to 100 printable characters without spaces.',
  }),
)

/** POST /admin/api/accounts → 201 AccountOpened: an account with a starting credit, if any. */
export const NewAccountRequest = Type.Object(
  {
    email: email('new-email'),
    credit_usd: Type.Optional(amount('positive', 'credit_usd')),
    /** The reason of the credit, which is stored in the ledger. */
    reason: Type.Optional(reason),
  },
  CLOSED,
)
export type NewAccountRequest = Static<typeof NewAccountRequest>

/** POST /admin/api/accounts/:id/invite (no body): invites the holder to choose a password. */
export const AccountInvited = Type.Object({
  object: Type.Literal('invitation'),
  account_id: Type.String(),
  /** Whether a message with the link was sent. */
  mailed: Type.Boolean(),
  /** The path of the link if the gateway sends no mail. Returned only once; valid for 7 days. */
  path: nullable(Type.String()),
})
export type AccountInvited = Static<typeof AccountInvited>

export const AccountOpened = Type.Object({
  object: Type.Literal('account_opened'),
  account: OperatorAccount,
  invitation: AccountInvited,
})
export type AccountOpened = Static<typeof AccountOpened>

/** POST /admin/api/accounts/:id/suspend and …/resume. Response: `OperatorAccountDetail`. */
export const SuspendRequest = Type.Object({ reason }, CLOSED)
export type SuspendRequest = Static<typeof SuspendRequest>

/** POST /admin/api/accounts/:id/credit; the same reference credits once. Response: `BalanceChanged`. */
export const CreditRequest = Type.Object(
  { amount_usd: amount('positive'), reason: Type.Optional(reason), reference },
  CLOSED,
)
export type CreditRequest = Static<typeof CreditRequest>

/** POST /admin/api/accounts/:id/adjust; signed. Response: `BalanceChanged`. */
export const AdjustRequest = Type.Object({ amount_usd: amount('signed'), reason, reference }, CLOSED)
export type AdjustRequest = Static<typeof AdjustRequest>

/** POST /admin/api/accounts/:id/top-ups/:topUpId/refund. Response: `OperatorTopUp`. */
export const RefundTopUpRequest = Type.Object(
  {
    amount_usd: amount('positive'),
    reason,
    /** `returned_usd` as the operator saw it, so that a repeated request refunds once. 409 if it has changed. */
    returned_usd: DecimalUsd,
    /** Also refund what the balance does not cover: the rest is owed, and the account is suspended. */
    force: Type.Boolean({ default: false }),
  },
  CLOSED,
)
export type RefundTopUpRequest = Static<typeof RefundTopUpRequest>

export const BalanceChanged = Type.Object({
  object: Type.Literal('balance_changed'),
  account_id: Type.String(),
  balance_usd: DecimalUsd,
  reference: Type.String(),
  /** False if the ledger already had this reference; null if unknown. */
  posted: nullable(Type.Boolean()),
  /** False until Redis has it; maintenance adds it. */
  spendable_now: Type.Boolean(),
})
export type BalanceChanged = Static<typeof BalanceChanged>

/**
 * POST /admin/api/accounts/:id/limits: over all keys of the account. Response: `OperatorAccountDetail`. Absent fields
 * are unchanged; null is the default.
 */
export const AccountLimitsRequest = Type.Object(RATE_LIMIT_FIELDS, CLOSED)
export type AccountLimitsRequest = Static<typeof AccountLimitsRequest>

/** GET /admin/api/accounts/:id/billing; GET /admin/api/invoices/:id/pdf is an invoice of any account. */
export const AccountBilling = Type.Object({
  auto_top_up: AutoTopUpView,
  /** The newest ones. */
  invoices: Type.Array(InvoiceView),
})
export type AccountBilling = Static<typeof AccountBilling>

/**
 * GET /admin/api/accounts/:id/mails?limit&cursor: `Page<SentMailView>`, newest first: the messages of the last ninety days
 * about the account, and those to the email of its holder.
 */
export const SentMailView = Type.Object({
  id: Type.String(),
  /** The message: `receipt`, `balance-low`, … */
  kind: Type.String(),
  recipient: Type.String(),
  /** `refused`: the mail server does not know the recipient; `failed`: every attempt failed. */
  outcome: Type.Enum(['sent', 'refused', 'failed']),
  created_at: IsoTime,
})
export type SentMailView = Static<typeof SentMailView>
