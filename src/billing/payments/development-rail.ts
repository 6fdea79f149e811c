import { picoUsd } from '../../core/money.ts'
import type { PaymentFact } from '../../core/payment.ts'
import type { PaymentRail, RailNotice } from './payment-rail.ts'

/** A stand-in for a rail: every payment is paid the moment it is looked at, and no money moves. */
export function createDevelopmentRail(): PaymentRail {
  const notice = (paymentId: string, eventId: string, fact: PaymentFact): RailNotice => ({
    rail: 'development',
    eventId,
    type: `development.${fact.kind}`,
    paymentId,
    reference: null,
    chargeId: `dev_charge_${paymentId}`,
    fact,
    refusal: null,
    ask: false,
  })
  return {
    name: 'development',
    openCheckout: async ({ id }) => ({ checkoutId: `dev_checkout_${id}`, checkoutUrl: null }),
    readWebhook: async () => ({ kind: 'forged', reason: 'the development rail sends nothing' }),
    lookUp: async ({ id, amountPico }) => [
      notice(id, `settled:${id}`, { kind: 'settled', amountPico: picoUsd(amountPico) }),
    ],
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
