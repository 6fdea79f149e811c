import { newId } from '../core/kernel/ids.ts'
import { picoUsd } from '../core/kernel/money.ts'
import type { PaymentFact } from '../core/payments/payment.ts'
import { type CardRail, type PaymentRail, type RailNotice, railNotice } from './payment-rail.ts'
import type { Payment } from './payment-store.ts'

/** The last digits of Stripe's test card. */
const SIMULATED_CARD = { brand: 'visa', last4: '4242', expMonth: 12, expYear: 2040 }

/**
 * A simulated rail: every payment is paid when it is first checked, and no money moves. `refusal` returns why none may
 * be opened now: see developmentRailRefusal.
 */
export function createDevelopmentRail(refusal: () => string | null): PaymentRail {
  const notice = (paymentId: string, eventId: string, fact: PaymentFact): RailNotice =>
    railNotice('development', eventId, `development.${fact.kind}`, {
      paymentId,
      chargeId: `dev_charge_${paymentId}`,
      fact,
    })
  const settled = ({ id, amountPico }: Payment) =>
    notice(id, `settled:${id}`, { kind: 'settled', amountPico: picoUsd(amountPico) })
  const cards: CardRail = {
    createCustomer: async (accountId) => `dev_customer_${accountId}`,
    openSetup: async (customerId) => ({ setupId: `dev_setup_${newId('card')}_${customerId}`, url: null }),
    readSetup: async (setupId) => ({
      customerId: setupId.slice(setupId.indexOf('dev_customer_')),
      methodId: setupId.replace('dev_setup_', 'dev_card_'),
      ...SIMULATED_CARD,
    }),
    async charge(payment) {
      const reason = refusal()
      if (reason !== null) throw new Error(reason)
      return settled(payment)
    },
    removeCard: async () => undefined,
    removeCustomer: async () => undefined,
  }
  return {
    name: 'development',
    asksToVerify: false,
    cards,
    async openCheckout({ id }) {
      const reason = refusal()
      if (reason !== null) throw new Error(reason)
      return { checkoutId: `dev_checkout_${id}`, checkoutUrl: null }
    },
    readWebhook: async () => ({ kind: 'forged', reason: 'the development rail sends nothing' }),
    listRefunds: nothing,
    listPayments: null,
    listDisputes: nothing,
    lookUp: async (payment) => [settled(payment)],
    abandon: async ({ id }) => [notice(id, `expired:${id}`, { kind: 'expired' })],
    async refund({ id }, amountPico, key) {
      const refundId = `dev_refund_${key}`
      return notice(id, refundId, {
        kind: 'refund',
        refundId,
        amountPico: picoUsd(amountPico),
        failed: false,
      })
    },
  }
}

async function* nothing(): AsyncGenerator<RailNotice> {
  // This rail has no refunds besides our own.
}
