import type { PaymentPayload, SettleResponse } from '@x402/core/types'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { CALL_PAYMENT_ACCOUNT } from '../../core/billing/postings.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import { type PicoUsd, parseUsd } from '../../core/kernel/money.ts'
import {
  type PaymentTerms,
  paymentTerms,
  quotedUnits,
  readAuthorization,
  type SettleVerdict,
  X402_VERSION,
} from '../../core/payments/x402.ts'
import type { CallPaymentSettings } from '../../core/payments/x402-settings.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { type CallPaymentStore, createCallPaymentStore } from './call-payment-store.ts'
import { createFacilitator } from './facilitator.ts'
import { askToSettle, recordSettlement } from './settle-call-payment.ts'

export interface CallPaymentLimits {
  queueWaitMs: number
  callTimeoutMs: number
  nonStreamingCallTimeoutMs: number
  x402SettleWaitMs: number
}

export interface CallPaymentsDependencies {
  postgres: Postgres
  holds: Pick<HoldStore, 'apply'>
  logger: Logger
  clock: () => number
}

/** The price of one call without a key, and its payment terms. */
export interface Quote {
  terms: PaymentTerms
  /** Unix ms: the latest end of a call that starts now. */
  endsBy: number
}

/** Maximum sum of the payments of a wallet that are not settled, or were refused in the last 30 days. */
const OPEN_PER_WALLET_PICO = parseUsd('25.00')
/** Validity beyond the call: for the payer to sign, and for settlement attempts without a response. */
const VALID_BEYOND_CALL_MS = 600_000
/** Minimum rest of the validity when the call starts. */
const LEFT_AFTER_CALL_MS = 60_000
/** Time for a takeover at the end of a call. */
const CALL_SLACK_MS = 300_000

export type CallPaymentOutcome =
  /** `paysFirst`: nothing is sent to the client before the payment is settled. */
  | { kind: 'reserved'; payer: string; paysFirst: boolean }
  /** `reason` is the protocol's code. */
  | { kind: 'refused'; reason: string }

/** Payments for single calls in an API instance. */
export type CallPayments = Awaited<ReturnType<typeof createCallPayments>>

export async function createCallPayments(
  settings: CallPaymentSettings,
  limits: CallPaymentLimits,
  { postgres, holds, logger, clock }: CallPaymentsDependencies,
) {
  const { encodePaymentRequiredHeader, encodePaymentResponseHeader, decodePaymentSignatureHeader } =
    await import('@x402/core/http')
  const { PaymentPayloadV2Schema } = await import('@x402/core/schemas')
  const facilitator = await createFacilitator(settings, limits.x402SettleWaitMs)
  const store = createCallPaymentStore(postgres)
  const refuseBehind = createBacklogBound(store, clock)

  /** Null: the header is not a payment. */
  const readPayment = (header: string): PaymentPayload | null => {
    try {
      const parsed = PaymentPayloadV2Schema.safeParse(decodePaymentSignatureHeader(header))
      return parsed.success ? (parsed.data as PaymentPayload) : null
    } catch {
      // Neither base64 nor JSON.
      return null
    }
  }

  return {
    /** `boundPico` is the maximum cost of the call. Throws ApiError while payments cannot be settled in time. */
    async quote(boundPico: PicoUsd, isStream: boolean): Promise<Quote> {
      await refuseBehind()
      const callMs = limits.queueWaitMs + (isStream ? limits.callTimeoutMs : limits.nonStreamingCallTimeoutMs)
      const validSeconds = Math.ceil((callMs + VALID_BEYOND_CALL_MS) / 1000)
      return { terms: paymentTerms(settings, quotedUnits(boundPico), validSeconds), endsBy: clock() + callMs }
    },

    /** The header `PAYMENT-REQUIRED` for a call of `url`. */
    requiredHeader: ({ terms }: Quote, url: string, error: string): string =>
      encodePaymentRequiredHeader({
        x402Version: X402_VERSION,
        error,
        resource: { url, description: 'One chat completion', mimeType: 'application/json' },
        accepts: [terms],
      }),

    /** The header `PAYMENT-RESPONSE` of a settled payment, or of one that was refused. */
    responseHeader(payer: string, verdict: SettleVerdict): string {
      const { network } = settings
      const response: SettleResponse =
        verdict.kind === 'settled'
          ? { success: true, transaction: verdict.transaction, network, payer }
          : { success: false, transaction: '', network, payer, errorReason: verdict.reason }
      return encodePaymentResponseHeader(response)
    },

    /**
     * Takes the payment of a `PAYMENT-SIGNATURE` header for a call: reads it, has it verified, and reserves it. What the
     * call may cost can be held then. Throws ApiError where the facilitator does not answer, or the payer has too many open.
     */
    async take(header: string, callId: CallId, { terms, endsBy }: Quote): Promise<CallPaymentOutcome> {
      const payload = readPayment(header)
      if (payload === null) return { kind: 'refused', reason: 'invalid_payload' }
      const neededUntil = Math.ceil((endsBy + LEFT_AFTER_CALL_MS) / 1000)
      const reading = readAuthorization(payload, terms, Math.floor(clock() / 1000), neededUntil)
      if (reading.kind === 'refused') return reading
      const { authorization } = reading
      const accepted = { ...terms, amount: String(authorization.units) }
      // Nothing of what was sent is passed on or stored but what was checked.
      const request = {
        payload: { x402Version: X402_VERSION, accepted, payload: authorization.signed },
        terms: accepted,
        payer: authorization.payer,
      }
      if (await store.isKnown(request, authorization)) return REPLAYED
      const verdict = await facilitator.verify(request)
      if (verdict.kind === 'invalid') return { kind: 'refused', reason: verdict.reason }
      if (verdict.kind === 'unknown') {
        logger.warn({ reason: verdict.reason }, 'call refused: its payment could not be verified')
        throw new ApiError('overloaded', 'The payment cannot be verified right now. Retry shortly.', {
          retryAfterSeconds: 5,
        })
      }
      const overAt = endsBy + CALL_SLACK_MS
      const reservation = await store.reserve(
        { callId, request, authorization, overAt },
        OPEN_PER_WALLET_PICO,
      )
      switch (reservation.kind) {
        case 'reserved':
          try {
            await holds.apply(CALL_PAYMENT_ACCOUNT, reservation.balance, [])
          } catch (error) {
            await store.move(callId, ['authorized'], 'released', 'its balance could not be loaded')
            throw error
          }
          return { kind: 'reserved', payer: authorization.payer, paysFirst: reservation.paysFirst }
        case 'replayed':
          return REPLAYED
        case 'too-much-open':
          throw new ApiError(
            'concurrency_limit_exceeded',
            'This wallet has reached its limit of open calls. Wait for one to be settled.',
            { retryAfterSeconds: 5 },
          )
        case 'barred':
          throw new ApiError(
            'not_permitted',
            'Payments of this wallet were refused when they were due. It can pay for calls again after 30 days.',
          )
        case 'suspended':
          throw new ApiError('account_suspended', 'Calls without a key are suspended. Contact the operator.')
        default:
          return reservation satisfies never
      }
    },

    /**
     * Settles the payment of a call whose client waits. Null: it is not available. `later` receives a failed write, to
     * repeat it.
     */
    async settle(callId: CallId, later: (task: () => Promise<void>) => void): Promise<SettleVerdict | null> {
      const claimed = await store.claim(callId, clock(), limits.x402SettleWaitMs)
      if (claimed === null) return null
      const verdict = await askToSettle(claimed, { facilitator, logger, clock })
      const record = () => recordSettlement(callId, verdict, { store, logger })
      await record().catch(() => later(record))
      return verdict
    },

    /** The response was complete: its payment is due. Repeatable. */
    answered: (callId: CallId) => store.move(callId, ['authorized'], 'settling'),

    /** The call failed: its payment is not requested, and may pay for another call. Repeatable. */
    failed: (callId: CallId, reason: string) => store.move(callId, ['authorized'], 'released', reason),

    /** The client left: the result of the call decides. Repeatable. */
    left: (callId: CallId) => store.move(callId, ['authorized'], 'left'),
  }
}

/** From when a payment is overdue that no settlement process claimed. */
const BEHIND_MS = 60_000
const LOOK_AGAIN_MS = 5_000

/**
 * Refuses quotes while payments are settled too late, because more of them would expire. Reads the backlog once in five
 * seconds, however many quotes are requested.
 */
function createBacklogBound(store: Pick<CallPaymentStore, 'overdueMs'>, clock: () => number) {
  let look: { untilMs: number; overdueMs: Promise<number> } | null = null
  return async (): Promise<void> => {
    if (look === null || clock() >= look.untilMs) {
      const overdueMs = store.overdueMs(clock())
      look = { untilMs: clock() + LOOK_AGAIN_MS, overdueMs }
      overdueMs.catch(() => {
        look = null
      })
    }
    if ((await look.overdueMs) <= BEHIND_MS) return
    throw new ApiError(
      'overloaded',
      'Payments are being settled too slowly. Use an API key, or retry later.',
      {
        retryAfterSeconds: 30,
      },
    )
  }
}

const REPLAYED: CallPaymentOutcome = { kind: 'refused', reason: 'invalid_exact_evm_nonce_already_used' }
