import type {
  CallCounts,
  MovingOffer,
  MovingProvider,
  OfferView,
  ProviderView,
} from '../../src/core/api/offers.ts'

const NONE: CallCounts = { success: 0, failure: 0, rate_limited: 0, success_share: null }

/** An offer that works and that no call has tried lately; what was measured of it stays. */
const RESTING = {
  health: {
    state: 'ready',
    breaker: 'closed',
    level: null,
    reason: null,
    until: null,
    rate_limited_until: null,
  },
  last_minute: NONE,
  last_ten_minutes: NONE,
} satisfies Partial<OfferView>

/** Offers with the figures that move; those that are not among the moving ones are at rest. */
export function offersAt(offers: readonly OfferView[], moving: readonly MovingOffer[]): OfferView[] {
  const byId = new Map(moving.map((figures) => [figures.id, figures]))
  return offers.map((offer) => ({ ...offer, ...(byId.get(offer.id) ?? RESTING) }))
}

/** Providers, likewise. */
export function providersAt(
  providers: readonly ProviderView[],
  moving: readonly MovingProvider[],
): ProviderView[] {
  const byId = new Map(moving.map((figures) => [figures.id, figures]))
  return providers.map((provider) => ({
    ...provider,
    ...(byId.get(provider.id) ?? {
      health: { ready: provider.offers, probe: 0, 'rate-limited': 0, down: 0 },
      breaker: { breaker: 'closed' as const, reason: null, until: null },
      last_minute: NONE,
      last_ten_minutes: NONE,
    }),
  }))
}
