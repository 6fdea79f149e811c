import type { PicoUsd } from '../kernel/money.ts'

/** The payment rails; each has an account in the ledger. */
export const PAYMENT_RAILS = ['stripe', 'paypal', 'development'] as const
export type PaymentRailName = (typeof PAYMENT_RAILS)[number]

/** The gateway's own account for the holds and charges of calls paid one by one. */
export const CALL_PAYMENT_ACCOUNT = 'acct_x402'

/**
 * topup            rail → customer
 * refund           customer → rail: money that went back
 * refund_reversal  rail → customer: it did not go back after all
 * dispute          customer → disputes: withheld until it is decided
 * dispute_won      disputes → customer
 * dispute_lost     disputes → rail
 */
export type MovementKind = 'topup' | 'refund' | 'refund_reversal' | 'dispute' | 'dispute_won' | 'dispute_lost'

/** The reason of a posting. A transaction is unique on (id, kind). */
export type LedgerKind =
  | 'capture'
  | 'free_credit'
  | 'credit'
  | 'adjustment'
  | 'collection'
  | 'call_payment'
  | 'call_payment_closed'
  /** The sum of an archived month: the charges of its calls, and what else was posted for them. */
  | 'carried_charges'
  | 'carried_credits'
  | MovementKind

/** Accounts of the ledger: one per customer, and the gateway's own. */
export type LedgerAccount =
  | `customer:${string}`
  | 'revenue'
  /** Routing fees of calls on a BYOK key. */
  | 'byok_fees'
  | 'promotional_credit'
  | 'adjustments'
  | `rail:${PaymentRailName | 'x402'}`
  | 'disputes'
  | `receivable:${string}`
  /** The part of payments for single calls beyond the charges of their calls. */
  | 'call_payment_remainder'
  /** Charges of calls whose payment was not settled; negative. */
  | 'unpaid_calls'

export interface LedgerEntry {
  ledgerAccount: LedgerAccount
  /** Signed pico-USD, never 0; positive on a customer's account is spendable. */
  amountPico: bigint
}

/** One ledger transaction: its entries sum to zero. */
export interface Posting {
  /** The call's id, or the id of the external event that caused it. */
  id: string
  kind: LedgerKind
  /** The customer whose balance changes. */
  accountId: string
  entries: readonly LedgerEntry[]
}

/** The charge of a call: from the customer to revenue, or to the fees if the customer's BYOK key served it. */
export const capturePosting = (
  callId: string,
  accountId: string,
  chargePico: PicoUsd,
  income: 'revenue' | 'byok_fees' = 'revenue',
): Posting => transfer(callId, 'capture', accountId, income, -chargePico)

/** A new account's free credit. The account's id is the event, so an account gets it once. */
export const freeCreditPosting = (accountId: string, amountPico: PicoUsd): Posting =>
  transfer(accountId, 'free_credit', accountId, 'promotional_credit', amountPico)

export const creditPosting = (eventId: string, accountId: string, amountPico: PicoUsd): Posting =>
  transfer(eventId, 'credit', accountId, 'adjustments', amountPico)

/** An operator's correction of a balance, up or down. Earlier postings do not change. */
export const adjustmentPosting = (eventId: string, accountId: string, amountPico: PicoUsd): Posting =>
  transfer(eventId, 'adjustment', accountId, 'adjustments', amountPico)

/** The payment of a call by an authorization, which its hold is taken from. */
export const callPaymentPosting = (callId: string, amountPico: PicoUsd): Posting =>
  transfer(callId, 'call_payment', CALL_PAYMENT_ACCOUNT, 'rail:x402', amountPico)

/**
 * The end of a paid call; `remainingPico` is the rest of its payment. The rest of a settled payment is ours. An
 * unsettled payment is returned to the rail in full, and the charge of the call is lost. Null if nothing is left to
 * post.
 */
export function callPaymentClosing(
  callId: string,
  { amountPico, remainingPico, isSettled }: { amountPico: bigint; remainingPico: bigint; isSettled: boolean },
): Posting | null {
  const entries: LedgerEntry[] = isSettled
    ? [{ ledgerAccount: 'call_payment_remainder', amountPico: remainingPico }]
    : [
        { ledgerAccount: 'rail:x402', amountPico },
        { ledgerAccount: 'unpaid_calls', amountPico: remainingPico - amountPico },
      ]
  entries.push({ ledgerAccount: customerAccount(CALL_PAYMENT_ACCOUNT), amountPico: -remainingPico })
  const moved = entries.filter((entry) => entry.amountPico !== 0n)
  if (moved.length === 0) return null
  const posting: Posting = {
    id: callId,
    kind: 'call_payment_closed',
    accountId: CALL_PAYMENT_ACCOUNT,
    entries: moved,
  }
  assertBalanced(posting)
  return posting
}

export const customerAccount = (accountId: string): LedgerAccount => `customer:${accountId}`

/** A customer's debt beyond the balance; negative while it exists. */
export const receivableAccount = (accountId: string): LedgerAccount => `receivable:${accountId}`

/** The change of the customer's balance by a posting; negative for a charge. */
export function balanceChange(posting: Posting): PicoUsd {
  const own = customerAccount(posting.accountId)
  let change = 0n
  for (const entry of posting.entries) if (entry.ledgerAccount === own) change += entry.amountPico
  return change as PicoUsd
}

/**
 * Checks the invariants of a posting: at least two entries, none zero, no ledger account twice, summing to zero. Throws
 * RangeError; a violation is a bug, and the database would reject the posting too.
 */
export function assertBalanced(posting: Posting): void {
  let sum = 0n
  for (const entry of posting.entries) {
    if (entry.amountPico === 0n) throw new RangeError(`posting ${posting.id}: an entry of zero`)
    sum += entry.amountPico
  }
  if (sum !== 0n) throw new RangeError(`posting ${posting.id}: entries sum to ${sum}`)
  const accounts = new Set(posting.entries.map((entry) => entry.ledgerAccount))
  if (accounts.size < 2 || accounts.size < posting.entries.length) {
    throw new RangeError(`posting ${posting.id}: needs two or more different ledger accounts`)
  }
}

/** Moves `amountPico` (signed, from the customer's view) between a customer and one of the gateway's accounts. */
function transfer(
  id: string,
  kind: LedgerKind,
  accountId: string,
  counterAccount: LedgerAccount,
  amountPico: bigint,
): Posting {
  const posting: Posting = {
    id,
    kind,
    accountId,
    entries: [
      { ledgerAccount: customerAccount(accountId), amountPico },
      { ledgerAccount: counterAccount, amountPico: -amountPico },
    ],
  }
  assertBalanced(posting)
  return posting
}

/** A posting that is not possible. Its message is for the requester. */
export class RefusedPosting extends Error {
  override readonly name = 'RefusedPosting'
  readonly reason: 'reference-taken' | 'too-little-free'

  constructor(reason: RefusedPosting['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
