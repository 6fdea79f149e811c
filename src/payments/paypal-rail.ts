import type {
  CheckoutPaymentIntent,
  Client,
  OrderRequest,
  PaypalExperienceUserAction,
} from '@paypal/paypal-server-sdk'
import type { PaypalSettings } from '../core/billing/payment-settings.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import {
  type PaymentRail,
  type RailNotice,
  RefundRefused,
  type TimeSpan,
  type WebhookHeaders,
} from './payment-rail.ts'
import type { Payment } from './payment-store.ts'
import {
  orderNotices,
  orderRefundNotices,
  type PaypalEvent,
  type PaypalResource,
  paypalDisputeNotice,
  paypalEventNotice,
  refundNotice,
} from './paypal-notice.ts'

/** What the customer is asked: to pay now, not to look an order over again. */
const PAY_NOW = 'PAY_NOW' as PaypalExperienceUserAction
const CAPTURE = 'CAPTURE' as CheckoutPaymentIntent
/** 422: the order cannot be captured as it is now; asking again would not help. */
const NOT_CAPTURABLE = 422
/** Answers to a refund that PayPal would give again. */
const REFUSALS = new Set([400, 404, 422])
const WHOLE_ANSWER = 'return=representation'

/** Payments by PayPal's Orders v2: an order, the customer's approval, our capture. */
export async function createPaypalRail(settings: PaypalSettings, returnUrl: string): Promise<PaymentRail> {
  const client = await createPaypalClient(settings)

  const capture = async (payment: Payment, orderId: string): Promise<RailNotice[]> => {
    try {
      const { result } = await client.orders.captureOrder({
        id: orderId,
        paypalRequestId: `${payment.id}-capture`,
        prefer: WHOLE_ANSWER,
      })
      return orderNotices(payment, result)
    } catch (error) {
      if ((error as { statusCode?: number }).statusCode !== NOT_CAPTURABLE) throw error
      // Captured by another instance just now, or declined: the order itself says which.
      const { result } = await client.orders.getOrder({ id: orderId })
      return orderNotices(payment, result)
    }
  }

  return {
    name: 'paypal',
    asksToVerify: true,
    cards: null,

    async openCheckout(payment) {
      const { result } = await client.orders.createOrder({
        body: orderOf(payment, returnUrl),
        paypalRequestId: payment.id,
        prefer: WHOLE_ANSWER,
      })
      const link = result.links?.find(({ rel }) => rel === 'payer-action' || rel === 'approve')
      if (!result.id || !link) throw new Error('PayPal opened an order without an id or a link to approve it')
      return { checkoutId: result.id, checkoutUrl: link.href }
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
      const { result: order } = await client.orders.getOrder({ id: payment.checkoutId })
      return order.status === 'APPROVED' ? capture(payment, payment.checkoutId) : orderNotices(payment, order)
    },

    // PayPal has no call that closes an order; an unapproved one lapses within hours.
    abandon: async () => [],

    async refund(payment, amountPico, key) {
      if (payment.chargeId === null) throw new Error(`payment ${payment.id} has no charge to refund`)
      const { result } = await client.payments
        .refundCapturedPayment({
          captureId: payment.chargeId,
          paypalRequestId: key,
          prefer: WHOLE_ANSWER,
          body: {
            amount: { currencyCode: 'USD', value: formatUsd(picoUsd(amountPico)) },
            customId: payment.id,
          },
        })
        .catch((error: Error & { statusCode?: number }) => {
          const isFinal = REFUSALS.has(error.statusCode ?? 0)
          throw isFinal ? new RefundRefused(`PayPal answered ${error.statusCode}`, { cause: error }) : error
        })
      return refundNotice(payment, result.id, result.status, picoUsd(amountPico))
    },

    // Nor payments: the permission to search transactions is another one.
    listPayments: null,

    // PayPal lists no refunds by time without a permission of its own; an order lists its own.
    async *listRefunds(_span, settled) {
      for await (const payment of settled) {
        if (payment.checkoutId === null) continue
        const { result: order } = await client.orders.getOrder({ id: payment.checkoutId })
        yield* orderRefundNotices(payment, order)
      }
    },

    async *listDisputes(span) {
      for await (const id of disputeIds(client, span)) {
        const dispute = await client.getJson(`/v1/customer/disputes/${encodeURIComponent(id)}`)
        yield paypalDisputeNotice(dispute as PaypalResource)
      }
    },
  }
}

function orderOf({ id, amountPico }: Payment, returnUrl: string): OrderRequest {
  const back = (outcome: string) => `${returnUrl}?${new URLSearchParams({ payment_id: id, outcome })}`
  return {
    intent: CAPTURE,
    purchaseUnits: [
      {
        customId: id,
        description: 'Balance top-up',
        amount: { currencyCode: 'USD', value: formatUsd(picoUsd(amountPico)) },
      },
    ],
    paymentSource: {
      paypal: {
        experienceContext: {
          userAction: PAY_NOW,
          returnUrl: back('success'),
          cancelUrl: back('cancelled'),
        },
      },
    },
  }
}

interface DisputePage {
  items?: Array<{ dispute_id?: string; create_time?: string }>
  links?: Array<{ rel?: string; href?: string }>
}

/** The ids of the disputes opened in a span of time; the SDK has no method that lists them. */
async function* disputeIds(client: PaypalClient, { fromMs, toMs }: TimeSpan): AsyncGenerator<string> {
  let query: Record<string, string> = { start_time: new Date(fromMs).toISOString(), page_size: '50' }
  for (;;) {
    const page = (await client.getJson('/v1/customer/disputes', query)) as DisputePage
    for (const { dispute_id: id, create_time: openedAt = '' } of page.items ?? [])
      if (id !== undefined && !(Date.parse(openedAt) >= toMs)) yield id
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
 * Asks PayPal whether it signed this. The event goes back in the very bytes it came in, because the signature
 * is over them; they were parsed before, so they are one JSON value and cannot add a field of their own.
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
  const answer = await client.postRaw('/v1/notifications/verify-webhook-signature', question)
  return (JSON.parse(answer) as { verification_status?: string }).verification_status === 'SUCCESS'
}

const TIMEOUT_MS = 10_000
const RETRIES = 2

/** PayPal by its SDK, at a base address of our choosing. */
type PaypalClient = Awaited<ReturnType<typeof createPaypalClient>>

/**
 * The SDK has two addresses, live and sandbox. Requests are rewritten on their way out to the configured one,
 * its token requests included. Loaded on use, so that only a gateway with PayPal's keys pays for it.
 */
async function createPaypalClient(settings: PaypalSettings) {
  const sdk = await import('@paypal/paypal-server-sdk')
  class RebasedClient extends sdk.Client {
    override getRequestBuilderFactory(): ReturnType<Client['getRequestBuilderFactory']> {
      const build = super.getRequestBuilderFactory()
      return (...args) => {
        const request = build(...args)
        request.interceptRequest((outgoing) => ({ ...outgoing, url: rebase(outgoing.url, settings.apiBase) }))
        return request
      }
    }
  }
  const client = new RebasedClient({
    environment: sdk.Environment.Production,
    clientCredentialsAuthCredentials: {
      oAuthClientId: settings.clientId,
      oAuthClientSecret: settings.clientSecret,
    },
    timeout: TIMEOUT_MS,
    httpClientOptions: { timeout: TIMEOUT_MS, retryConfig: { maxNumberOfRetries: RETRIES } },
  })
  return {
    orders: new sdk.OrdersController(client),
    payments: new sdk.PaymentsController(client),
    /** Posts JSON text as it stands, byte for byte, with the client's authorization; returns the answer's text. */
    async postRaw(path: string, json: string): Promise<string> {
      const request = client.getRequestBuilderFactory()('POST', path)
      request.header('Content-Type', 'application/json')
      request.text(json)
      request.authenticate([{ oauth2: true }])
      return (await request.callAsText()).result
    },
    /** Gets what the SDK has no method for; returns the answer's JSON. */
    async getJson(path: string, query: Record<string, string> = {}): Promise<unknown> {
      const request = client.getRequestBuilderFactory()('GET', path)
      for (const [name, value] of Object.entries(query)) request.query(name, value)
      request.authenticate([{ oauth2: true }])
      return JSON.parse((await request.callAsText()).result)
    },
  }
}

/** Moves an address of PayPal's to another base, which may have a path. */
function rebase(url: string, apiBase: string): string {
  const { pathname, search } = new URL(url)
  return `${apiBase}${pathname}${search}`
}
