import type { LedgerBalance } from '../../billing/holds/hold-store.ts'
import { postLedger } from '../../billing/ledger/ledger-store.ts'
import { CALL_PAYMENT_ACCOUNT, callPaymentClosing, callPaymentPosting } from '../../core/billing/postings.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { type Authorization, unitsToPico } from '../../core/payments/x402.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { CallPayment as CallPaymentRow } from '../../platform/prisma-client/client.ts'
import type { FacilitatorRequest } from './facilitator.ts'

export type CallPayment = CallPaymentRow
type CallPaymentState = CallPayment['state']

/** A verified payment, before its call is admitted. */
export interface NewCallPayment {
  callId: CallId
  request: FacilitatorRequest
  authorization: Authorization
  /** Unix ms: the latest end of the call. */
  overAt: number
}

export type Reservation =
  /** `paysFirst`: with this call the payer may owe more than it has paid so far. */
  | { kind: 'reserved'; balance: LedgerBalance; paysFirst: boolean }
  /** The authorization has paid for a call before, or pays for a running one. */
  | { kind: 'replayed' }
  /** The payer has the maximum number or amount of open payments. */
  | { kind: 'too-much-open' }
  /** The payer has the maximum number of unpaid calls. */
  | { kind: 'barred' }
  /** An operator suspended the account of these calls. */
  | { kind: 'suspended' }

/** A payment that only this process may settle, until its next attempt is due. */
export interface ClaimedPayment {
  callId: string
  request: FacilitatorRequest
  /** Including this one. */
  attempts: number
  expiresAt: Date
}

/** Maximum undecided payments of one payer, which bounds its debt if its wallet turns out to be empty. */
const OPEN_PER_PAYER = 4
/** How long an unpaid payment counts as open. */
const UNPAID_DAYS = 30
/** Number of paid payments that raise a wallet's limit. */
const PAID_COUNTED = 200
const CLOSED_AT_ONCE = 200

/** Its email is not an address, so that no sign-up can use it. */
const OPEN_ACCOUNT = `
INSERT INTO accounts (id, email, state, low_balance_pico) VALUES ($1, 'calls paid by x402', 'exhausted', NULL)
ON CONFLICT (id) DO NOTHING`

const IS_KNOWN = `
SELECT 1 FROM call_payments WHERE network = $1 AND asset = $2 AND payer = $3 AND nonce = $4 AND state <> 'released'`
/** Admits one payment of a wallet at a time, without delaying other wallets. */
const LOCK_WALLET = `SELECT pg_advisory_xact_lock(hashtextextended('call payment ' || $1, 0))::text`
/** The debt and payments of a wallet; read under its lock. */
const WALLET = `
SELECT (SELECT state = 'suspended' FROM accounts WHERE id = $5) AS "isSuspended",
       EXISTS (${IS_KNOWN}) AS "isKnown",
       open.payments AS "openPayments", open.pico AS "openPico",
       unpaid.payments AS "unpaidPayments", unpaid.pico AS "unpaidPico", paid.pico AS "paidPico"
FROM (
  SELECT count(*)::int AS payments, coalesce(sum(amount_pico), 0)::bigint AS pico FROM call_payments
  WHERE payer = $3 AND closed_at IS NULL AND state IN ('authorized', 'left', 'settling')
) AS open, (
  SELECT count(*)::int AS payments, coalesce(sum(amount_pico), 0)::bigint AS pico FROM call_payments
  WHERE payer = $3 AND state IN ('unpaid', 'unproven') AND decided_at > now() - make_interval(days => ${UNPAID_DAYS})
) AS unpaid, (
  SELECT coalesce(sum(amount_pico), 0)::bigint AS pico FROM (
    SELECT amount_pico FROM call_payments
    WHERE payer = $3 AND state = 'settled' AND network = $1 AND asset = $2
    ORDER BY created_at DESC LIMIT ${PAID_COUNTED}
  ) AS latest
) AS paid`
interface Wallet {
  isSuspended: boolean | null
  isKnown: boolean
  openPayments: number
  openPico: bigint
  unpaidPayments: number
  unpaidPico: bigint
  paidPico: bigint
}
const INSERT = `
INSERT INTO call_payments (call_id, network, asset, payer, nonce, amount_pico, request, expires_at, over_at)
VALUES ($1, $2, $3, $4, $5, $6::bigint, $7::jsonb, to_timestamp($8::bigint), to_timestamp($9::bigint / 1000.0))`

const CLAIMED = `
RETURNING call_id AS "callId", request, attempts, expires_at AS "expiresAt"`
/** An attempt without a response leads to the next: after its own length and 1 s, 2 s, 4 s … up to a minute. */
const ATTEMPT = `
UPDATE call_payments SET state = 'settling', attempts = attempts + 1,
  next_attempt_at = to_timestamp($1::bigint / 1000.0) + make_interval(secs => $2::bigint / 1000.0 + least(60, 2 ^ attempts))`
const CLAIM = `${ATTEMPT} WHERE call_id = $3 AND state = 'authorized' ${CLAIMED}`
const CLAIM_DUE = `${ATTEMPT} WHERE call_id IN (
  SELECT call_id FROM call_payments
  WHERE closed_at IS NULL AND state = 'settling' AND next_attempt_at <= to_timestamp($1::bigint / 1000.0)
  ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED
) ${CLAIMED}`

const MOVE = `
UPDATE call_payments SET state = $2::call_payment_state, reason = $3,
  next_attempt_at = CASE WHEN $2 = 'settling' THEN now() END,
  decided_at = CASE WHEN $2 IN ('released', 'unpaid', 'unproven') THEN now() END
WHERE call_id = $1 AND state::text = ANY($4)`
const SETTLED = `
UPDATE call_payments SET state = 'settled', transaction = $2, reason = NULL, next_attempt_at = NULL, decided_at = now()
WHERE call_id = $1 AND state IN ('settling', 'unproven')`
/** Only for a payment that no other attempt was made for since. */
const REFUSED = `
UPDATE call_payments SET state = 'unpaid', reason = $2, next_attempt_at = NULL, decided_at = now()
WHERE call_id = $1 AND state = 'settling' AND attempts = 1`
const NOTE_REASON = `UPDATE call_payments SET reason = $2 WHERE call_id = $1 AND state = 'settling'`

/** Clients that left pay if output was produced for them, like clients with a key. */
const DECIDE_LEFT = `
UPDATE call_payments AS payment SET
  state = CASE WHEN call.pays THEN 'settling' ELSE 'released' END::call_payment_state,
  reason = CASE WHEN call.pays THEN NULL ELSE 'the client left, and nothing was produced' END,
  next_attempt_at = CASE WHEN call.pays THEN now() END,
  decided_at = CASE WHEN call.pays THEN NULL ELSE now() END
FROM (SELECT id, status IN ('completed', 'cancelled') AND charge_pico > 0 AS pays FROM call_records) AS call
WHERE call.id = payment.call_id AND payment.closed_at IS NULL AND payment.state = 'left'`
/** Payments whose API instance never reported the end of the call, because it died together with the response. */
const RELEASE_LOST = `
UPDATE call_payments SET state = 'released', reason = 'the call did not complete', decided_at = now()
WHERE closed_at IS NULL AND state IN ('authorized', 'left') AND over_at <= to_timestamp($1::bigint / 1000.0)`

interface SettledDay {
  /** `YYYY-MM-DD`. */
  day: string
  network: string
  asset: string
  payments: number
  amountPico: bigint
}

const SETTLED_BY_DAY = `
SELECT to_char(decided_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, network, asset, count(*)::int AS payments,
       sum(amount_pico)::text AS amount
FROM call_payments WHERE state = 'settled' AND decided_at IS NOT NULL
GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2, 3 LIMIT $1`

/** A call that was not paid may be recorded as charged until it is over; the others have their record. */
const CLOSABLE = `
SELECT payment.call_id AS "callId"
FROM call_payments AS payment LEFT JOIN call_records AS call ON call.id = payment.call_id
WHERE payment.closed_at IS NULL AND CASE payment.state
  WHEN 'released' THEN payment.over_at <= to_timestamp($1::bigint / 1000.0)
  WHEN 'settled' THEN call.id IS NOT NULL
  WHEN 'unpaid' THEN call.id IS NOT NULL
  ELSE false END
ORDER BY payment.created_at LIMIT ${CLOSED_AT_ONCE}`
const LOCK_DECIDED = `
SELECT amount_pico AS "amountPico", state = 'settled' AS "isSettled" FROM call_payments
WHERE call_id = $1 AND closed_at IS NULL AND state IN ('settled', 'released', 'unpaid') FOR UPDATE`
const REMAINING = `
SELECT coalesce(sum(amount_pico), 0)::bigint AS "remainingPico" FROM ledger_entries
WHERE transaction_id = $1 AND ledger_account = 'customer:' || $2`
const CLOSE = 'UPDATE call_payments SET closed_at = now() WHERE call_id = $1'
const OLDEST_DUE = `
SELECT min(next_attempt_at) AS "dueAt" FROM call_payments
WHERE closed_at IS NULL AND state = 'settling' AND next_attempt_at <= to_timestamp($1::bigint / 1000.0)`
const HAS_OPEN = 'SELECT EXISTS (SELECT 1 FROM call_payments WHERE closed_at IS NULL) AS "hasOpen"'

export type CallPaymentStore = ReturnType<typeof createCallPaymentStore>

/**
 * Payments for single calls. `authorized` (verified, its call may run) → `settling` (the response was complete) →
 * `settled` (its transfer is proven), `unpaid` (the facilitator refused it before it sent anything) or `unproven` (it
 * expired without a conclusive response; an operator decides). `released`: the call failed, and the payment is not
 * requested. `left`: the client left, and the call's record decides between `settling` and `released`. A last posting
 * in the ledger closes each payment.
 */
export function createCallPaymentStore(postgres: Postgres) {
  let hasAccount = false

  return {
    /** Whether an authorization is used; cheaper than asking the facilitator. */
    async isKnown(
      { terms: { network, asset } }: FacilitatorRequest,
      { payer, nonce }: Authorization,
    ): Promise<boolean> {
      const rows = await postgres.$queryRawUnsafe<unknown[]>(
        IS_KNOWN,
        network,
        asset.toLowerCase(),
        payer,
        nonce,
      )
      return rows.length > 0
    },

    /**
     * Reserves an authorization for one call, and credits the account of its hold. Only the last statement locks that
     * account, since all these calls and their settlements share it.
     * @param openMaxPico maximum sum of a wallet's open payments, unless one alone exceeds it
     */
    async reserve(payment: NewCallPayment, openMaxPico: bigint): Promise<Reservation> {
      const { callId, request, authorization, overAt } = payment
      const { payer, nonce, units, validBefore } = authorization
      const { network, asset } = request.terms
      if (!hasAccount) await postgres.$executeRawUnsafe(OPEN_ACCOUNT, CALL_PAYMENT_ACCOUNT)
      hasAccount = true
      const amountPico = unitsToPico(units)
      return postgres.$transaction(async (transaction): Promise<Reservation> => {
        await transaction.$queryRawUnsafe(LOCK_WALLET, payer)
        const [wallet] = await transaction.$queryRawUnsafe<Wallet[]>(
          WALLET,
          network,
          asset.toLowerCase(),
          payer,
          nonce,
          CALL_PAYMENT_ACCOUNT,
        )
        const refusal = refusalOf(wallet!, amountPico, openMaxPico)
        if (refusal) return refusal
        await transaction.$executeRawUnsafe(
          INSERT,
          callId,
          network,
          asset.toLowerCase(),
          payer,
          nonce,
          amountPico,
          JSON.stringify(request),
          BigInt(validBefore),
          BigInt(overAt),
        )
        return {
          kind: 'reserved',
          balance: await postLedger(transaction, callPaymentPosting(callId, amountPico)),
          paysFirst: wallet!.openPico + wallet!.unpaidPico + amountPico > wallet!.paidPico,
        }
      })
    },

    /** Claims the first attempt to settle a payment; null if it is not available. */
    async claim(callId: string, nowMs: number, attemptMs: number): Promise<ClaimedPayment | null> {
      const rows = await postgres.$queryRawUnsafe<ClaimedPayment[]>(
        CLAIM,
        BigInt(nowMs),
        BigInt(attemptMs),
        callId,
      )
      return rows[0] ?? null
    },

    /** Claims payments whose next attempt is due, nearest expiry first. */
    claimDue: (nowMs: number, attemptMs: number, limit: number) =>
      postgres.$queryRawUnsafe<ClaimedPayment[]>(CLAIM_DUE, BigInt(nowMs), BigInt(attemptMs), limit),

    /** How long the oldest unclaimed payment has been due, ms. */
    async overdueMs(nowMs: number): Promise<number> {
      const [row] = await postgres.$queryRawUnsafe<Array<{ dueAt: Date | null }>>(OLDEST_DUE, BigInt(nowMs))
      return row?.dueAt ? nowMs - row.dueAt.getTime() : 0
    },

    /** Changes the state of a payment from one of some states. False if it is in none of them. */
    async move(
      callId: string,
      from: readonly CallPaymentState[],
      to: Exclude<CallPaymentState, 'authorized' | 'settled'>,
      reason: string | null = null,
    ): Promise<boolean> {
      return (await postgres.$executeRawUnsafe(MOVE, callId, to, reason, [...from])) > 0
    },

    /** Records the transaction that paid, even for a payment that was recorded as unproven. */
    settled: (callId: string, transaction: string): Promise<number> =>
      postgres.$executeRawUnsafe(SETTLED, callId, transaction),

    /** Records that the first attempt was refused before anything was sent. */
    refused: (callId: string, reason: string) => postgres.$executeRawUnsafe(REFUSED, callId, reason),

    /** Records why an attempt did not settle it. */
    noteReason: (callId: string, reason: string) => postgres.$executeRawUnsafe(NOTE_REASON, callId, reason),

    /** Decides about payments whose client left, and about abandoned ones. */
    async decideAbandoned(nowMs: number): Promise<void> {
      await postgres.$executeRawUnsafe(DECIDE_LEFT)
      await postgres.$executeRawUnsafe(RELEASE_LOST, BigInt(nowMs))
    },

    /** Decided payments whose calls are over. */
    async closable(nowMs: number): Promise<string[]> {
      const rows = await postgres.$queryRawUnsafe<Array<{ callId: string }>>(CLOSABLE, BigInt(nowMs))
      return rows.map(({ callId }) => callId)
    },

    /** Makes the last posting of a decided payment; null if it was closed before, or nothing is left to post. */
    close: (callId: string): Promise<LedgerBalance | null> =>
      postgres.$transaction(async (transaction) => {
        const [payment] = await transaction.$queryRawUnsafe<
          Array<{ amountPico: bigint; isSettled: boolean }>
        >(LOCK_DECIDED, callId)
        if (!payment) return null
        const remainingPico = await remainingOf(transaction, callId)
        const posting = callPaymentClosing(callId, { ...payment, remainingPico })
        await transaction.$executeRawUnsafe(CLOSE, callId)
        // Must be last, because it locks the account of all these calls.
        return posting && (await postLedger(transaction, posting))
      }),

    find: (callId: string) => postgres.callPayment.findUnique({ where: { callId } }),

    /** Newest first. */
    list: (limit: number) => postgres.callPayment.findMany({ orderBy: { createdAt: 'desc' }, take: limit }),

    /** Settled amounts by day (UTC), newest first: what the wallet should have received according to the facilitator. */
    async settledByDay(days: number): Promise<SettledDay[]> {
      const rows = await postgres.$queryRawUnsafe<Array<Omit<SettledDay, 'amountPico'> & { amount: string }>>(
        SETTLED_BY_DAY,
        days,
      )
      return rows.map(({ amount, ...day }) => ({ ...day, amountPico: BigInt(amount) }))
    },

    async hasOpen(): Promise<boolean> {
      const [row] = await postgres.$queryRawUnsafe<Array<{ hasOpen: boolean }>>(HAS_OPEN)
      return row?.hasOpen === true
    },
  }
}

/** Why a wallet may not start another call now. */
function refusalOf(wallet: Wallet, amountPico: bigint, openMaxPico: bigint): Reservation | null {
  const { openPayments, unpaidPayments, unpaidPico } = wallet
  if (wallet.isSuspended) return { kind: 'suspended' }
  if (wallet.isKnown) return { kind: 'replayed' }
  if (unpaidPayments >= OPEN_PER_PAYER || unpaidPico >= openMaxPico) return { kind: 'barred' }
  const mayOwePico = wallet.openPico + unpaidPico
  const isMuch = mayOwePico > 0n && mayOwePico + amountPico > openMaxPico
  return openPayments + unpaidPayments >= OPEN_PER_PAYER || isMuch ? { kind: 'too-much-open' } : null
}

/** A payment less the charge of its call. */
async function remainingOf(transaction: PostgresTransaction, callId: string): Promise<bigint> {
  const [row] = await transaction.$queryRawUnsafe<Array<{ remainingPico: bigint }>>(
    REMAINING,
    callId,
    CALL_PAYMENT_ACCOUNT,
  )
  return row!.remainingPico
}
