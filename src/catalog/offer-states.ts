import { type OfferStates, UNKNOWN_OFFER_STATE } from '../core/offer-state.ts'
import type { OfferHealth } from './offer-health.ts'
import type { OfferMeasures } from './offer-measures.ts'

/** What plans need to know of offers, from what this process follows. */
export const createOfferStates =
  (health: Pick<OfferHealth, 'health'>, measures: Pick<OfferMeasures, 'figures'>): OfferStates =>
  (offerId) => {
    const { kind } = health.health(offerId)
    return {
      // Of what is gone from the catalog a plan does not ask.
      health: kind === 'gone' ? UNKNOWN_OFFER_STATE.health : kind,
      measures() {
        const { firstTokenMs, tokensPerSecond } = measures.figures(offerId)
        return { firstTokenMs: firstTokenMs?.p50, tokensPerSecond: tokensPerSecond?.p50 }
      },
    }
  }
