import { type OfferStates, UNKNOWN_OFFER_STATE } from '../core/routing/offer-order.ts'
import type { OfferHealth } from './circuit-breaker/offer-health.ts'
import type { OfferMeasures } from './offer-measures.ts'

/** What the plans of an account need to know of offers, from what this process follows. */
export const createOfferStates =
  (
    health: Pick<OfferHealth, 'health' | 'excludes'>,
    measures: Pick<OfferMeasures, 'stats'>,
  ): ((accountId: string) => OfferStates) =>
  (accountId) =>
  (offerId) => {
    const { kind } = health.health(offerId, accountId)
    return {
      // Of what is gone from the catalog a plan does not ask.
      health: kind === 'gone' ? UNKNOWN_OFFER_STATE.health : kind,
      excludes: (kinds) => health.excludes(offerId, kinds),
      measures() {
        const { firstTokenMs, tokensPerSecond } = measures.stats(offerId)
        return { firstTokenMs: firstTokenMs?.p50, tokensPerSecond: tokensPerSecond?.p50 }
      },
    }
  }
