import type { PaymentFact } from '../core/billing/payment.ts'
import { picoUsd } from '../core/kernel/money.ts'
import type { PaymentRail, RailNotice } from './payment-rail.ts'

/**
 * A stand-in for a rail: every payment is paid the moment it is looked at, and no money moves. `refusal` says why
 * none may be opened now, if so: see developmentRailRefusal.
 */
export function createDevelopmentRail(refusal: () => string | null): PaymentRail {
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
    asksToVerify: false,
    async openCheckout({ id }) {
      const reason = refusal()
      if (reason !== null) throw new Error(reason)
      return { checkoutId: `dev_checkout_${id}`, checkoutUrl: null }
    },
    readWebhook: async () => ({ kind: 'forged', reason: 'the development rail sends nothing' }),
    listRefunds: nothing,
    listDisputes: nothing,
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

async function* nothing(): AsyncGenerator<RailNotice> {
  // All that goes back here is asked for here.
}
