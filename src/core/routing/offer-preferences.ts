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
import { drawOf } from './affinity.ts'
import type { AllowList } from './allow-list.ts'
import { type CacheUse, expectedShares, likelyPrice, NO_CACHE } from './likely-cost.ts'
import { isHint, isPriced, supportsParameter } from './supported-parameters.ts'

/** Applies a request's `provider` preferences to the offers of a model: which ones it may use, and in which order. */

/** The ids of providers. */
export type ProviderIds = ReadonlySet<string>

/** The preferences of a request that exclude offers, with provider names resolved. */
export interface OfferFilter extends Privacy {
  /** Undefined: every provider. */
  only: ProviderIds | undefined
  /** The providers that the client's key may use; undefined: every provider. */
  permitted: ProviderIds | undefined
  ignore: ProviderIds
  /** Parameters that an offer must support. */
  parameters: readonly string[]
  /** Parameters that an offer should support: one that does not is used if no other is, and does not get them. */
  hints: readonly string[]
  /** Whether offers of the client's wire must support parameters too; otherwise they get them as they are. */
  isStrict: boolean
  maxPrice: ProviderPreferences['maxPrice']
  /** The client's wire, see CallNeeds. */
  wire: Wire | undefined
  onlyWire: boolean
  /** The media of the prompt that may have separate prices. */
  media: readonly PricedMedia[]
  /** Whether tokens of the prompt cache are charged at their own rates. */
  pricesCache: boolean
}

/** Builds the filter of a request's preferences. Unknown names select nothing, and exclude nothing. */
export function offerFilter(
  preferences: ProviderPreferences,
  { parameters, wire, onlyWire, modalities, pricesCache }: CallNeeds,
  catalog: CatalogSnapshot,
  allowList?: Pick<AllowList, 'providers'>,
): OfferFilter {
  const { only, requireParameters: required } = preferences
  return {
    only: only && new Set(only.flatMap((name) => [...providersChosenBy(name, catalog)])),
    permitted: allowList?.providers,
    ignore: providersExcludedBy(preferences.ignore, catalog),
    zdr: preferences.zdr,
    denyDataCollection: preferences.dataCollection === 'deny',
    parameters: required === 'none' ? [] : parameters.filter((name) => required === 'all' || !isHint(name)),
    hints: required === 'but-hints' ? parameters.filter(isHint) : [],
    isStrict: required === 'all',
    maxPrice: preferences.maxPrice,
    wire,
    onlyWire: onlyWire === true,
    media: pricedMediaIn(modalities),
    pricesCache,
  }
}

/** The parts of the input that may have separate prices: a video has sound and pictures, a document may have pictures. */
function pricedMediaIn(modalities: readonly string[]): PricedMedia[] {
  const among = (...names: string[]) => names.some((name) => modalities.includes(name))
  return [
    ...(among('audio', 'video') ? (['audio'] as const) : []),
    ...(among('image', 'video', 'file') ? (['image'] as const) : []),
  ]
}

/** Whether a provider meets a client's privacy requirements. */
export const keepsPrivate = (
  { zdr, dataCollection }: Pick<Provider, 'zdr' | 'dataCollection'>,
  privacy: Privacy,
): boolean => (!privacy.zdr || zdr) && (!privacy.denyDataCollection || dataCollection === 'deny')

/** Whether a provider speaks the wire that a request requires, if any. */
export const speaks = (
  provider: Pick<Provider, 'wire'>,
  { wire, onlyWire }: Pick<OfferFilter, 'wire' | 'onlyWire'>,
): boolean => !onlyWire || provider.wire === wire

/** Whether an offer supports a parameter, or its provider speaks the client's wire and judges the parameter itself. */
export const meetsParameter = (
  offer: Offer,
  model: Model,
  name: string,
  { isStrict, wire }: Pick<OfferFilter, 'isStrict' | 'wire'>,
): boolean =>
  supportsParameter(offer, model, name) ||
  (!isStrict && offer.provider.wire === wire && !refuses(offer, name) && !isPriced(name))

/** The parameters among those of a call that an offer does not get. */
export const leftOutAt = (
  offer: Offer,
  model: Model,
  parameters: readonly string[],
  filter: Pick<OfferFilter, 'hints' | 'isStrict' | 'wire'>,
): string[] =>
  parameters.filter(
    (name) =>
      refuses(offer, name) ||
      ((filter.hints.includes(name) || isPriced(name)) && !meetsParameter(offer, model, name, filter)),
  )

/** Whether a model rejects a sampling parameter. */
const refuses = ({ refusedSampling }: Offer, name: string): boolean =>
  refusedSampling?.some((refused) => refused === name) === true

/**
 * Whether a request may use an offer of a model. Fails closed: an unknown property does not meet a preference. Prices
 * are compared with the listed rate, which is the same at every offer of a model, also with BYOK keys.
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
    filter.parameters.every((name) => meetsParameter(offer, model, name, filter)) &&
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

/** The fleet's state of one offer when a call is planned. */
export interface OfferState {
  /** `probe`: its breaker is half-open, and the next call may try it. */
  health: 'ready' | 'probe' | 'rate-limited' | 'down'
  /** Whether it is to get no prompts of these kinds of content; absent: it gets all. Modalities in the order of the alphabet, as `image+text`. */
  excludes?: (kinds: string) => boolean
  /** What it was seen to add to prompts of these kinds of content, in tokens; absent: nothing. */
  learnedTokens?: (kinds: string) => number
  /** Medians of measurements, computed on demand; absent: none. */
  measures?: () => OfferMedians
  /** How its prompt cache was used; absent, or undefined: not measured. */
  cacheUse?: () => CacheUse | undefined
}

/** Undefined if not measured. */
export interface OfferMedians {
  /** Time to the first token, ms. */
  firstTokenMs?: number | undefined
  /** Completion tokens a second. */
  tokensPerSecond?: number | undefined
}

/** Looks up the state of an offer by id. Must be cheap, because it is called for every offer of a plan. */
export type OfferStates = (offerId: string) => OfferState

/** The state of an offer without data counts as healthy. */
export const UNKNOWN_OFFER_STATE: OfferState = Object.freeze({ health: 'ready' })

/** Whether a call may be sent to the offer now. */
export const isHealthy = ({ health }: OfferState): boolean => health === 'ready' || health === 'probe'

export interface OfferOrder {
  /** Providers to try first, in this order, whatever their health. */
  pinned: readonly ProviderIds[]
  sort: Sort | undefined
  /** False: only the pinned providers, or only the first choice if none is pinned. */
  allowFallbacks: boolean
  /** The client's wire: offers of its providers come first, unless the request sorts them itself. */
  wire?: Wire | undefined
  /** The hash of its conversation, which decides instead of a draw. Absent: each call is drawn for. */
  conversation?: number | undefined
  /** Its prompt is long enough for a provider's cache. Absent: false. */
  isCacheable?: boolean
}

/** How often a sort by measurement starts with an unmeasured offer, so that it gets measured. */
export const EXPLORED_SHARE = 0.05

/**
 * Sorts the offers of one model that a request may use into the order of attempts: by their priority in the catalog,
 * unless the request sorts them itself. Unavailable offers come after available ones, but are kept, because a breaker
 * may close before the call gets there. `random` is uniform in [0, 1).
 */
export function orderOffers(
  offers: readonly Offer[],
  { pinned, sort, allowFallbacks, wire, conversation, isCacheable = false }: OfferOrder,
  stateOf: OfferStates,
  random: () => number,
): readonly Offer[] {
  if (offers.length < 2 && pinned.length === 0) return offers
  const states = offers.map(({ id }) => stateOf(id))
  const shares = isCacheable ? expectedShares(states.map(({ cacheUse }) => cacheUse?.())) : []
  const known = offers.map((offer, index) => ({
    offer,
    state: states[index]!,
    draw: conversation === undefined ? random() : drawOf(offer, conversation),
    price: likelyPrice(offer, shares[index] ?? NO_CACHE),
  }))
  const sorted = sortKnown(known, sort, random, wire)
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
  /** Uniform in [0, 1): breaks ties, so that no position in the catalog is favoured. */
  draw: number
  /** What it is likely to cost, see likelyPrice. */
  price: number
}

function sortKnown(
  offers: readonly KnownOffer[],
  sort: Sort | undefined,
  random: () => number,
  wire: Wire | undefined,
): readonly KnownOffer[] {
  switch (sort) {
    case undefined:
      return byWire(byPriority(drawn(offers)), wire)
    case 'price':
      return byKey(offers, ({ price }) => price)
    case 'throughput':
      return byMeasure(offers, ({ tokensPerSecond }) => negative(tokensPerSecond), random)
    case 'latency':
      return byMeasure(offers, ({ firstTokenMs }) => firstTokenMs, random)
    default:
      return sort satisfies never
  }
}

/**
 * Draws without replacement, by the weights of the catalog in percent; the others share the rest by the inverse square of
 * their price. Sorts by an exponential variate with the weight as its rate, so a changed weight moves no more
 * conversations than it must.
 */
function drawn(offers: readonly KnownOffer[]): KnownOffer[] {
  const byPrice = ({ price }: KnownOffer) => price ** -2
  const variate = ({ draw }: KnownOffer, weight: number) =>
    weight > 0 ? -Math.log(1 - draw) / weight : Number.POSITIVE_INFINITY
  if (offers.every(({ offer }) => offer.weight === undefined))
    return byKey(offers, (known) => variate(known, byPrice(known)))
  const sums = new Map<number, { percent: number; byPrice: number }>()
  for (const known of offers) {
    const { weight, priority } = known.offer
    const sum = sums.get(priority) ?? { percent: 0, byPrice: 0 }
    sum.percent += weight ?? 0
    if (weight === undefined) sum.byPrice += byPrice(known)
    sums.set(priority, sum)
  }
  return byKey(offers, (known) => {
    const { percent, byPrice: all } = sums.get(known.offer.priority)!
    const rest = Math.max(0, 100 - percent) * (byPrice(known) / all)
    return variate(known, known.offer.weight ?? rest)
  })
}

/** Stable: equal ones keep their order. */
const byPriority = (offers: readonly KnownOffer[]): KnownOffer[] =>
  [...offers].sort((a, b) => a.offer.priority - b.offer.priority)

/** Stable: offers of the client's wire come first. */
const byWire = (offers: readonly KnownOffer[], wire: Wire | undefined): readonly KnownOffer[] => {
  if (wire === undefined) return offers
  const isSpoken = ({ offer }: KnownOffer) => offer.provider.wire === wire
  return [...offers.filter(isSpoken), ...offers.filter((known) => !isSpoken(known))]
}

const negative = (value: number | undefined): number | undefined => (value === undefined ? undefined : -value)

/**
 * Sorts by a measurement, lowest first. An unmeasured offer counts as the median of the others, and occasionally as the
 * best, because an offer that is never tried is never measured. Ties are sorted by price.
 */
function byMeasure(
  offers: readonly KnownOffer[],
  measureOf: (medians: OfferMedians) => number | undefined,
  random: () => number,
): KnownOffer[] {
  const cheapestFirst = byKey(offers, ({ price }) => price).map((known) => ({
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

/** Unlike a difference, correct for infinities too. */
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0)

function median(values: readonly number[]): number {
  const sorted = [...values].sort(compare)
  return sorted[Math.floor((sorted.length - 1) / 2)]!
}

/** The names of the providers of one catalog in requests, in the form of `comparable`. */
interface ProviderNames {
  ids: ProviderIds
  /** Display name → the providers that have it. */
  byName: ReadonlyMap<string, ProviderIds>
}

/** Case, the form of accents, and white space around and within a name are ignored. */
const comparable = (name: string): string => name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase()

const NO_PROVIDERS: ProviderIds = new Set()

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
 * The providers that a name selects: the one with that id, or otherwise those with that display name. So a provider
 * cannot be selected by taking another's id as its name. Empty for an unknown name.
 */
export function providersChosenBy(name: string, catalog: CatalogSnapshot): ProviderIds {
  const { ids, byName } = namesOf(catalog)
  const wanted = comparable(name)
  return ids.has(wanted) ? new Set([wanted]) : (byName.get(wanted) ?? NO_PROVIDERS)
}

/** The providers that names exclude: all that match, by id and by display name. */
export function providersExcludedBy(names: readonly string[], catalog: CatalogSnapshot): ProviderIds {
  if (names.length === 0) return NO_PROVIDERS
  const { byName } = namesOf(catalog)
  const wanted = names.map(comparable)
  return new Set(wanted.flatMap((name) => [name, ...(byName.get(name) ?? NO_PROVIDERS)]))
}
