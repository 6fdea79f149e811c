import { type PicoUsd, parseUsd } from '../core/kernel/money.ts'
import type { DisputeOutcome, PaymentFact } from '../core/payments/payment.ts'
import { type NoticeReading, type RailNotice, railNotice, readNotice } from './payment-rail.ts'
import type { Payment } from './payment-store.ts'

/** An event of PayPal, with the fields in use of its resource, which differs by type. */
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
  update_time?: string
  dispute_amount?: PaypalMoney
  dispute_outcome?: { outcome_code?: string }
  disputed_transactions?: Array<{ seller_transaction_id?: string }>
}

/** The fields in use of a PayPal order. */
export interface PaypalOrder extends Pick<PaypalResource, 'id' | 'status' | 'links'> {
  purchase_units?: Array<{ payments?: { captures?: PaypalResource[]; refunds?: PaypalResource[] } }>
}

export function paypalEventNotice(event: PaypalEvent): RailNotice {
  return readNotice('paypal', event.id, event.event_type, () => readEvent(event))
}

/** The notice of a dispute that we requested. */
export function paypalDisputeNotice(dispute: PaypalResource): RailNotice {
  const { dispute_id: id, status, dispute_outcome: outcome } = dispute
  const eventId = `dispute:${id}:${status}:${outcome?.outcome_code ?? ''}`
  return readNotice('paypal', eventId, 'dispute', () => readDispute(dispute))
}

/** The notices of an order's captures that we requested. */
export function orderNotices(payment: Payment, order: PaypalOrder): RailNotice[] {
  const captures = order.purchase_units?.flatMap((unit) => unit.payments?.captures ?? []) ?? []
  const notices = captures.flatMap((capture) => captureNotice(payment, capture))
  if (notices.length === 0 && order.status === 'VOIDED')
    return [notice(payment, `order:${order.id}:VOIDED`, 'order', { kind: 'expired' })]
  return notices
}

function captureNotice(payment: Payment, { id, status, amount }: PaypalResource): RailNotice[] {
  const captured = (fact: PaymentFact, chargeId: string | null = null) => [
    notice(payment, `capture:${id}:${status}`, 'capture', fact, chargeId),
  ]
  switch (status) {
    case 'COMPLETED':
    case 'PARTIALLY_REFUNDED':
    case 'REFUNDED':
      return captured({ kind: 'settled', amountPico: paypalAmount(amount) }, id ?? null)
    case 'DECLINED':
    case 'FAILED':
      return captured({ kind: 'failed', reason: 'the payment was declined' })
    case 'PENDING':
      return captured({ kind: 'processing' }, id ?? null)
    default:
      return []
  }
}

/** The notices of an order's refunds that we requested. */
export function orderRefundNotices(payment: Payment, order: PaypalOrder): RailNotice[] {
  const refunds = order.purchase_units?.flatMap((unit) => unit.payments?.refunds ?? []) ?? []
  return refunds.map(({ id, status, amount }) => refundNotice(payment, id, status, paypalAmount(amount)))
}

/** The notice of a refund that we made or requested. */
export const refundNotice = (
  payment: Payment,
  id: string | undefined,
  status: string | undefined,
  amountPico: PicoUsd,
): RailNotice => notice(payment, `refund:${id}:${status}`, 'refund', refundFact(id, status, amountPico))

const notice = (
  payment: Payment,
  eventId: string,
  type: string,
  fact: PaymentFact,
  chargeId: string | null = null,
): RailNotice =>
  railNotice('paypal', eventId, type, {
    paymentId: payment.id,
    reference: payment.checkoutId,
    chargeId,
    fact,
  })

function readEvent({ event_type: type, resource }: PaypalEvent): NoticeReading {
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
      return readRefund(
        resource,
        refundFact(
          resource.id,
          type === 'PAYMENT.REFUND.FAILED' ? 'FAILED' : resource.status,
          paypalAmount(resource.amount),
        ),
      )
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
      return {}
  }
}

const readOrder = (order: PaypalResource, fact: PaymentFact): NoticeReading => ({
  paymentId: order.purchase_units?.[0]?.custom_id ?? null,
  reference: order.id ?? null,
  fact,
})

const readCapture = (capture: PaypalResource, fact: PaymentFact): NoticeReading => ({
  paymentId: capture.custom_id ?? null,
  reference: capture.supplementary_data?.related_ids?.order_id ?? capture.id ?? null,
  chargeId: capture.id ?? null,
  fact,
})

const readRefund = (refund: PaypalResource, fact: PaymentFact): NoticeReading => ({
  paymentId: refund.custom_id ?? null,
  reference: captureAbove(refund),
  fact,
})

const refundFact = (
  id: string | undefined,
  status: string | undefined,
  amountPico: PicoUsd,
): PaymentFact => ({
  kind: 'refund',
  refundId: required(id, 'id'),
  amountPico,
  failed: status === 'FAILED' || status === 'CANCELLED',
})

function readDispute(dispute: PaypalResource): NoticeReading {
  const atMs = Date.parse(dispute.update_time ?? '')
  return {
    reference: dispute.disputed_transactions?.[0]?.seller_transaction_id ?? null,
    fact: {
      kind: 'dispute',
      disputeId: required(dispute.dispute_id, 'dispute_id'),
      amountPico: paypalAmount(dispute.dispute_amount),
      outcome: dispute.status === 'RESOLVED' ? resolution(dispute.dispute_outcome?.outcome_code) : 'open',
      ...(Number.isFinite(atMs) && { atMs }),
    },
  }
}

const WON = new Set(['RESOLVED_SELLER_FAVOUR', 'RESOLVED_WITH_PAYOUT', 'CANCELED_BY_BUYER', 'DENIED'])
const LOST = new Set(['RESOLVED_BUYER_FAVOUR', 'ACCEPTED'])

/** With an unknown outcome the money stays withheld, for an operator to decide. */
function resolution(code: string | undefined): DisputeOutcome {
  if (code !== undefined && WON.has(code)) return 'won'
  return code !== undefined && LOST.has(code) ? 'lost' : 'open'
}

/** The capture of a refund is named only in its links. */
function captureAbove({ links }: PaypalResource): string | null {
  const href = links?.find((link) => link.rel === 'up')?.href
  return /\/captures\/([^/?]+)/.exec(href ?? '')?.[1] ?? null
}

/** Parses an amount of PayPal. Throws RangeError on another currency or an invalid amount. */
function paypalAmount({ currency_code: currency, value = '' }: PaypalMoney = {}): PicoUsd {
  if (currency !== 'USD') throw new RangeError(`not US dollars but ${currency}`)
  const amountPico = parseUsd(value)
  if (amountPico < 0n) throw new RangeError(`a negative amount: ${value}`)
  return amountPico
}

function required(value: string | undefined, name: string): string {
  if (!value) throw new TypeError(`${name} is missing`)
  return value
}
