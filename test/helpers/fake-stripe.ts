import { randomBytes } from 'node:crypto'
import Stripe from 'stripe'
import {
  type FakeRailServer,
  type RailAnswer,
  type RailRequest,
  startFakeRailServer,
} from './fake-rail-server.ts'
import { type FakeCards, fakeStripeCards } from './fake-stripe-cards.ts'

const SECRET_KEY = 'sk_test_fake'
const WEBHOOK_SECRET = 'whsec_fake'

export interface StripeEvent {
  id: string
  type: string
  data: { object: Record<string, unknown> }
}

export interface FakeStripe extends Pick<FakeRailServer, 'url' | 'requests' | 'breakDown' | 'close'> {
  environment: Record<string, string>
  /** Saved cards, and charges of them. */
  cards: Omit<FakeCards, 'handle'>
  /** Until it is called with false, what is asked for is done and its answer lost. */
  loseAnswers(lost: boolean): void
  /** The event that Stripe sends about a page that saved a card. */
  cardSaved(url: string): StripeEvent
  /** The event that Stripe sends about the charge of a payment as it stands. */
  charged(paymentId: string): StripeEvent
  /** The customer pays; returns the event Stripe sends. `unsent`: Stripe knows, and tells nobody. */
  pay(checkoutUrl: string, changes?: Record<string, unknown>): StripeEvent
  lapse(checkoutUrl: string): StripeEvent
  /** As made in the dashboard, or as it stands since. */
  refund(checkoutUrl: string, cents: number, status?: string, refundId?: string): StripeEvent
  /** What becomes of refunds asked for from now on: a status, or an error with its status. Default: `succeeded`. */
  answerRefunds(answer: string | { status: number }): void
  /** A refund of a payment that another shop took by the same Stripe account; returns its id. */
  foreignRefund(): string
  /** Money that came in with our id or another shop's none, without a checkout here. */
  chargeFor(paymentId: string | null, cents: number): string
  /** Ids of the refunds that were made, by whom ever. */
  refundIds(): string[]
  chargeRefunded(checkoutUrl: string, cents: number): StripeEvent
  dispute(checkoutUrl: string, status: string, cents?: number): StripeEvent
  /** Sends an event as Stripe does: signed over the bytes, with the time. */
  deliver(
    gateway: string,
    event: unknown,
    options?: { secret?: string; ageSeconds?: number },
  ): Promise<Response>
}

interface StripeObject extends Record<string, unknown> {
  id: string
  created: number
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
  const byIdempotencyKey = new Map<string, { body: string; answer: RailAnswer }>()
  const cards = fakeStripeCards()
  let isLosing = false
  const refunds = new Map<string, StripeObject>()
  const disputes = new Map<string, StripeObject>()
  let refundAnswer: string | { status: number } = 'succeeded'
  const stripe = new Stripe(SECRET_KEY)

  const handle = (request: RailRequest): RailAnswer | null => {
    if (request.headers.authorization !== `Bearer ${SECRET_KEY}`)
      return { status: 401, body: { error: { type: 'invalid_request_error', message: 'bad key' } } }
    const key = request.headers['idempotency-key']
    const known = typeof key === 'string' && request.method === 'POST' ? byIdempotencyKey.get(key) : undefined
    if (known && known.body !== request.body)
      return { status: 400, body: { error: { type: 'idempotency_error', message: 'another request' } } }
    const given = known?.answer ?? handleNew(request)
    if (given && typeof key === 'string') byIdempotencyKey.set(key, { body: request.body, answer: given })
    return isLosing ? { status: 500, body: { error: { type: 'api_error', message: 'down' } } } : given
  }
  const handleNew = (request: RailRequest): RailAnswer | null => {
    const { method, path } = request
    const ofCards = cards.handle(request)
    if (ofCards) return ofCards
    if (path === '/v1/refunds' && method === 'POST') {
      if (typeof refundAnswer !== 'string') {
        const error = { type: 'invalid_request_error', message: 'Insufficient funds in your Stripe balance.' }
        return { status: refundAnswer.status, body: { error } }
      }
      const form = new URLSearchParams(request.body)
      const metadata = { payment_id: form.get('metadata[payment_id]') ?? '' }
      const cents = Number(form.get('amount'))
      return { body: keepRefund(newId('re'), cents, refundAnswer, form.get('payment_intent'), metadata) }
    }
    if (path === '/v1/refunds') return { body: listOf(refunds, request.query) }
    if (path === '/v1/disputes') return { body: listOf(disputes, request.query) }
    const body = answer(request, sessions)
    return body ? { body } : null
  }
  const keepRefund = (
    id: string,
    amount: number,
    status: string,
    payment_intent: string | null,
    metadata: Record<string, string>,
  ): StripeObject => {
    const created = refunds.get(id)?.created ?? nowSeconds()
    const refund = {
      id,
      object: 'refund',
      created,
      amount,
      currency: 'usd',
      status,
      payment_intent,
      metadata,
    }
    refunds.set(id, refund)
    return refund
  }
  const keepIntent = (id: string, amount: number, metadata: Record<string, string>) => {
    const [object, customer, currency, status] = ['payment_intent', '', 'usd', 'succeeded']
    const created = nowSeconds()
    const amounts = { amount, amount_received: amount }
    cards.intents.set(id, { id, object, created, customer, currency, status, metadata, ...amounts })
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
    cards,
    loseAnswers(lost) {
      isLosing = lost
    },
    cardSaved(url) {
      const session = cards.setups.get(url.split('/').at(-1) ?? '')
      if (!session) throw new Error(`no setup at ${url}`)
      return event('checkout.session.completed', { ...session, setup_intent: 'seti_not_expanded' })
    },
    charged(paymentId) {
      const intent = [...cards.intents.values()].find(({ metadata }) => metadata.payment_id === paymentId)
      if (!intent) throw new Error(`no charge of ${paymentId}`)
      const type = { succeeded: 'succeeded', requires_payment_method: 'payment_failed' }[intent.status]
      return event(`payment_intent.${type ?? intent.status}`, { ...intent })
    },
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
      keepIntent(`pi_${session.id}`, session.amount_total, session.metadata)
      return event('checkout.session.completed', { ...session })
    },
    lapse(checkoutUrl) {
      const session = sessionAt(checkoutUrl)
      session.status = 'expired'
      return event('checkout.session.expired', { ...session })
    },
    refund(checkoutUrl, cents, status = 'succeeded', refundId = newId('re')) {
      const { id } = sessionAt(checkoutUrl)
      const type = status === 'failed' ? 'refund.failed' : 'refund.created'
      // Nobody writes our metadata into the dashboard.
      return event(type, keepRefund(refundId, cents, status, `pi_${id}`, {}))
    },
    answerRefunds(answer) {
      refundAnswer = answer
    },
    chargeFor(paymentId, cents) {
      const id = newId('pi')
      keepIntent(id, cents, paymentId === null ? {} : { payment_id: paymentId })
      return id
    },
    foreignRefund: () => keepRefund(newId('re'), 100, 'succeeded', 'pi_of_another_shop', {}).id,
    refundIds: () => [...refunds.keys()],
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
      const dispute = {
        id: `dp_${id}`,
        object: 'dispute',
        created: nowSeconds(),
        amount: cents ?? amount_total,
        currency: 'usd',
        status,
        charge: `ch_${id}`,
        payment_intent: `pi_${id}`,
        metadata: {},
      }
      disputes.set(dispute.id, dispute)
      return event(ended ? 'charge.dispute.closed' : 'charge.dispute.created', dispute)
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

const nowSeconds = () => Math.floor(Date.now() / 1000)
const newId = (kind: string) => `${kind}_${randomBytes(4).toString('hex')}`

/** A page of a list, newest first, as Stripe gives it: `created[gte]`, `created[lt]`, `limit`, `starting_after`. */
function listOf(objects: ReadonlyMap<string, StripeObject>, query: URLSearchParams) {
  const since = Number(query.get('created[gte]') ?? 0)
  const until = Number(query.get('created[lt]') ?? Number.POSITIVE_INFINITY)
  const all = [...objects.values()].reverse().filter(({ created }) => created >= since && created < until)
  const start = all.findIndex(({ id }) => id === query.get('starting_after')) + 1
  const data = all.slice(start, start + Number(query.get('limit') ?? 10))
  return { object: 'list', url: '/v1/list', data, has_more: start + data.length < all.length }
}

function answer({ method, path, body }: RailRequest, sessions: Map<string, Session>): unknown {
  const form = new URLSearchParams(body)
  const [, , resource, kind, id, action] = path.split('/')
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
