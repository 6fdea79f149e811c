import type { DisputeOutcome, PaymentFact } from '../core/billing/payment.ts'
import { type PicoUsd, parseUsd } from '../core/kernel/money.ts'
import type { RailNotice } from './payment-rail.ts'

/** An event as PayPal sends it; what matters of its resource, which differs by type. */
export interface PaypalEvent {
  id: string
  event_type: string
  resource: PaypalResource
}

interface PaypalMoney {
  currency_code?: string
  value?: string
}

export interface PaypalResource {
  id?: string
  status?: string
  amount?: PaypalMoney
  custom_id?: string
  purchase_units?: Array<{ custom_id?: string }>
  supplementary_data?: { related_ids?: { order_id?: string } }
  links?: Array<{ rel?: string; href?: string }>
  dispute_id?: string
  dispute_amount?: PaypalMoney
  dispute_outcome?: { outcome_code?: string }
  disputed_transactions?: Array<{ seller_transaction_id?: string }>
}

type Reading = Pick<RailNotice, 'paymentId' | 'reference' | 'chargeId' | 'fact'> & { ask?: boolean }

const NOTHING: Reading = { paymentId: null, reference: null, chargeId: null, fact: null }

/** Reads one event of PayPal. What cannot be read is refused, never an error that PayPal would repeat. */
export function paypalEventNotice(event: PaypalEvent): RailNotice {
  return noticeOf({ rail: 'paypal', eventId: event.id, type: event.event_type }, () => readEvent(event))
}

function noticeOf(base: Pick<RailNotice, 'rail' | 'eventId' | 'type'>, read: () => Reading): RailNotice {
  try {
    return { ...base, ask: false, ...read(), refusal: null }
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error
    return { ...base, ...NOTHING, ask: false, refusal: error.message }
  }
}

/** What a dispute says of its payment, when we asked. */
export function paypalDisputeNotice(dispute: PaypalResource): RailNotice {
  const { dispute_id: id, status, dispute_outcome: outcome } = dispute
  const eventId = `dispute:${id}:${status}:${outcome?.outcome_code ?? ''}`
  return noticeOf({ rail: 'paypal', eventId, type: 'dispute' }, () => readDispute(dispute))
}

function readEvent({ event_type: type, resource }: PaypalEvent): Reading {
  switch (type) {
    case 'CHECKOUT.ORDER.APPROVED':
    case 'CHECKOUT.ORDER.COMPLETED':
      // PayPal waits for us to capture what the customer approved.
      return { ...readOrder(resource, { kind: 'processing' }), ask: true }
    case 'CHECKOUT.ORDER.VOIDED':
    case 'CHECKOUT.PAYMENT-APPROVAL.REVERSED':
      return readOrder(resource, { kind: 'expired' })
    case 'PAYMENT.CAPTURE.COMPLETED':
      return readCapture(resource, { kind: 'settled', amountPico: paypalAmount(resource.amount) })
    case 'PAYMENT.CAPTURE.PENDING':
      return readCapture(resource, { kind: 'processing' })
    case 'PAYMENT.CAPTURE.DENIED':
    case 'PAYMENT.CAPTURE.DECLINED':
      return readCapture(resource, { kind: 'failed', reason: 'the payment was declined' })
    case 'PAYMENT.CAPTURE.REFUNDED':
    case 'PAYMENT.REFUND.PENDING':
    case 'PAYMENT.REFUND.FAILED':
      return readRefund(resource, refundFact(resource, type === 'PAYMENT.REFUND.FAILED'))
    case 'PAYMENT.CAPTURE.REVERSED':
      return readRefund(resource, {
        kind: 'reversal',
        reversalId: required(resource.id, 'id'),
        amountPico: paypalAmount(resource.amount),
      })
    case 'CUSTOMER.DISPUTE.CREATED':
    case 'CUSTOMER.DISPUTE.UPDATED':
    case 'CUSTOMER.DISPUTE.RESOLVED':
      return readDispute(resource)
    default:
      return NOTHING
  }
}

const readOrder = (order: PaypalResource, fact: PaymentFact): Reading => ({
  paymentId: order.purchase_units?.[0]?.custom_id ?? null,
  reference: order.id ?? null,
  chargeId: null,
  fact,
})

const readCapture = (capture: PaypalResource, fact: PaymentFact): Reading => ({
  paymentId: capture.custom_id ?? null,
  reference: capture.supplementary_data?.related_ids?.order_id ?? capture.id ?? null,
  chargeId: capture.id ?? null,
  fact,
})

const readRefund = (refund: PaypalResource, fact: PaymentFact): Reading => ({
  paymentId: refund.custom_id ?? null,
  reference: captureAbove(refund),
  chargeId: null,
  fact,
})

/** A refund as a fact, from an event or an answer. */
export function refundFact(
  refund: { id?: string; status?: string; amount?: PaypalMoney },
  failed = false,
): PaymentFact {
  const ended = failed || refund.status === 'FAILED' || refund.status === 'CANCELLED'
  return {
    kind: 'refund',
    refundId: required(refund.id, 'id'),
    amountPico: paypalAmount(refund.amount),
    failed: ended,
  }
}

function readDispute(dispute: PaypalResource): Reading {
  return {
    paymentId: null,
    reference: dispute.disputed_transactions?.[0]?.seller_transaction_id ?? null,
    chargeId: null,
    fact: {
      kind: 'dispute',
      disputeId: required(dispute.dispute_id, 'dispute_id'),
      amountPico: paypalAmount(dispute.dispute_amount),
      outcome: dispute.status === 'RESOLVED' ? resolution(dispute.dispute_outcome?.outcome_code) : 'open',
    },
  }
}

const WON = new Set(['RESOLVED_SELLER_FAVOUR', 'RESOLVED_WITH_PAYOUT', 'CANCELED_BY_BUYER', 'DENIED'])
const LOST = new Set(['RESOLVED_BUYER_FAVOUR', 'ACCEPTED'])

/** An unknown outcome leaves the money withheld, for an operator to decide. */
function resolution(code: string | undefined): DisputeOutcome {
  if (code !== undefined && WON.has(code)) return 'won'
  return code !== undefined && LOST.has(code) ? 'lost' : 'open'
}

/** The capture that a refund belongs to stands only in its links. */
function captureAbove({ links }: PaypalResource): string | null {
  const href = links?.find((link) => link.rel === 'up')?.href
  return /\/captures\/([^/?]+)/.exec(href ?? '')?.[1] ?? null
}

/** An amount of PayPal's. Throws RangeError on another currency or what is no amount. */
export function paypalAmount(money: { currency_code?: string; value?: string } | undefined): PicoUsd {
  if (money?.currency_code !== 'USD') throw new RangeError(`not US dollars but ${money?.currency_code}`)
  const amountPico = parseUsd(money.value ?? '')
  if (amountPico < 0n) throw new RangeError(`a negative amount: ${money.value}`)
  return amountPico
}

function required(value: string | undefined, name: string): string {
  if (!value) throw new TypeError(`${name} is missing`)
  return value
}
