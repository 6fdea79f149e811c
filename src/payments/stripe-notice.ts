import type Stripe from 'stripe'
import type { PicoUsd } from '../core/kernel/money.ts'
import { cardFailure } from '../core/payments/card-failure.ts'
import type { DisputeOutcome, PaymentFact } from '../core/payments/payment.ts'
import { fromCents } from '../core/payments/top-up-amount.ts'
import { type NoticeReading, type RailNotice, readNotice } from './payment-rail.ts'

const NOTHING: NoticeReading = {}

/**
 * Reads one event of Stripe. The payment is named by our metadata on sessions, charges and refunds; disputes
 * name the payment intent only.
 */
export function stripeEventNotice(event: Stripe.Event): RailNotice {
  return noticeOf(event.id, event.type, () => readEvent(event))
}

/** The notice of a checkout session that we requested. */
export function stripeSessionNotice(session: Stripe.Checkout.Session): RailNotice {
  const eventId = `session:${session.id}:${session.status}:${session.payment_status}`
  return noticeOf(eventId, 'session', () =>
    readSession(session, session.status === 'expired' ? { kind: 'expired' } : sessionFact(session)),
  )
}

/** The notice of a charge of a saved card that we made or requested. */
export function stripeIntentNotice(intent: Stripe.PaymentIntent): RailNotice {
  const { id, status, last_payment_error: error } = intent
  return noticeOf(`intent:${id}:${status}:${error?.code ?? ''}`, 'payment_intent', () => readIntent(intent))
}

/** The notice of the money received by a payment intent, of a checkout or a saved card. */
export function stripeIncomeNotice(intent: Stripe.PaymentIntent): RailNotice {
  const { id, metadata, amount_received: received, currency } = intent
  return noticeOf(`income:${id}`, 'payment_intent', () => ({
    paymentId: metadata.payment_id ?? null,
    reference: id,
    chargeId: id,
    fact: { kind: 'settled', amountPico: amount(received, currency) },
  }))
}

/** The notice of a refund that we made. */
export function stripeRefundNotice(refund: Stripe.Refund): RailNotice {
  return noticeOf(`refund:${refund.id}:${refund.status}`, 'refund', () => readRefund(refund))
}

/** The notice of a dispute that we requested. */
export function stripeDisputeNotice(dispute: Stripe.Dispute, askedAtMs: number): RailNotice {
  return noticeOf(`dispute:${dispute.id}:${dispute.status}`, 'dispute', () => readDispute(dispute, askedAtMs))
}

const noticeOf = (eventId: string, type: string, read: () => NoticeReading): RailNotice =>
  readNotice('stripe', eventId, type, read)

function readEvent({ type, data, created }: Stripe.Event): NoticeReading {
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      if (data.object.mode === 'setup') return { cardSetupId: data.object.id }
      return readSession(data.object, sessionFact(data.object) ?? { kind: 'processing' })
    case 'checkout.session.async_payment_failed':
      return readSession(data.object, { kind: 'failed', reason: 'the payment failed' })
    case 'checkout.session.expired':
      return data.object.mode === 'setup' ? NOTHING : readSession(data.object, { kind: 'expired' })
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.processing':
    case 'payment_intent.canceled':
      return readIntent(data.object)
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return readRefund(data.object)
    case 'charge.refunded':
      return readCharge(data.object)
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
      return readDispute(data.object, created * 1000)
    default:
      return NOTHING
  }
}

function readSession(session: Stripe.Checkout.Session, fact: PaymentFact | null): NoticeReading {
  return {
    paymentId: session.metadata?.payment_id ?? session.client_reference_id ?? null,
    reference: session.id,
    chargeId: idOf(session.payment_intent),
    fact,
  }
}

function sessionFact(session: Stripe.Checkout.Session): PaymentFact | null {
  if (session.payment_status === 'paid')
    return { kind: 'settled', amountPico: amount(session.amount_total ?? Number.NaN, session.currency) }
  return session.status === 'complete' ? { kind: 'processing' } : null
}

/** In the metadata of a charge of a saved card. The intents of checkouts are reported by their sessions. */
export const SAVED_CARD = 'saved_card'

function readIntent(intent: Stripe.PaymentIntent): NoticeReading {
  if (intent.metadata.purpose !== SAVED_CARD) return NOTHING
  return {
    paymentId: intent.metadata.payment_id ?? null,
    reference: intent.id,
    chargeId: intent.id,
    fact: intentFact(intent),
  }
}

function intentFact(intent: Stripe.PaymentIntent): PaymentFact | null {
  switch (intent.status) {
    case 'succeeded':
      return { kind: 'settled', amountPico: amount(intent.amount_received, intent.currency) }
    case 'processing':
      return { kind: 'processing' }
    case 'canceled':
      return { kind: 'failed', reason: 'the payment was cancelled' }
    case 'requires_action':
      return { kind: 'failed', reason: cardFailure('authentication_required', null) }
    case 'requires_payment_method': {
      const { code, decline_code } = intent.last_payment_error ?? {}
      return { kind: 'failed', reason: cardFailure(code, decline_code) }
    }
    default:
      return null
  }
}

function readRefund(refund: Stripe.Refund): NoticeReading {
  const failed = refund.status === 'failed' || refund.status === 'canceled'
  return {
    paymentId: refund.metadata?.payment_id ?? null,
    reference: idOf(refund.payment_intent),
    fact: { kind: 'refund', refundId: refund.id, amountPico: amount(refund.amount, refund.currency), failed },
  }
}

function readCharge(charge: Stripe.Charge): NoticeReading {
  return {
    paymentId: charge.metadata?.payment_id ?? null,
    reference: idOf(charge.payment_intent),
    fact: { kind: 'refunded_total', amountPico: amount(charge.amount_refunded, charge.currency) },
  }
}

function readDispute(dispute: Stripe.Dispute, atMs: number): NoticeReading {
  // An inquiry: no money has been withdrawn, and possibly never will be.
  if (dispute.status.startsWith('warning_')) return NOTHING
  return {
    paymentId: dispute.metadata?.payment_id ?? null,
    reference: idOf(dispute.payment_intent),
    fact: {
      kind: 'dispute',
      disputeId: dispute.id,
      amountPico: amount(dispute.amount, dispute.currency),
      outcome: disputeOutcome(dispute.status),
      atMs,
    },
  }
}

function disputeOutcome(status: Stripe.Dispute.Status): DisputeOutcome {
  if (status === 'won' || status === 'prevented') return 'won'
  return status === 'lost' ? 'lost' : 'open'
}

const idOf = (object: { id: string } | string | null | undefined): string | null =>
  typeof object === 'string' ? object : (object?.id ?? null)

function amount(cents: number, currency: string | null | undefined): PicoUsd {
  if (currency?.toLowerCase() !== 'usd') throw new RangeError(`not US dollars but ${currency}`)
  return fromCents(cents)
}
