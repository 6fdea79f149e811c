import type Stripe from 'stripe'
import { picoUsd } from '../core/kernel/money.ts'
import type { StripeSettings } from '../core/payments/payment-settings.ts'
import { toCents } from '../core/payments/top-up-amount.ts'
import { type PaymentRail, type RailNotice, RefundRefused, type TimeSpan } from './payment-rail.ts'
import type { Payment } from './payment-store.ts'
import { createStripeCards } from './stripe-cards.ts'
import {
  stripeDisputeNotice,
  stripeEventNotice,
  stripeIncomeNotice,
  stripeIntentNotice,
  stripeRefundNotice,
  stripeSessionNotice,
} from './stripe-notice.ts'

const TIMEOUT_MS = 10_000
const RETRIES = 2
/** Stripe's maximum page size. */
const PAGE = 100
/** Statuses that Stripe stores for a day and returns again for the same idempotency key. */
const REFUSALS = new Set([400, 402, 404])
/** Maximum age of a webhook's signature; Stripe signs each redelivery again. */
const SIGNATURE_AGE_MAX_SECONDS = 300

/** States of a charge of a saved card that could still succeed. */
const CANCELABLE = new Set<Stripe.PaymentIntent.Status>([
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
])

/**
 * Card payments by Stripe Checkout, and charges of saved cards. The library is loaded here, so that only a gateway with
 * a key loads it.
 */
export async function createStripeRail(
  { apiBase, secretKey, webhookSecret }: StripeSettings,
  returnUrl: string,
): Promise<PaymentRail> {
  const { default: StripeClient } = await import('stripe')
  const base = new URL(apiBase)
  const stripe = new StripeClient(secretKey, {
    host: base.hostname,
    ...(base.port && { port: base.port }),
    protocol: base.protocol === 'http:' ? 'http' : 'https',
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  })

  const cards = createStripeCards(stripe, StripeClient.errors, returnUrl)
  const isCharge = ({ methodId }: Payment) => methodId !== null

  return {
    name: 'stripe',
    asksToVerify: false,
    cards,

    async openCheckout(payment) {
      const session = await stripe.checkout.sessions.create(checkoutOf(payment, returnUrl), {
        idempotencyKey: payment.id,
      })
      return { checkoutId: session.id, checkoutUrl: session.url }
    },

    async readWebhook(body, headers) {
      const signature = headers['stripe-signature']
      if (typeof signature !== 'string') return { kind: 'forged', reason: 'no signature' }
      if (signedAtSeconds(signature) > Date.now() / 1000 + SIGNATURE_AGE_MAX_SECONDS)
        return { kind: 'forged', reason: 'the signature is from the future' }
      let event: Stripe.Event
      try {
        event = stripe.webhooks.constructEvent(body, signature, webhookSecret, SIGNATURE_AGE_MAX_SECONDS)
      } catch (error) {
        if (error instanceof StripeClient.errors.StripeSignatureVerificationError)
          return { kind: 'forged', reason: 'the signature does not match, or is too old' }
        if (error instanceof SyntaxError) return { kind: 'forged', reason: 'not JSON' }
        throw error
      }
      return { kind: 'genuine', notice: stripeEventNotice(event) }
    },

    async lookUp(payment) {
      if (isCharge(payment)) return noticesOfIntent(await cards.find(payment))
      const { checkoutId } = payment
      if (checkoutId === null) return []
      return noticesOf(await stripe.checkout.sessions.retrieve(checkoutId))
    },

    async abandon(payment) {
      if (isCharge(payment)) {
        const intent = await cards.find(payment)
        return noticesOfIntent(intent && CANCELABLE.has(intent.status) ? await cards.cancel(intent) : intent)
      }
      const { checkoutId } = payment
      if (checkoutId === null) return []
      // Only an open session can be closed; otherwise its state is reported.
      const session = await stripe.checkout.sessions.retrieve(checkoutId)
      return noticesOf(
        session.status === 'open' ? await stripe.checkout.sessions.expire(checkoutId) : session,
      )
    },

    async refund({ id, chargeId }, amountPico, key) {
      if (chargeId === null) throw new Error(`payment ${id} has no charge to refund`)
      const refund = await stripe.refunds
        .create(
          { payment_intent: chargeId, amount: toCents(picoUsd(amountPico)), metadata: { payment_id: id } },
          { idempotencyKey: key },
        )
        .catch((error: unknown) => {
          const isFinal =
            error instanceof StripeClient.errors.StripeError && REFUSALS.has(error.statusCode ?? 0)
          throw isFinal ? new RefundRefused(error.message, { cause: error }) : error
        })
      const notice = stripeRefundNotice(refund)
      return { ...notice, paymentId: id }
    },

    async *listRefunds(spans) {
      for (const span of spans) {
        const refunds = stripe.refunds.list({ created: createdIn(span), limit: PAGE })
        for await (const refund of refunds) yield stripeRefundNotice(refund)
      }
    },

    async *listPayments(span) {
      const intents = stripe.paymentIntents.list({ created: createdIn(span), limit: PAGE })
      for await (const intent of intents) if (intent.status === 'succeeded') yield stripeIncomeNotice(intent)
    },

    async *listDisputes(spans) {
      for (const span of spans) {
        const disputes = stripe.disputes.list({ created: createdIn(span), limit: PAGE })
        for await (const dispute of disputes) yield stripeDisputeNotice(dispute, Date.now())
      }
    },
  }
}

const createdIn = ({ fromMs, toMs }: TimeSpan) => ({
  gte: Math.floor(fromMs / 1000),
  lt: Math.ceil(toMs / 1000),
})

const noticesOfIntent = (intent: Stripe.PaymentIntent | null): RailNotice[] =>
  intent ? [stripeIntentNotice(intent)] : []

function noticesOf(session: Stripe.Checkout.Session): RailNotice[] {
  const notice = stripeSessionNotice(session)
  return notice.fact === null && notice.refusal === null ? [] : [notice]
}

function checkoutOf({ id, amountPico }: Payment, returnUrl: string): Stripe.Checkout.SessionCreateParams {
  const metadata = { payment_id: id }
  const back = (outcome: string) => `${returnUrl}?${new URLSearchParams({ payment_id: id, outcome })}`
  return {
    mode: 'payment',
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: 'usd',
          unit_amount: toCents(picoUsd(amountPico)),
          product_data: { name: 'Balance top-up' },
        },
      },
    ],
    client_reference_id: id,
    metadata,
    // Charges and refunds inherit it, so that their events find the payment whatever arrives first.
    payment_intent_data: { metadata },
    success_url: back('success'),
    cancel_url: back('cancelled'),
  }
}

/** The time in a `Stripe-Signature`, because the library checks only its age. Unreadable: 0, which the library rejects. */
const signedAtSeconds = (signature: string): number => Number(/(?:^|,)t=(\d+)/.exec(signature)?.[1] ?? 0)
