import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createDevelopmentRail } from './development-rail.ts'
import type { PaymentRail, PaymentRails } from './payment-rail.ts'
import { createPaypalRail } from './paypal-rail.ts'
import { createStripeRail } from './stripe-rail.ts'

export type PaymentRailsConfig = Pick<
  Config,
  'stripe' | 'paypal' | 'paymentsDevelopmentRail' | 'publicUrl' | 'port'
>

/**
 * The rails that the configuration sets up; customers come back to `/billing` of the public address. The development
 * rail is left out, with a warning, where `developmentRefusal` has a reason.
 */
export async function createPaymentRails(
  config: PaymentRailsConfig,
  developmentRefusal: () => string | null,
  logger: Logger,
): Promise<PaymentRails> {
  const returnUrl = `${config.publicUrl ?? `http://localhost:${config.port}`}/billing`
  const rails: PaymentRail[] = []
  if (config.stripe) rails.push(await createStripeRail(config.stripe, returnUrl))
  if (config.paypal) rails.push(await createPaypalRail(config.paypal, returnUrl))
  if (config.paymentsDevelopmentRail) {
    const reason = developmentRefusal()
    if (reason === null) rails.push(createDevelopmentRail(developmentRefusal))
    else logger.warn({ reason }, 'the development rail is off: no top-ups by it')
  }
  return new Map(rails.map((rail) => [rail.name, rail]))
}
