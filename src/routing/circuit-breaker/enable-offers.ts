import { isOfOffer, providerOfOffer } from '../../core/failover/breaker.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import {
  HEALTH_BREAKERS,
  HEALTH_CHANNEL,
  healthProbe,
  healthRefusals,
  healthWindow,
} from '../../platform/redis/redis-keys.ts'

/** Closes the breaker of an offer and that of its provider. Returns whose were open. Rejects when Redis does. */
export function enableOffer(redis: Redis, offerId: string): Promise<string[]> {
  return closeBreakers(
    redis,
    (subject) => isOfOffer(subject, offerId) || subject === providerOfOffer(offerId),
  )
}

/** Closes the breakers of a provider and all its offers: an operator mended its key. Returns whose were open. */
export function enableProvider(redis: Redis, providerId: string): Promise<string[]> {
  return closeBreakers(redis, (subject) => providerOfOffer(subject) === providerId)
}

async function closeBreakers(redis: Redis, isMeant: (subject: string) => boolean): Promise<string[]> {
  const open = (await redis.hkeys(HEALTH_BREAKERS)).filter(isMeant)
  if (open.length === 0) return []
  const closing = redis.multi().hdel(HEALTH_BREAKERS, ...open)
  for (const subject of open) {
    // With the probe gone, what a probe under way finds has no say any more.
    closing.del(healthWindow(subject), healthProbe(subject), healthRefusals(providerOfOffer(subject)))
    closing.publish(HEALTH_CHANNEL, JSON.stringify(['breaker', subject, '']))
  }
  await closing.exec()
  return open
}
