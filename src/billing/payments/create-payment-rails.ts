import type { Config } from '../../config.ts'
import { createDevelopmentRail } from './development-rail.ts'
import type { PaymentRail, PaymentRails } from './payment-rail.ts'
import { createPaypalRail } from './paypal-rail.ts'
import { createStripeRail } from './stripe-rail.ts'

export type PaymentRailsConfig = Pick<
  Config,
  'stripe' | 'paypal' | 'paymentsDevelopmentRail' | 'publicUrl' | 'port'
>

/** The rails that the configuration sets up; customers come back to `/billing` of the public address. */
export async function createPaymentRails(config: PaymentRailsConfig): Promise<PaymentRails> {
  const returnUrl = `${config.publicUrl ?? `http://localhost:${config.port}`}/billing`
  const rails: PaymentRail[] = []
  if (config.stripe) rails.push(await createStripeRail(config.stripe, returnUrl))
  if (config.paypal) rails.push(await createPaypalRail(config.paypal, returnUrl))
  if (config.paymentsDevelopmentRail) rails.push(createDevelopmentRail())
  return new Map(rails.map((rail) => [rail.name, rail]))
}
