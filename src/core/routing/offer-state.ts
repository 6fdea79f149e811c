/** What the fleet knows of one offer when a call is planned. */
export interface OfferState {
  /** `probe`: its breaker is half-open, and the next call may try it. */
  health: 'ready' | 'probe' | 'rate-limited' | 'down'
  /** Whether it is to get no prompts of these kinds of content; absent: it gets all. See `contentKindsOf`. */
  excludes?: (kinds: string) => boolean
  /** What calls measured, summed up when it is asked for; absent: nothing. */
  measures?: () => OfferMedians
}

/** Undefined while it is not measured. */
export interface OfferMedians {
  /** Time to the first token, ms. */
  firstTokenMs?: number | undefined
  /** Completion tokens a second. */
  tokensPerSecond?: number | undefined
}

/** Looks the state of an offer up by its id. Costs next to nothing: it is asked for every offer of a plan. */
export type OfferStates = (offerId: string) => OfferState

/** An offer that nothing is known of is taken for healthy. */
export const UNKNOWN_OFFER_STATE: OfferState = Object.freeze({ health: 'ready' })

/** Whether a call may be sent to the offer right now. */
export const isHealthy = ({ health }: OfferState): boolean => health === 'ready' || health === 'probe'
