import type { Model, Offer, Provider, TokenRates } from '../catalog/catalog.ts'
import { mapRates } from '../catalog/token-rates.ts'

/** A client's own key at a provider, as planning knows it: never its secret. */
export interface ByokKey {
  id: string
  providerId: string
  /** Whether its owner lets calls go on to shared capacity when it fails. */
  allowFallback: boolean
}

/**
 * What we charge for a call on the client's own key: a percentage of the listed rate, cut down (never up) to
 * whole pico-USD per token, so that every fee is exact. The provider bills its client for the tokens themselves.
 */
export function feeRate(rate: TokenRates, feePercent: number): TokenRates {
  return mapRates(rate, (listed) => (listed * BigInt(feePercent)) / 100n)
}

/** The version of a fee rate: it changes with the listed rate and with the percentage. */
export const feeRateVersion = (model: Pick<Model, 'rateVersion'>, feePercent: number): string =>
  `${model.rateVersion}-byok-${feePercent}`

/** Whether clients may bring keys for a provider: one that asks for none has nothing to bill them by. */
export const takesByokKeys = ({ apiKeyEnv }: Pick<Provider, 'apiKeyEnv'>): boolean => apiKeyEnv !== null

/** The offers of a model that a client may use. */
export interface ModelCapacity {
  /** At providers the client has keys for: with those keys, oldest first. */
  own: ReadonlyMap<Offer, readonly string[]>
  /** With our keys. */
  shared: readonly Offer[]
  /** One of the client's keys forbids to go on to shared capacity. */
  ownOnly: boolean
}

/**
 * Splits a model's offers into those on the client's own keys and those on shared capacity. A key that does not
 * allow to fall back closes shared capacity to every model it could serve: its owner counts on paying the
 * provider, and no failure may turn that into a charge of ours; nor may a list from which the provider left the
 * model out, so an offer that is withdrawn closes it as well.
 */
export function capacityFor(model: Model, keys: readonly ByokKey[]): ModelCapacity {
  const shared = model.offers.filter((offer) => offer.shared)
  if (keys.length === 0) return { own: new Map(), shared, ownOnly: false }
  const own = new Map<Offer, string[]>()
  let ownOnly = false
  const keysFor = ({ provider }: Offer) => {
    const fitting = keys.filter((key) => key.providerId === provider.id && takesByokKeys(provider))
    ownOnly ||= fitting.some((key) => !key.allowFallback)
    return fitting.map((key) => key.id)
  }
  for (const offer of model.offers) {
    const ids = keysFor(offer)
    if (ids.length > 0) own.set(offer, ids)
  }
  for (const { offer } of model.withdrawn ?? []) keysFor(offer)
  return { own, shared: ownOnly ? [] : shared, ownOnly }
}

/** The purpose of the sealer that clients' provider keys are kept under. */
export const PROVIDER_KEY_PURPOSE = 'provider-key'

/** What a sealed provider key is bound to: in another account's row, or another key's, it does not open. */
export const providerKeyContext = (accountId: string, keyId: string): string => `${accountId}/${keyId}`
