import { randomBytes } from 'node:crypto'
import Stripe from 'stripe'
import {
  type FakeRailServer,
  type RailAnswer,
  type RailRequest,
  startFakeRailServer,
} from './fake-rail-server.ts'

const SECRET_KEY = 'sk_test_fake'
const WEBHOOK_SECRET = 'whsec_fake'

export interface StripeEvent {
  id: string
  type: string
  data: { object: Record<string, unknown> }
}

export interface FakeStripe extends Pick<FakeRailServer, 'url' | 'requests' | 'breakDown' | 'close'> {
  environment: Record<string, string>
  /** The customer pays; returns the event Stripe sends. `unsent`: Stripe knows, and tells nobody. */
  pay(checkoutUrl: string, changes?: Record<string, unknown>): StripeEvent
  lapse(checkoutUrl: string): StripeEvent
  refund(checkoutUrl: string, cents: number, status?: string, refundId?: string): StripeEvent
  chargeRefunded(checkoutUrl: string, cents: number): StripeEvent
  dispute(checkoutUrl: string, status: string, cents?: number): StripeEvent
  /** Sends an event as Stripe does: signed over the bytes, with the time. */
  deliver(
    gateway: string,
    event: unknown,
    options?: { secret?: string; ageSeconds?: number },
  ): Promise<Response>
}

interface Session extends Record<string, unknown> {
  id: string
  status: string
  payment_status: string
  payment_intent: string | null
  amount_total: number
  metadata: Record<string, string>
}

/** Stripe's checkout sessions, refunds and webhooks, in their shapes. */
export async function startFakeStripe(): Promise<FakeStripe> {
  const sessions = new Map<string, Session>()
  const byIdempotencyKey = new Map<string, unknown>()
  const stripe = new Stripe(SECRET_KEY)

  const handle = (request: RailRequest): RailAnswer | null => {
    if (request.headers.authorization !== `Bearer ${SECRET_KEY}`)
      return { status: 401, body: { error: { type: 'invalid_request_error', message: 'bad key' } } }
    const key = request.headers['idempotency-key']
    const known = typeof key === 'string' && request.method === 'POST' ? byIdempotencyKey.get(key) : undefined
    if (known) return { body: known }
    const body = answer(request, sessions)
    if (body && typeof key === 'string') byIdempotencyKey.set(key, body)
    return body ? { body } : null
  }
  const server = await startFakeRailServer(handle)
  const sessionAt = (checkoutUrl: string): Session => {
    const session = sessions.get(checkoutUrl.split('/').at(-1) ?? '')
    if (!session) throw new Error(`no session at ${checkoutUrl}`)
    return session
  }
  const event = (type: string, object: Record<string, unknown>): StripeEvent =>
    ({ id: `evt_${randomBytes(8).toString('hex')}`, object: 'event', type, data: { object } }) as StripeEvent

  return {
    ...server,
    environment: {
      STRIPE_API_BASE: server.url,
      STRIPE_SECRET_KEY: SECRET_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    },
    pay(checkoutUrl, changes = {}) {
      const session = sessionAt(checkoutUrl)
      Object.assign(session, {
        status: 'complete',
        payment_status: 'paid',
        payment_intent: `pi_${session.id}`,
        ...changes,
      })
      return event('checkout.session.completed', { ...session })
    },
    lapse(checkoutUrl) {
      const session = sessionAt(checkoutUrl)
      session.status = 'expired'
      return event('checkout.session.expired', { ...session })
    },
    refund(checkoutUrl, cents, status = 'succeeded', refundId = `re_${randomBytes(4).toString('hex')}`) {
      const { id, metadata } = sessionAt(checkoutUrl)
      const type = status === 'failed' ? 'refund.failed' : 'refund.created'
      return event(type, {
        id: refundId,
        object: 'refund',
        amount: cents,
        currency: 'usd',
        status,
        payment_intent: `pi_${id}`,
        metadata,
      })
    },
    chargeRefunded(checkoutUrl, cents) {
      const { id, metadata } = sessionAt(checkoutUrl)
      return event('charge.refunded', {
        id: `ch_${id}`,
        object: 'charge',
        amount_refunded: cents,
        currency: 'usd',
        payment_intent: `pi_${id}`,
        metadata,
      })
    },
    dispute(checkoutUrl, status, cents) {
      const { id, amount_total } = sessionAt(checkoutUrl)
      const ended = status === 'won' || status === 'lost'
      return event(ended ? 'charge.dispute.closed' : 'charge.dispute.created', {
        id: `dp_${id}`,
        object: 'dispute',
        amount: cents ?? amount_total,
        currency: 'usd',
        status,
        charge: `ch_${id}`,
        payment_intent: `pi_${id}`,
        metadata: {},
      })
    },
    deliver(gateway, body, { secret = WEBHOOK_SECRET, ageSeconds = 0 } = {}) {
      const payload = typeof body === 'string' ? body : JSON.stringify(body, null, 2)
      const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
      const signature = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
      return fetch(`${gateway}/webhooks/stripe`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
        body: payload,
      })
    },
  }
}

function answer({ method, path, body }: RailRequest, sessions: Map<string, Session>): unknown {
  const form = new URLSearchParams(body)
  const [, , resource, kind, id, action] = path.split('/')
  if (resource === 'refunds' && method === 'POST') {
    return {
      id: `re_${randomBytes(4).toString('hex')}`,
      object: 'refund',
      amount: Number(form.get('amount')),
      currency: 'usd',
      status: 'succeeded',
      payment_intent: form.get('payment_intent'),
      metadata: { payment_id: form.get('metadata[payment_id]') },
    }
  }
  if (resource !== 'checkout' || kind !== 'sessions') return null
  if (id === undefined && method === 'POST') {
    const session = newSession(form)
    sessions.set(session.id, session)
    return session
  }
  const session = sessions.get(id ?? '')
  if (session && action === 'expire') session.status = 'expired'
  return session ?? null
}

function newSession(form: URLSearchParams): Session {
  const id = `cs_test_${randomBytes(6).toString('hex')}`
  return {
    id,
    object: 'checkout.session',
    mode: form.get('mode'),
    status: 'open',
    payment_status: 'unpaid',
    payment_intent: null,
    amount_total: Number(form.get('line_items[0][price_data][unit_amount]')),
    currency: form.get('line_items[0][price_data][currency]'),
    client_reference_id: form.get('client_reference_id'),
    metadata: { payment_id: form.get('metadata[payment_id]') ?? '' },
    url: `https://checkout.stripe.test/c/pay/${id}`,
  }
}
