import type { Logger } from 'pino'
import type { HoldStore } from '../billing/holds/hold-store.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { type AdvancePayment, createAdvancePayment } from './advance-payment.ts'
import { createPaymentRails, type PaymentRailsConfig } from './create-payment-rails.ts'
import { createPaymentEventStore, type PaymentEventStore } from './payment-event-store.ts'
import type { PaymentRails } from './payment-rail.ts'
import { createPaymentStore, type PaymentStore } from './payment-store.ts'
import { createTopUpService, type TopUpService } from './top-up-service.ts'

export interface TopUps {
  service: TopUpService
  payments: PaymentStore
  events: PaymentEventStore
  rails: PaymentRails
  advance: AdvancePayment
}

export interface TopUpsDependencies {
  postgres: Postgres
  gate: HoldStore
  announceAccount: (accountId: string) => Promise<void>
  /** Why customers may not use the development rail now; absent: only an operator reaches these top-ups. */
  developmentRefusal?: () => string | null
  logger: Logger
  clock: () => number
}

/** Everything top-ups need, composed for one process. */
export async function createTopUps(config: PaymentRailsConfig, deps: TopUpsDependencies): Promise<TopUps> {
  const { postgres } = deps
  const payments = createPaymentStore(postgres)
  const events = createPaymentEventStore(postgres)
  const rails = await createPaymentRails(config, deps.developmentRefusal ?? (() => null), deps.logger)
  const advance = createAdvancePayment(deps)
  const service = createTopUpService({ ...deps, payments, events, rails, advance })
  return { service, payments, events, rails, advance }
}
