import type { WithdrawnOffer, WithheldReason } from '../catalog/catalog.ts'
import type { Percentiles } from '../routing/measures.ts'
import type { OfferState } from '../routing/offer-state.ts'

/**
 * The JSON of offers and providers under /admin/api, as types for the routes and the pages; conventions as in
 * src/core/api/operator-api.ts.
 */

/** GET /admin/api/offers?model&provider: `OperatorList<OfferView>`, by model, then provider. */
export interface OfferView {
  /** `<provider>/<upstream model>`; goes into paths percent-encoded. */
  id: string
  model: string
  provider: string
  upstream_model: string
  /** Calls of every client may use it. False: only clients with a key of their own there. */
  shared: boolean
  /** Why it is not shared: `disabled` by an operator, or `unlisted` by its provider, not even with a key of one's own. */
  withheld: WithheldReason | WithdrawnOffer['reason'] | null
  /** Lower is asked first. */
  priority: number
  health: OfferHealthView
  last_minute: CallCounts
  last_ten_minutes: CallCounts
  /** Recent calls weigh more: the weight halves every five minutes. Null while nothing is known. */
  first_token_ms: Percentiles | null
  tokens_per_second: Percentiles | null
  /** USD per million tokens: what we pay, what clients pay, and what is left; negative where we lose. */
  cost: PriceView
  rate: PriceView
  margin: PriceView
}

export interface OfferHealthView {
  state: OfferState['health']
  breaker: 'closed' | 'open' | 'half-open'
  /** Whose breaker it is. A provider that refuses our key takes all its offers down. */
  level: 'offer' | 'provider' | null
  reason: 'failing' | 'refused' | 'underestimated' | null
  /** When an open breaker lets a probe through. */
  until: string | null
  rate_limited_until: string | null
}

export interface CallCounts {
  success: number
  failure: number
  rate_limited: number
  /** Of successes and failures, 0 to 1; null where there were none. */
  success_share: number | null
}

export interface PriceView {
  prompt: string
  completion: string
}

/** GET /admin/api/providers: `OperatorList<ProviderView>`. */
export interface ProviderView {
  id: string
  name: string
  wire: string
  zdr: boolean
  data_collection: 'allow' | 'deny'
  offers: number
  shared_offers: number
  /** How many offers are in each state. */
  health: Record<OfferState['health'], number>
  /** Its own breaker, which our key opens. */
  breaker: Pick<OfferHealthView, 'breaker' | 'reason' | 'until'>
  last_minute: CallCounts
  last_ten_minutes: CallCounts
}

/** POST /admin/api/offers/:id/enable and /admin/api/providers/:id/enable. */
export interface EnabledView {
  object: 'enabled'
  id: string
  /** The offers and providers whose breaker was closed by it; none where all were. */
  closed: string[]
}
