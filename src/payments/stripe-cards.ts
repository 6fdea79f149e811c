import type Stripe from 'stripe'
import { picoUsd } from '../core/kernel/money.ts'
import { FAILURES_OF_THE_CARD } from '../core/payments/card-failure.ts'
import { toCents } from '../core/payments/top-up-amount.ts'
import { type CardRail, type RailCard, type RailNotice, railNotice } from './payment-rail.ts'
import type { Payment } from './payment-store.ts'
import { SAVED_CARD, stripeIntentNotice } from './stripe-notice.ts'

/** Stripe's permanent refusals: no such card, or no such customer. */
const GONE = new Set([400, 404])
/** Tolerated clock difference; a charge is never made before its payment is recorded. */
const SKEW_SECONDS = 300
const PAGE = 100

/**
 * Cards saved by Stripe Checkout in setup mode, and charged by payment intents with `off_session`. Source:
 * https://docs.stripe.com/payments/save-and-reuse and https://docs.stripe.com/payments/save-during-payment#charge-saved-payment-method
 */
export function createStripeCards(
  stripe: Stripe,
  errors: typeof Stripe.errors,
  returnUrl: string,
): CardRail & {
  /** Finds the charge of a payment, by its id or among the customer's; null: there is none. */
  find(payment: Payment): Promise<Stripe.PaymentIntent | null>
  cancel(intent: Stripe.PaymentIntent): Promise<Stripe.PaymentIntent>
} {
  const isGone = (error: unknown): boolean =>
    error instanceof errors.StripeInvalidRequestError && GONE.has(error.statusCode ?? 0)
  /** Whether the card, or its customer, was removed at Stripe. */
  const isMissingCard = (error: unknown): boolean =>
    error instanceof errors.StripeInvalidRequestError &&
    (error.code === 'resource_missing' || error.param === 'payment_method')
  const unlessGone = (error: unknown): void => {
    if (!isGone(error)) throw error
  }

  return {
    async createCustomer(accountId) {
      const customer = await stripe.customers.create(
        { metadata: { account_id: accountId } },
        { idempotencyKey: `customer-${accountId}` },
      )
      return customer.id
    },

    async openSetup(customer) {
      // Stripe inserts the id.
      const back = (outcome: string) => `${returnUrl}?card_setup={CHECKOUT_SESSION_ID}&outcome=${outcome}`
      const session = await stripe.checkout.sessions.create({
        mode: 'setup',
        customer,
        allowed_payment_method_types: ['card'],
        success_url: back('success'),
        cancel_url: back('cancelled'),
      })
      return { setupId: session.id, url: session.url }
    },

    async readSetup(setupId) {
      const session = await stripe.checkout.sessions.retrieve(setupId, {
        expand: ['setup_intent.payment_method'],
      })
      const { setup_intent: intent, customer } = session
      if (session.status !== 'complete' || typeof intent === 'string' || intent?.status !== 'succeeded')
        return null
      return readCard(intent.payment_method, typeof customer === 'string' ? customer : (customer?.id ?? null))
    },

    async charge(payment) {
      try {
        return stripeIntentNotice(
          await stripe.paymentIntents.create(chargeOf(payment), { idempotencyKey: payment.id }),
        )
      } catch (error) {
        // A decline is a 402 that contains the intent.
        if (error instanceof errors.StripeCardError && error.payment_intent)
          return stripeIntentNotice(error.payment_intent)
        if (isMissingCard(error)) return missingCard(payment)
        throw error
      }
    },

    async removeCard(methodId) {
      await stripe.paymentMethods.detach(methodId).catch(unlessGone)
    },

    async removeCustomer(customerId) {
      await stripe.customers.del(customerId).catch(unlessGone)
    },

    async find({ id, chargeId, customerId, createdAt }) {
      if (chargeId !== null) return stripe.paymentIntents.retrieve(chargeId)
      if (customerId === null) return null
      const gte = Math.floor(createdAt.getTime() / 1000) - SKEW_SECONDS
      const intents = stripe.paymentIntents.list({ customer: customerId, created: { gte }, limit: PAGE })
      for await (const intent of intents) if (intent.metadata.payment_id === id) return intent
      return null
    },

    cancel: (intent) => stripe.paymentIntents.cancel(intent.id),
  }
}

function chargeOf({ id, amountPico, customerId, methodId }: Payment): Stripe.PaymentIntentCreateParams {
  if (customerId === null || methodId === null) throw new TypeError(`payment ${id} charges no saved card`)
  return {
    amount: toCents(picoUsd(amountPico)),
    currency: 'usd',
    customer: customerId,
    payment_method: methodId,
    // A card needs no page to return to.
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    off_session: true,
    confirm: true,
    description: 'Automatic balance top-up',
    metadata: { payment_id: id, purpose: SAVED_CARD },
  }
}

/** Throws TypeError unless it is a card; a page for cards saves nothing else. */
function readCard(method: Stripe.PaymentMethod | string | null, customerId: string | null): RailCard {
  if (method === null || typeof method === 'string' || !method.card || customerId === null)
    throw new TypeError('the page saved a payment method that is not a card')
  const { brand, last4, exp_month: expMonth, exp_year: expYear } = method.card
  return { customerId, methodId: method.id, brand, last4, expMonth, expYear }
}

const missingCard = ({ id }: Payment): RailNotice =>
  railNotice('stripe', `missing-card:${id}`, 'payment_intent', {
    paymentId: id,
    fact: { kind: 'failed', reason: FAILURES_OF_THE_CARD.missing_card },
  })
