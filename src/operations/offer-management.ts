import type { Redis } from '../platform/redis/redis.ts'
import { enableOffer, enableProvider } from '../routing/circuit-breaker/health-store.ts'
import type { Operator, RunAudited } from './audit-log.ts'

/** Closes breakers by hand, recorded in the audit log. Returns the offers and providers whose breaker was open. */
export const createOfferManagement = (redis: Redis, auditedAction: RunAudited) => ({
  enableOffer: (operator: Operator, target: string): Promise<string[]> =>
    auditedAction(operator, { action: 'offer.enable', target, details: {} }, () =>
      enableOffer(redis, target),
    ),
  enableProvider: (operator: Operator, target: string): Promise<string[]> =>
    auditedAction(operator, { action: 'provider.enable', target, details: {} }, () =>
      enableProvider(redis, target),
    ),
})
