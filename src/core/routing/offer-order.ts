import type { Sort } from '../calls/chat-request.ts'
import type { Offer } from '../catalog/catalog.ts'
import type { ProviderIds } from './provider-names.ts'

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

export interface OfferOrder {
  /** Providers to try first, in this order, whatever their health. */
  pinned: readonly ProviderIds[]
  sort: Sort | undefined
  /** False: nothing but the pinned ones, or the first choice where none is pinned. */
  allowFallbacks: boolean
}

/** How often a sort by measurement begins with an offer that is not measured, so that it gets measured. */
export const EXPLORED_SHARE = 0.05

/**
 * Puts the offers of one model that a request may use in the order in which to try them: by their priority in the
 * catalog, unless the request sorts them itself. Those that cannot be called right now come after those that can,
 * but stay: a breaker may close before the call gets there.
 * `random` is uniform in [0, 1).
 */
export function orderOffers(
  offers: readonly Offer[],
  { pinned, sort, allowFallbacks }: OfferOrder,
  stateOf: OfferStates,
  random: () => number,
): Offer[] {
  const known = offers.map((offer) => ({ offer, state: stateOf(offer.id), draw: random() }))
  const sorted = sortKnown(known, sort, random)
  const ranked = [
    ...sorted.filter(({ state }) => isHealthy(state)),
    ...sorted.filter(({ state }) => !isHealthy(state)),
  ].map(({ offer }) => offer)
  const first = pinned.flatMap((ids) => ranked.filter((offer) => ids.has(offer.provider.id)))
  if (allowFallbacks) return [...new Set([...first, ...ranked])]
  return pinned.length > 0 ? [...new Set(first)] : ranked.slice(0, 1)
}

interface KnownOffer {
  offer: Offer
  state: OfferState
  /** Uniform in [0, 1): decides between equals, so that no place in the catalog is favoured. */
  draw: number
}

function sortKnown(
  offers: readonly KnownOffer[],
  sort: Sort | undefined,
  random: () => number,
): KnownOffer[] {
  switch (sort) {
    case undefined:
      // An exponential variate with rate 1/price²: sorting by it draws without replacement by weight.
      return byPriority(byKey(offers, ({ offer, draw }) => -Math.log(1 - draw) * priceOf(offer) ** 2))
    case 'price':
      return byKey(offers, ({ offer }) => priceOf(offer))
    case 'throughput':
      return byMeasure(offers, ({ tokensPerSecond }) => negative(tokensPerSecond), random)
    case 'latency':
      return byMeasure(offers, ({ firstTokenMs }) => firstTokenMs, random)
    default:
      return sort satisfies never
  }
}

/** Stable: equal ones stay in the order they have. */
const byPriority = (offers: readonly KnownOffer[]): KnownOffer[] =>
  [...offers].sort((a, b) => a.offer.priority - b.offer.priority)

/** What an offer costs us, three prompt tokens to one completion token; never 0, so that it can be divided by. */
const priceOf = ({ cost }: Offer): number => Number(cost.prompt * 3n + cost.completion) + 1

const negative = (value: number | undefined): number | undefined => (value === undefined ? undefined : -value)

/**
 * Sorts by a measure, the least first. An offer without one counts as the median of those that have one, and
 * once in a while as the best: otherwise one that was never tried would never be. Equals go by price.
 */
function byMeasure(
  offers: readonly KnownOffer[],
  measureOf: (medians: OfferMedians) => number | undefined,
  random: () => number,
): KnownOffer[] {
  const cheapestFirst = byKey(offers, ({ offer }) => priceOf(offer)).map((known) => ({
    known,
    measure: measureOf(known.state.measures?.() ?? {}),
  }))
  const measured = cheapestFirst.flatMap(({ measure }) => measure ?? [])
  const isExploring = measured.length < offers.length && random() < EXPLORED_SHARE
  const unmeasured = isExploring || measured.length === 0 ? Number.NEGATIVE_INFINITY : median(measured)
  return cheapestFirst
    .sort((a, b) => compare(a.measure ?? unmeasured, b.measure ?? unmeasured))
    .map(({ known }) => known)
}

function byKey(offers: readonly KnownOffer[], keyOf: (known: KnownOffer) => number): KnownOffer[] {
  const keyed = offers.map((known) => ({ known, key: keyOf(known) }))
  return keyed.sort((a, b) => compare(a.key, b.key) || a.known.draw - b.known.draw).map(({ known }) => known)
}

/** Unlike a difference, right for infinities too. */
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0)

function median(values: readonly number[]): number {
  const sorted = [...values].sort(compare)
  return sorted[Math.floor((sorted.length - 1) / 2)]!
}
