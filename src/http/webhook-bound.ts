import { LRUCache } from 'lru-cache'
import { ApiError } from '../core/kernel/errors.ts'
import { DAY_MS } from '../core/kernel/time.ts'
import { clientNetworks } from '../platform/network/client-networks.ts'

/** What a webhook turned out to be; null: it could not be told. */
export type WebhookVerdict = 'genuine' | 'forged' | null

/** Checks at once, of networks that sent a genuine webhook lately and of all others: places of their own each. */
const AT_ONCE_MAX = 20
/** Forgeries a minute of one network; further webhooks of it are not checked. */
const FORGERIES_MAX = 20
const MINUTE_MS = 60_000
const KNOWN_FOR_MS = 7 * DAY_MS
const NETWORKS_MAX = 10_000

/**
 * Bounds webhooks of one rail whose signature is checked by asking that rail, so that forgeries cannot shut out real
 * ones.
 */
export function createWebhookBound() {
  const forgeries = new LRUCache<string, number>({ max: NETWORKS_MAX, ttl: MINUTE_MS, noUpdateTTL: true })
  const known = new LRUCache<string, true>({ max: NETWORKS_MAX, ttl: KNOWN_FOR_MS })
  const places = { known: 0, others: 0 }
  return {
    /** Takes a place; the returned function gives it back with the verdict. Throws 429 when there is none. */
    enter(networkAddress: string): (verdict: WebhookVerdict) => void {
      const { subnet } = clientNetworks(networkAddress)
      const group = known.has(subnet) ? 'known' : 'others'
      if (places[group] >= AT_ONCE_MAX || (forgeries.get(subnet) ?? 0) >= FORGERIES_MAX) {
        // A rail that is refused sends again later, and lost news is asked for.
        throw new ApiError('rate_limit_exceeded', 'Too many webhooks at once. Send it again later.', {
          retryAfterSeconds: 10,
        })
      }
      places[group] += 1
      return (verdict) => {
        places[group] -= 1
        if (verdict === 'genuine') known.set(subnet, true)
        if (verdict === 'forged') forgeries.set(subnet, (forgeries.get(subnet) ?? 0) + 1)
      }
    },
  }
}
