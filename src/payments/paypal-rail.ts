import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import type { PaypalSettings } from '../core/payments/payment-settings.ts'
import {
  type PaymentRail,
  type RailNotice,
  type RefundablePayments,
  RefundRefused,
  type TimeSpan,
  type WebhookHeaders,
} from './payment-rail.ts'
import type { Payment } from './payment-store.ts'
import { createPaypalClient, type PaypalClient, PaypalError } from './paypal-client.ts'
import {
  orderNotices,
  orderRefundNotices,
  type PaypalEvent,
  type PaypalOrder,
  type PaypalResource,
  paypalDisputeNotice,
  paypalEventNotice,
  refundNotice,
} from './paypal-notice.ts'
import { refundedCaptures } from './paypal-refund-search.ts'

const ORDERS = '/v2/checkout/orders'
/** 422: the order cannot be captured now; a retry would not help. */
const NOT_CAPTURABLE = 422
/** Statuses that PayPal would return again for the same refund. */
const REFUSALS = new Set([400, 404, 422])

/** Payments by PayPal's Orders v2: an order, the customer's approval, our capture. */
export function createPaypalRail(settings: PaypalSettings, returnUrl: string): PaymentRail {
  const client = createPaypalClient(settings)

  const pathOf = (orderId: string) => `${ORDERS}/${encodeURIComponent(orderId)}`
  const readOrder = async (orderId: string) => (await client.get(pathOf(orderId))) as PaypalOrder

  const capture = async (payment: Payment, orderId: string): Promise<RailNotice[]> => {
    try {
      const order = await client.post(`${pathOf(orderId)}/capture`, { requestId: `${payment.id}-capture` })
      return orderNotices(payment, order as PaypalOrder)
    } catch (error) {
      if (!(error instanceof PaypalError && error.status === NOT_CAPTURABLE)) throw error
      // Captured by another instance, or declined: the order shows which.
      return orderNotices(payment, await readOrder(orderId))
    }
  }

  return {
    name: 'paypal',
    asksToVerify: true,
    cards: null,

    async openCheckout(payment) {
      const json = JSON.stringify(orderOf(payment, returnUrl))
      const order = (await client.post(ORDERS, { json, requestId: payment.id })) as PaypalOrder
      const link = order.links?.find(({ rel }) => rel === 'payer-action' || rel === 'approve')
      if (!order.id || !link?.href)
        throw new Error('PayPal opened an order without an id or a link to approve it')
      return { checkoutId: order.id, checkoutUrl: link.href }
    },

    async readWebhook(body, headers) {
      const text = body.toString('utf8')
      const event = readEvent(text)
      if (!event) return { kind: 'forged', reason: 'not an event' }
      const genuine = await isGenuine(client, settings.webhookId, text, headers)
      return genuine
        ? { kind: 'genuine', notice: paypalEventNotice(event) }
        : { kind: 'forged', reason: 'the signature does not match' }
    },

    async lookUp(payment) {
      if (payment.checkoutId === null) return []
      const order = await readOrder(payment.checkoutId)
      return order.status === 'APPROVED' ? capture(payment, payment.checkoutId) : orderNotices(payment, order)
    },

    // PayPal has no call that closes an order; an unapproved one expires within hours.
    abandon: async () => [],

    async refund(payment, amountPico, key) {
      if (payment.chargeId === null) throw new Error(`payment ${payment.id} has no charge to refund`)
      const json = JSON.stringify({ amount: usd(amountPico), custom_id: payment.id })
      const path = `/v2/payments/captures/${encodeURIComponent(payment.chargeId)}/refund`
      const refund = (await client.post(path, { json, requestId: key }).catch((error: Error) => {
        const isFinal = error instanceof PaypalError && REFUSALS.has(error.status)
        throw isFinal ? new RefundRefused(`PayPal returned ${error.status}`, { cause: error }) : error
      })) as PaypalResource
      return refundNotice(payment, refund.id, refund.status, picoUsd(amountPico))
    },

    // Listing payments would need the separate permission to search transactions.
    listPayments: null,

    // PayPal finds refunds by their time only with a separate permission; an order lists its own.
    async *listRefunds(spans, { settled, findCharged }) {
      const captureIds = await refundedCaptures(client, spans)
      for await (const payment of captureIds === null ? settled : foundBy(findCharged, captureIds)) {
        if (payment.checkoutId === null) continue
        yield* orderRefundNotices(payment, await readOrder(payment.checkoutId))
      }
    },

    async *listDisputes(spans) {
      for await (const id of disputeIds(client, spans)) {
        const dispute = await client.get(`/v1/customer/disputes/${encodeURIComponent(id)}`)
        yield paypalDisputeNotice(dispute as PaypalResource)
      }
    },
  }
}

function orderOf({ id, amountPico }: Payment, returnUrl: string) {
  const back = (outcome: string) => `${returnUrl}?${new URLSearchParams({ payment_id: id, outcome })}`
  return {
    intent: 'CAPTURE',
    purchase_units: [{ custom_id: id, description: 'Balance top-up', amount: usd(amountPico) }],
    payment_source: {
      paypal: {
        experience_context: {
          // The customer pays at PayPal, without a page of ours to review the order.
          user_action: 'PAY_NOW',
          return_url: back('success'),
          cancel_url: back('cancelled'),
        },
      },
    },
  }
}

const usd = (amountPico: bigint) => ({ currency_code: 'USD', value: formatUsd(amountPico) })

/** Our payments among some captures; others on the same PayPal account are not. */
async function* foundBy(
  findCharged: RefundablePayments['findCharged'],
  captureIds: Iterable<string>,
): AsyncGenerator<Payment> {
  for (const captureId of captureIds) {
    const payment = await findCharged(captureId)
    if (payment) yield payment
  }
}

interface DisputePage {
  items?: Array<{ dispute_id?: string; create_time?: string }>
  links?: Array<{ rel?: string; href?: string }>
}

/** The ids of the disputes opened in some periods, the earliest first. */
async function* disputeIds(client: PaypalClient, spans: readonly TimeSpan[]): AsyncGenerator<string> {
  // A list has a start and no end, so that one of all periods costs fewer pages than one of each.
  const since = new Date(Math.min(...spans.map(({ fromMs }) => fromMs)))
  let query: Record<string, string> = { start_time: since.toISOString(), page_size: '50' }
  const isListed = (atMs: number) =>
    Number.isNaN(atMs) || spans.some(({ fromMs, toMs }) => atMs >= fromMs && atMs < toMs)
  for (;;) {
    const page = (await client.get('/v1/customer/disputes', query)) as DisputePage
    for (const { dispute_id: id, create_time: openedAt = '' } of page.items ?? [])
      if (id !== undefined && isListed(Date.parse(openedAt))) yield id
    const next = page.links?.find(({ rel }) => rel === 'next')?.href
    if (next === undefined) return
    query = Object.fromEntries(new URL(next).searchParams)
  }
}

function readEvent(text: string): PaypalEvent | null {
  let event: Partial<PaypalEvent> | null
  try {
    event = JSON.parse(text)
  } catch {
    return null
  }
  const complete =
    typeof event?.id === 'string' &&
    typeof event.event_type === 'string' &&
    typeof event.resource === 'object' &&
    event.resource !== null
  return complete ? (event as PaypalEvent) : null
}

const SIGNATURE_HEADERS = {
  auth_algo: 'paypal-auth-algo',
  cert_url: 'paypal-cert-url',
  transmission_id: 'paypal-transmission-id',
  transmission_sig: 'paypal-transmission-sig',
  transmission_time: 'paypal-transmission-time',
} as const

/**
 * Verifies with PayPal that it signed this event. The event is returned in its original bytes, because the signature
 * covers them; they were parsed before, so they are one JSON value and cannot add a field.
 */
async function isGenuine(
  client: PaypalClient,
  webhookId: string,
  event: string,
  headers: WebhookHeaders,
): Promise<boolean> {
  const signature: Record<string, string> = { webhook_id: webhookId }
  for (const [field, header] of Object.entries(SIGNATURE_HEADERS)) {
    const value = headers[header]
    if (typeof value !== 'string') return false
    signature[field] = value
  }
  const question = `${JSON.stringify(signature).slice(0, -1)},"webhook_event":${event}}`
  const answer = await client.post('/v1/notifications/verify-webhook-signature', { json: question })
  return (answer as { verification_status?: string }).verification_status === 'SUCCESS'
}
