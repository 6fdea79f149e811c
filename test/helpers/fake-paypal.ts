import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  type FakeRailServer,
  type RailAnswer,
  type RailRequest,
  startFakeRailServer,
} from './fake-rail-server.ts'

const CLIENT_ID = 'client'
const CLIENT_SECRET = 'secret'
const WEBHOOK_ID = '1JE4291016473214C'
const TOKEN = 'A21AAfake'

export interface PaypalWebhook {
  id: string
  event_type: string
  resource: Record<string, unknown>
}

export interface FakePaypal extends Pick<FakeRailServer, 'url' | 'requests' | 'breakDown' | 'close'> {
  environment: Record<string, string>
  /** The customer approves the order; the money moves once the gateway captures it. */
  approve(checkoutUrl: string): PaypalWebhook
  captured(checkoutUrl: string): PaypalWebhook
  refunded(checkoutUrl: string, usd: string): PaypalWebhook
  dispute(checkoutUrl: string, outcome?: string): PaypalWebhook
  /** Grants the permission to search transactions, which an app does not have by default. */
  permitSearch(): void
  /** Signs the bytes as PayPal does, with its own key unless told otherwise. */
  deliver(gateway: string, webhook: unknown, options?: { forged?: boolean }): Promise<Response>
}

interface Order {
  id: string
  status: string
  usd: string
  customId: string
  captureId: string | null
  refunds: Array<ReturnType<typeof newRefund>>
}

/** PayPal's orders, captures, refunds, and webhooks whose signatures it checks with a real key. */
export async function startFakePaypal(): Promise<FakePaypal> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const orders = new Map<string, Order>()
  const disputes = new Map<string, Record<string, unknown>>()
  let maySearch = false

  const handle = (request: RailRequest): RailAnswer | null => {
    if (request.path === '/v1/oauth2/token') {
      const expected = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`
      if (request.headers.authorization !== expected)
        return { status: 401, body: { error: 'invalid_client', error_description: 'no' } }
      return {
        body: {
          access_token: TOKEN,
          token_type: 'Bearer',
          expires_in: 32400,
          scope: '',
          app_id: 'x',
          nonce: 'y',
        },
      }
    }
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return { status: 401, body: { name: 'UNAUTHORIZED' } }
    if (request.path === '/v1/notifications/verify-webhook-signature')
      return { body: { verification_status: isGenuine(request.body) ? 'SUCCESS' : 'FAILURE' } }
    if (request.path === '/v1/reporting/transactions')
      return maySearch ? searchAnswer(request, orders) : { status: 403, body: { name: 'NOT_AUTHORIZED' } }
    return disputeAnswer(request, disputes) ?? answer(request, orders)
  }
  const isGenuine = (text: string): boolean => {
    const question = JSON.parse(text)
    const raw = text.slice(text.indexOf('"webhook_event":') + '"webhook_event":'.length, -1)
    const message = `${question.transmission_id}|${question.transmission_time}|${question.webhook_id}|${crc32(raw)}`
    return verify(
      'RSA-SHA256',
      Buffer.from(message),
      publicKey,
      Buffer.from(question.transmission_sig, 'base64'),
    )
  }
  const server = await startFakeRailServer(handle)
  const orderAt = (checkoutUrl: string): Order => {
    const order = orders.get(new URL(checkoutUrl).searchParams.get('token') ?? '')
    if (!order) throw new Error(`no order at ${checkoutUrl}`)
    return order
  }
  const webhook = (event_type: string, resource: Record<string, unknown>): PaypalWebhook => ({
    id: `WH-${randomBytes(8).toString('hex')}`,
    event_type,
    resource,
  })

  return {
    ...server,
    environment: {
      PAYPAL_API_BASE: server.url,
      PAYPAL_CLIENT_ID: CLIENT_ID,
      PAYPAL_CLIENT_SECRET: CLIENT_SECRET,
      PAYPAL_WEBHOOK_ID: WEBHOOK_ID,
    },
    approve(checkoutUrl) {
      const order = orderAt(checkoutUrl)
      order.status = 'APPROVED'
      const { id, status, customId } = order
      return webhook('CHECKOUT.ORDER.APPROVED', { id, status, purchase_units: [{ custom_id: customId }] })
    },
    captured(checkoutUrl) {
      const { id, captureId, usd, customId } = orderAt(checkoutUrl)
      return webhook('PAYMENT.CAPTURE.COMPLETED', {
        id: captureId,
        status: 'COMPLETED',
        amount: { currency_code: 'USD', value: usd },
        custom_id: customId,
        supplementary_data: { related_ids: { order_id: id } },
      })
    },
    refunded(checkoutUrl, usd) {
      const { captureId, customId, refunds } = orderAt(checkoutUrl)
      const refund = newRefund({ currency_code: 'USD', value: usd })
      refunds.push(refund)
      return webhook('PAYMENT.CAPTURE.REFUNDED', {
        ...refund,
        custom_id: customId,
        links: [{ rel: 'up', href: `https://api.paypal.com/v2/payments/captures/${captureId}` }],
      })
    },
    dispute(checkoutUrl, outcome) {
      const { captureId, usd } = orderAt(checkoutUrl)
      const dispute = {
        dispute_id: `PP-D-${captureId}`,
        create_time: new Date().toISOString(),
        status: outcome ? 'RESOLVED' : 'OPEN',
        dispute_amount: { currency_code: 'USD', value: usd },
        disputed_transactions: [{ seller_transaction_id: captureId }],
        ...(outcome && { dispute_outcome: { outcome_code: outcome } }),
      }
      disputes.set(dispute.dispute_id, dispute)
      return webhook(outcome ? 'CUSTOMER.DISPUTE.RESOLVED' : 'CUSTOMER.DISPUTE.CREATED', dispute)
    },
    permitSearch() {
      maySearch = true
    },
    deliver(gateway, body, { forged = false } = {}) {
      const payload = typeof body === 'string' ? body : JSON.stringify(body)
      const id = randomBytes(8).toString('hex')
      const time = new Date().toISOString()
      const key = forged ? stranger.privateKey : privateKey
      const message = Buffer.from(`${id}|${time}|${WEBHOOK_ID}|${crc32(payload)}`)
      return fetch(`${gateway}/webhooks/paypal`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'paypal-auth-algo': 'SHA256withRSA',
          'paypal-cert-url': 'https://api.paypal.com/v1/notifications/certs/CERT-fake',
          'paypal-transmission-id': id,
          'paypal-transmission-sig': sign('RSA-SHA256', message, key).toString('base64'),
          'paypal-transmission-time': time,
        },
        body: payload,
      })
    },
  }
}

const newRefund = (amount: { currency_code: string; value: string }) => ({
  id: `RF${randomBytes(4).toString('hex')}`,
  status: 'COMPLETED',
  amount,
  create_time: new Date().toISOString(),
})

/** Refunds by their time, one a page; the longest period is 31 days. */
function searchAnswer({ query }: RailRequest, orders: ReadonlyMap<string, Order>): RailAnswer {
  const [from, to] = ['start_date', 'end_date'].map((name) => Date.parse(query.get(name) ?? ''))
  if (!(to! - from! <= 31 * 86_400_000)) return { status: 400, body: { name: 'INVALID_REQUEST' } }
  const found = [...orders.values()].flatMap(({ captureId, refunds }) =>
    refunds
      .filter(({ create_time }) => Date.parse(create_time) >= from! && Date.parse(create_time) < to!)
      .map(({ id }) => ({
        transaction_info: {
          transaction_id: id,
          paypal_reference_id: captureId,
          paypal_reference_id_type: 'TXN',
          transaction_event_code: 'T1107',
        },
      })),
  )
  const page = Number(query.get('page') ?? 1)
  return {
    body: {
      transaction_details: query.get('transaction_type') === 'T1107' ? found.slice(page - 1, page) : [],
      page,
      total_items: found.length,
      total_pages: found.length,
    },
  }
}

/** One dispute a page, so that whoever lists them has to turn it. */
function disputeAnswer(
  { path, query }: RailRequest,
  disputes: ReadonlyMap<string, Record<string, unknown>>,
): RailAnswer | null {
  const [, , , kind, id] = path.split('/')
  if (kind !== 'disputes') return null
  if (id !== undefined) return { body: disputes.get(id) ?? {} }
  const page = Number(query.get('next_page_token') ?? 0)
  const all = [...disputes.values()]
  const next = `https://api.paypal.com/v1/customer/disputes?page_size=1&next_page_token=${page + 1}`
  return {
    body: {
      items: all.slice(page, page + 1).map(({ dispute_id, create_time }) => ({ dispute_id, create_time })),
      links: page + 1 < all.length ? [{ rel: 'next', href: next, method: 'GET' }] : [],
    },
  }
}

function answer({ method, path, body }: RailRequest, orders: Map<string, Order>): RailAnswer | null {
  const [, , , kind, id, action] = path.split('/')
  if (kind === 'captures' && action === 'refund') {
    const refund = newRefund(JSON.parse(body).amount)
    for (const order of orders.values()) if (order.captureId === id) order.refunds.push(refund)
    return { status: 201, body: refund }
  }
  if (kind !== 'orders') return null
  if (method === 'POST' && id === undefined) {
    const order = newOrder(JSON.parse(body))
    orders.set(order.id, order)
    return { status: 201, body: orderView(order) }
  }
  const order = orders.get(id ?? '')
  if (!order) return null
  if (action === 'capture') {
    if (order.status !== 'APPROVED')
      return {
        status: 422,
        body: { name: 'UNPROCESSABLE_ENTITY', details: [{ issue: 'ORDER_NOT_APPROVED' }] },
      }
    order.status = 'COMPLETED'
    order.captureId = `CAP${order.id}`
  }
  return { body: orderView(order) }
}

function newOrder(asked: { purchase_units: Array<{ amount: { value: string }; custom_id: string }> }): Order {
  const [unit] = asked.purchase_units
  const id = `ORDER${randomBytes(6).toString('hex').toUpperCase()}`
  return {
    id,
    status: 'PAYER_ACTION_REQUIRED',
    usd: unit?.amount.value ?? '',
    customId: unit?.custom_id ?? '',
    captureId: null,
    refunds: [],
  }
}

const orderView = ({ id, status, usd, customId, captureId, refunds }: Order) => ({
  id,
  status,
  purchase_units: [
    {
      reference_id: 'default',
      custom_id: customId,
      ...(captureId && {
        payments: {
          captures: [
            {
              id: captureId,
              status: refunds.length > 0 ? 'PARTIALLY_REFUNDED' : 'COMPLETED',
              amount: { currency_code: 'USD', value: usd },
              custom_id: customId,
            },
          ],
          refunds,
        },
      }),
    },
  ],
  links: [{ rel: 'payer-action', href: `https://www.paypal.test/checkoutnow?token=${id}`, method: 'GET' }],
})
