import { randomBytes } from 'node:crypto'
import type { RailAnswer, RailRequest } from './fake-rail-server.ts'

/** What the bank says to charges of saved cards. */
export type BankAnswer = 'succeeded' | 'declined' | 'authentication_required' | 'expired_card' | 'processing'

/** A payment intent, in Stripe's shape. */
export interface Intent extends Record<string, unknown> {
  id: string
  created: number
  customer: string
  amount: number
  status: string
  metadata: Record<string, string>
}

interface SetupSession extends Record<string, unknown> {
  id: string
  customer: string
}

export interface FakeCards {
  handle(request: RailRequest): RailAnswer | null
  /** Ids of customers that exist. */
  customers: Set<string>
  /** Ids of cards that can be charged, and whose they are. */
  methods: Map<string, string>
  intents: Map<string, Intent>
  /** Pages that save cards. */
  setups: Map<string, SetupSession>
  answerCharges(answer: BankAnswer): void
  /** The holder enters a card on a page. */
  saveCard(url: string, card?: { brand: string; last4: string }): SetupSession
}

const nowSeconds = () => Math.floor(Date.now() / 1000)
const newId = (kind: string) => `${kind}_${randomBytes(6).toString('hex')}`
const missing = (what: string): RailAnswer => ({
  status: 404,
  body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: `No such ${what}` } },
})

/** Stripe's customers, setup sessions, payment methods and payment intents. */
export function fakeStripeCards(): FakeCards {
  const customers = new Set<string>()
  const methods = new Map<string, string>()
  const intents = new Map<string, Intent>()
  const setups = new Map<string, SetupSession>()
  let bank: BankAnswer = 'succeeded'

  const openSetup = (form: URLSearchParams): SetupSession => {
    const id = newId('cs_test')
    const session = {
      id,
      object: 'checkout.session',
      mode: 'setup',
      status: 'open',
      payment_status: 'no_payment_required',
      customer: form.get('customer') ?? '',
      setup_intent: null,
      metadata: {},
      url: `https://checkout.stripe.test/c/setup/${id}`,
    }
    setups.set(id, session)
    return session
  }

  const charge = (form: URLSearchParams): RailAnswer => {
    const method = form.get('payment_method') ?? ''
    const customer = form.get('customer') ?? ''
    if (methods.get(method) !== customer) return missing('PaymentMethod')
    if (form.get('off_session') !== 'true' || form.get('confirm') !== 'true')
      return { status: 400, body: { error: { type: 'invalid_request_error', message: 'off_session only' } } }
    const amount = Number(form.get('amount'))
    const error = errorOf(bank)
    const intent: Intent = {
      id: newId('pi'),
      object: 'payment_intent',
      created: nowSeconds(),
      ...{ amount, customer, payment_method: method, currency: form.get('currency') },
      amount_received: bank === 'succeeded' ? amount : 0,
      status: error ? 'requires_payment_method' : bank,
      last_payment_error: error,
      metadata: {
        payment_id: form.get('metadata[payment_id]') ?? '',
        purpose: form.get('metadata[purpose]') ?? '',
      },
    }
    intents.set(intent.id, intent)
    return error ? { status: 402, body: { error: { ...error, payment_intent: intent } } } : { body: intent }
  }

  const listIntents = (query: URLSearchParams) => ({
    object: 'list',
    url: '/v1/payment_intents',
    has_more: false,
    data: [...intents.values()]
      .filter(({ customer }) => !query.has('customer') || customer === query.get('customer'))
      .filter(({ created }) => created >= Number(query.get('created[gte]') ?? 0)),
  })

  return {
    customers,
    methods,
    intents,
    setups,
    answerCharges(answer) {
      bank = answer
    },
    saveCard(url, card = { brand: 'visa', last4: '4242' }) {
      const session = setups.get(url.split('/').at(-1) ?? '')
      if (!session) throw new Error(`no setup at ${url}`)
      const method = newId('pm')
      methods.set(method, session.customer)
      return Object.assign(session, {
        status: 'complete',
        setup_intent: {
          id: newId('seti'),
          object: 'setup_intent',
          status: 'succeeded',
          payment_method: {
            id: method,
            object: 'payment_method',
            card: { ...card, exp_month: 11, exp_year: 2031 },
          },
        },
      })
    },
    handle({ method, path, query, body }) {
      const form = new URLSearchParams(body)
      const [, , resource, id, action] = path.split('/')
      switch (`${method} ${resource}`) {
        case 'POST customers': {
          const customer = newId('cus')
          customers.add(customer)
          return { body: { id: customer, object: 'customer', metadata: {} } }
        }
        case 'DELETE customers':
          if (!customers.delete(id ?? '')) return missing('customer')
          for (const [card, owner] of methods) if (owner === id) methods.delete(card)
          return { body: { id, object: 'customer', deleted: true } }
        case 'POST payment_methods':
          return methods.delete(id ?? '')
            ? { body: { id, object: 'payment_method' } }
            : missing('PaymentMethod')
        case 'POST checkout':
          return form.get('mode') === 'setup' ? { body: openSetup(form) } : null
        case 'GET checkout': {
          const session = setups.get(action ?? '')
          return session ? { body: session } : null
        }
        case 'POST payment_intents': {
          if (id === undefined) return charge(form)
          const intent = intents.get(id)
          if (!intent) return missing('payment_intent')
          return { body: Object.assign(intent, { status: 'canceled' }) }
        }
        case 'GET payment_intents': {
          if (id === undefined) return { body: listIntents(query) }
          const intent = intents.get(id)
          return intent ? { body: intent } : missing('payment_intent')
        }
        default:
          return null
      }
    },
  }
}

function errorOf(bank: BankAnswer): Record<string, string> | null {
  const type = 'card_error'
  switch (bank) {
    case 'succeeded':
    case 'processing':
      return null
    case 'declined':
      return { type, code: 'card_declined', decline_code: 'insufficient_funds', message: 'Declined.' }
    case 'authentication_required':
      return {
        type,
        code: 'authentication_required',
        decline_code: 'authentication_required',
        message: 'Confirm.',
      }
    case 'expired_card':
      return { type, code: 'expired_card', message: 'Expired.' }
    default:
      return bank satisfies never
  }
}
