import type { PaymentRailName } from '../core/billing/payment-movements.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import type { Payment } from '../payments/payment-store.ts'

/** The ways to pay as customers name them, by the rail behind. */
const METHODS: Record<PaymentRailName, string> = {
  stripe: 'card',
  paypal: 'paypal',
  development: 'development',
}

/** How a rail is called on the wire. */
export const railMethod = (rail: PaymentRailName): string => METHODS[rail]

/** The rail that a customer means; null for what is none. */
export function railOfMethod(method: unknown): PaymentRailName | null {
  const found = Object.entries(METHODS).find(([, name]) => name === method)
  return found ? (found[0] as PaymentRailName) : null
}

/** A top-up as its account sees it. Amounts are decimal strings of USD. */
export function paymentView(payment: Payment) {
  const isPayable = payment.state === 'pending'
  return {
    payment_id: payment.id,
    rail: railMethod(payment.rail),
    /** True where no money moves. */
    test: payment.rail === 'development',
    state: payment.state,
    amount_usd: usd(payment.amountPico),
    refunded_usd: usd(payment.returnedPico),
    disputed_usd: usd(payment.disputedPico),
    checkout_url: isPayable ? payment.checkoutUrl : null,
    failure_reason: payment.failureReason,
    created_at: payment.createdAt.toISOString(),
    settled_at: payment.settledAt?.toISOString() ?? null,
  }
}

const usd = (amountPico: bigint): string => formatUsd(picoUsd(amountPico))
