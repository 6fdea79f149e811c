import { BREAKER_ALARMS } from '../core/failover/circuit-breaker.ts'
import { enableOffer, enableProvider } from '../offer-health/circuit-breaker/breaker-store.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Redis } from '../platform/redis/redis.ts'
import type { Operator, RunAudited } from './audit-log.ts'

export type OfferManagement = ReturnType<typeof createOfferManagement>

/** Closes breakers for operators, recorded in the audit log. Returns the offers and providers whose breaker was open. */
export function createOfferManagement(redis: Redis, auditedAction: RunAudited, logger: Logger) {
  const closed = (subjects: string[]): string[] => {
    for (const subject of subjects)
      logger.info({ subject, alarmsOver: BREAKER_ALARMS }, 'breaker closed by an operator')
    return subjects
  }
  return {
    enableOffer: (operator: Operator, target: string): Promise<string[]> =>
      auditedAction(operator, { action: 'offer.enable', target, details: {} }, async () =>
        closed(await enableOffer(redis, target)),
      ),
    enableProvider: (operator: Operator, target: string): Promise<string[]> =>
      auditedAction(operator, { action: 'provider.enable', target, details: {} }, async () =>
        closed(await enableProvider(redis, target)),
      ),
  }
}
