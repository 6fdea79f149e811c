import type { PaymentFact } from '../core/billing/payment.ts'
import { picoUsd } from '../core/kernel/money.ts'
import { type PaymentRail, type RailNotice, railNotice } from './payment-rail.ts'

/**
 * A stand-in for a rail: every payment is paid the moment it is looked at, and no money moves. `refusal` says why
 * none may be opened now, if so: see developmentRailRefusal.
 */
export function createDevelopmentRail(refusal: () => string | null): PaymentRail {
  const notice = (paymentId: string, eventId: string, fact: PaymentFact): RailNotice =>
    railNotice('development', eventId, `development.${fact.kind}`, {
      paymentId,
      chargeId: `dev_charge_${paymentId}`,
      fact,
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
