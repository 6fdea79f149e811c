import type { Logger } from 'pino'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import { createBalanceStore } from '../billing/ledger/balance-store.ts'
import type { Config } from '../config.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { createAdvancePayment } from './advance-payment.ts'
import { createAutoTopUpStore } from './auto-top-up-store.ts'
import { createDevelopmentRail } from './development-rail.ts'
import { createInvoiceStore } from './invoices/invoice-store.ts'
import { createPaymentEventStore } from './payment-event-store.ts'
import type { PaymentRail, PaymentRails } from './payment-rail.ts'
import { createPaymentStore } from './payment-store.ts'
import { createPaypalRail } from './paypal-rail.ts'
import { createSavedCardService } from './saved-card-service.ts'
import { createStripeRail } from './stripe-rail.ts'
import { createTopUpService } from './top-up-service.ts'

/** Everything payments are made of in one process: of top-ups by a rail, saved cards and invoices. */
export type Payments = Awaited<ReturnType<typeof createPayments>>

export interface PaymentsDependencies {
  postgres: Postgres
  holds: HoldStore
  announceAccount: (accountId: string) => Promise<void>
  /** Why customers may not use the development rail now; absent: only an operator uses these top-ups. */
  developmentRefusal?: () => string | null
  logger: Logger
  clock: () => number
}

/** Composes payments for one process. */
export async function createPayments(
  config: PaymentRailsConfig & Pick<Config, 'invoices'>,
  deps: PaymentsDependencies,
) {
  const { postgres } = deps
  const payments = createPaymentStore(postgres)
  const events = createPaymentEventStore(postgres)
  const rails = await createPaymentRails(config, deps.developmentRefusal ?? (() => null), deps.logger)
  const advance = createAdvancePayment({ ...deps, invoices: config.invoices })
  const cards = createSavedCardService({ ...deps, rails })
  const topUps = createTopUpService({
    ...deps,
    ...{ payments, events, rails, advance, balances: createBalanceStore(postgres) },
    finishCardSetup: cards.finish,
  })
  const autoTopUps = createAutoTopUpStore(postgres, deps.clock)
  const invoices = createInvoiceStore(postgres)
  return { topUps, payments, events, rails, advance, cards, autoTopUps, invoices }
}

type PaymentRailsConfig = Pick<Config, 'stripe' | 'paypal' | 'paymentsDevelopmentRail' | 'publicUrl' | 'port'>

/**
 * The configured rails; customers return to `/billing` of the public URL. The development rail is omitted, with a
 * warning, if `developmentRefusal` returns a reason.
 */
export async function createPaymentRails(
  config: PaymentRailsConfig,
  developmentRefusal: () => string | null,
  logger: Logger,
): Promise<PaymentRails> {
  const returnUrl = `${config.publicUrl ?? `http://127.0.0.1:${config.port}`}/billing`
  const rails: PaymentRail[] = []
  if (config.stripe) rails.push(await createStripeRail(config.stripe, returnUrl))
  if (config.paypal) rails.push(createPaypalRail(config.paypal, returnUrl))
  if (config.paymentsDevelopmentRail) {
    const reason = developmentRefusal()
    if (reason === null) rails.push(createDevelopmentRail(developmentRefusal))
    else logger.warn({ reason }, 'development rail disabled')
  }
  return new Map(rails.map((rail) => [rail.name, rail]))
}
