import type { Privacy } from '../calls/call-job.ts'
import type { CallNeeds } from '../calls/kinds/call-kind.ts'
import type { ProviderPreferences, Sort } from '../calls/provider-preferences.ts'
import type {
  CatalogSnapshot,
  Model,
  Offer,
  PricedMedia,
  Provider,
  TokenRates,
  Wire,
} from '../catalog/catalog.ts'
import { dearestPromptRate, mediaRate, withoutCache } from '../catalog/token-rates.ts'
import { oncePer } from '../kernel/once-per.ts'
import type { AllowList } from './allow-list.ts'
import { supportsParameter } from './supported-parameters.ts'

/** What a request's `provider` preferences make of the offers of a model: which of them it may use, and in which order. */

/** The ids of providers. */
export type ProviderIds = ReadonlySet<string>

/** The preferences of a request that exclude offers, with the names of providers looked up. */
export interface OfferFilter extends Privacy {
  /** Undefined: every provider. */
  only: ProviderIds | undefined
  /** Those that the client's key may use; undefined: every provider. */
  permitted: ProviderIds | undefined
  ignore: ProviderIds
  /** Parameters that a model has to support; none unless the request demands it. */
  parameters: readonly string[]
  maxPrice: ProviderPreferences['maxPrice']
  /** The wire that providers have to speak; undefined: any. */
  wire: Wire | undefined
  /** What of the prompt may have a price of its own. */
  media: readonly PricedMedia[]
  /** Whether tokens of the prompt cache are charged at their own rates. */
  pricesCache: boolean
}

/** Reads the filter off a request's preferences. Names that nobody has choose nobody, and exclude nobody. */
export function offerFilter(
  preferences: ProviderPreferences,
  { parameters, wire, modalities, pricesCache }: CallNeeds,
  catalog: CatalogSnapshot,
  allowList?: Pick<AllowList, 'providers'>,
): OfferFilter {
  const { only } = preferences
  return {
    only: only && new Set(only.flatMap((name) => [...providersChosenBy(name, catalog)])),
    permitted: allowList?.providers,
    ignore: providersExcludedBy(preferences.ignore, catalog),
    zdr: preferences.zdr,
    denyDataCollection: preferences.dataCollection === 'deny',
    parameters: preferences.requireParameters ? parameters : [],
    maxPrice: preferences.maxPrice,
    wire,
    media: pricedMediaIn(modalities),
    pricesCache,
  }
}

/** What of the input may have a price of its own: a video has sound and pictures, a document may have pictures. */
function pricedMediaIn(modalities: readonly string[]): PricedMedia[] {
  const among = (...names: string[]) => names.some((name) => modalities.includes(name))
  return [
    ...(among('audio', 'video') ? (['audio'] as const) : []),
    ...(among('image', 'video', 'file') ? (['image'] as const) : []),
  ]
}

/** Whether a provider keeps to what a client demands of whoever sees its prompt. */
export const keepsPrivate = (
  { zdr, dataCollection }: Pick<Provider, 'zdr' | 'dataCollection'>,
  privacy: Privacy,
): boolean => (!privacy.zdr || zdr) && (!privacy.denyDataCollection || dataCollection === 'deny')

/** Whether a provider speaks the wire that a request demands, if it demands one. */
export const speaks = (provider: Pick<Provider, 'wire'>, { wire }: Pick<OfferFilter, 'wire'>): boolean =>
  wire === undefined || provider.wire === wire

/**
 * Whether a request may use an offer of a model. Fails closed: what is not known to meet a preference does not
 * meet it. Prices are compared with the listed rate, which is the same at every offer of a model, whoever bills.
 */
export function isAllowed(offer: Offer, model: Model, filter: OfferFilter, exactTools: boolean): boolean {
  const { provider } = offer
  return (
    (filter.only === undefined || filter.only.has(provider.id)) &&
    (filter.permitted === undefined || filter.permitted.has(provider.id)) &&
    !filter.ignore.has(provider.id) &&
    speaks(provider, filter) &&
    keepsPrivate(provider, filter) &&
    (!exactTools || offer.exactTools) &&
    filter.parameters.every((name) => supportsParameter(offer, model, name)) &&
    isPromptWithin(filter, filter.pricesCache ? model.rate : withoutCache(model.rate)) &&
    (filter.maxPrice.completion === undefined || model.rate.completion <= filter.maxPrice.completion)
  )
}

function isPromptWithin({ maxPrice: { prompt: most }, media }: OfferFilter, rate: TokenRates): boolean {
  return (
    most === undefined ||
    [dearestPromptRate(rate), ...media.map((each) => mediaRate(rate, each))].every((price) => price <= most)
  )
}

/** What the fleet knows of one offer when a call is planned. */
export interface OfferState {
  /** `probe`: its breaker is half-open, and the next call may try it. */
  health: 'ready' | 'probe' | 'rate-limited' | 'down'
  /** Whether it is to get no prompts of these kinds of content; absent: it gets all. Modalities in the order of the alphabet, as `image+text`. */
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
): readonly Offer[] {
  if (offers.length < 2 && pinned.length === 0) return offers
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

/** How requests may name the providers of one catalog. All names as `comparable` has them. */
interface ProviderNames {
  ids: ProviderIds
  /** Display name → the providers that have it. */
  byName: ReadonlyMap<string, ProviderIds>
}

/** Names that look alike are alike: case, form of accents, and white space around and within do not matter. */
const comparable = (name: string): string => name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase()

const NOBODY: ProviderIds = new Set()

const namesOf = oncePer((catalog: CatalogSnapshot): ProviderNames => {
  const ids = new Set<string>()
  const byName = new Map<string, Set<string>>()
  for (const { provider } of catalog.offers.values()) {
    ids.add(provider.id)
    const name = comparable(provider.name)
    byName.set(name, (byName.get(name) ?? new Set()).add(provider.id))
  }
  return { ids, byName }
})

/**
 * The providers that a name chooses: the one of that id, or else those of that display name. So
 * a provider cannot be chosen by calling itself what another's id is. Nobody for an unknown name.
 */
export function providersChosenBy(name: string, catalog: CatalogSnapshot): ProviderIds {
  const { ids, byName } = namesOf(catalog)
  const wanted = comparable(name)
  return ids.has(wanted) ? new Set([wanted]) : (byName.get(wanted) ?? NOBODY)
}

/** The providers that names exclude: in doubt all of them, by id and by display name. */
export function providersExcludedBy(names: readonly string[], catalog: CatalogSnapshot): ProviderIds {
  if (names.length === 0) return NOBODY
  const { byName } = namesOf(catalog)
  const wanted = names.map(comparable)
  return new Set(wanted.flatMap((name) => [name, ...(byName.get(name) ?? NOBODY)]))
}
