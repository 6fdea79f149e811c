import type { Privacy } from '../calls/call-job.ts'
import type { ProviderPreferences } from '../calls/chat-request.ts'
import type { CatalogSnapshot, Model, Offer, PricedMedia, Provider, TokenRates } from '../catalog/catalog.ts'
import { mediaRate } from '../catalog/token-rates.ts'
import { type ProviderIds, providersChosenBy, providersExcludedBy } from './provider-names.ts'
import { pricedMediaOf, type RequestShape } from './request-shape.ts'

/** The preferences of a request that exclude offers, with the names of providers looked up. */
export interface OfferFilter extends Privacy {
  /** Undefined: every provider. */
  only: ProviderIds | undefined
  ignore: ProviderIds
  /** Parameters that a model has to support; none unless the request demands it. */
  parameters: readonly string[]
  maxPrice: ProviderPreferences['maxPrice']
  /** What of the prompt may have a price of its own. */
  media: readonly PricedMedia[]
}

/** Reads the filter off a request's preferences. Names that nobody has choose nobody, and exclude nobody. */
export function offerFilter(
  preferences: ProviderPreferences,
  shape: RequestShape,
  catalog: CatalogSnapshot,
): OfferFilter {
  const { only } = preferences
  return {
    only: only && new Set(only.flatMap((name) => [...providersChosenBy(name, catalog)])),
    ignore: providersExcludedBy(preferences.ignore, catalog),
    zdr: preferences.zdr,
    denyDataCollection: preferences.dataCollection === 'deny',
    parameters: preferences.requireParameters ? shape.parameters : [],
    maxPrice: preferences.maxPrice,
    media: pricedMediaOf(shape),
  }
}

/** Whether a provider keeps to what a client demands of whoever sees its prompt. */
export const keepsPrivate = (
  { zdr, dataCollection }: Pick<Provider, 'zdr' | 'dataCollection'>,
  privacy: Privacy,
): boolean => (!privacy.zdr || zdr) && (!privacy.denyDataCollection || dataCollection === 'deny')

/**
 * Whether a request may use an offer of a model. Fails closed: what is not known to meet a preference does not
 * meet it. Prices are compared with the listed rate, which is the same at every offer of a model, whoever bills.
 */
export function isAllowed(offer: Offer, model: Model, filter: OfferFilter, exactTools: boolean): boolean {
  const { provider } = offer
  return (
    (filter.only === undefined || filter.only.has(provider.id)) &&
    !filter.ignore.has(provider.id) &&
    keepsPrivate(provider, filter) &&
    (!exactTools || offer.exactTools) &&
    filter.parameters.every((name) => model.supportedParameters.includes(name)) &&
    isPromptWithin(filter, model.rate) &&
    (filter.maxPrice.completion === undefined || model.rate.completion <= filter.maxPrice.completion)
  )
}

function isPromptWithin({ maxPrice: { prompt: most }, media }: OfferFilter, rate: TokenRates): boolean {
  return (
    most === undefined ||
    [rate.prompt, ...media.map((each) => mediaRate(rate, each))].every((price) => price <= most)
  )
}
