import type { Redis } from '../platform/redis/redis.ts'
import { enableOffer, enableProvider } from '../routing/circuit-breaker/enable-offers.ts'
import type { Operator, RunAudited } from './audit-log.ts'

/** Closes breakers by hand, recorded in the audit log. Returns the offers and providers whose breaker was open. */
export interface OfferManagement {
  enableOffer(operator: Operator, offerId: string): Promise<string[]>
  enableProvider(operator: Operator, providerId: string): Promise<string[]>
}

export const createOfferManagement = (redis: Redis, auditedAction: RunAudited): OfferManagement => ({
  enableOffer: (operator, target) =>
    auditedAction(operator, { action: 'offer.enable', target, details: {} }, () =>
      enableOffer(redis, target),
    ),
  enableProvider: (operator, target) =>
    auditedAction(operator, { action: 'provider.enable', target, details: {} }, () =>
      enableProvider(redis, target),
    ),
})
