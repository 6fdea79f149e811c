import type { Model, TokenRates } from './catalog.ts'
import { picoUsdPerToken } from './money.ts'

/** A client's own key at a provider, as planning knows it: never its secret. */
export interface OwnProviderKey {
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
  const share = (listed: bigint) => picoUsdPerToken((listed * BigInt(feePercent)) / 100n)
  return { prompt: share(rate.prompt), completion: share(rate.completion) }
}

/** The version of a fee rate: it changes with the listed rate and with the percentage. */
export const feeRateVersion = (model: Pick<Model, 'rateVersion'>, feePercent: number): string =>
  `${model.rateVersion}-byok-${feePercent}`

/** The purpose of the sealer that clients' provider keys are kept under. */
export const PROVIDER_KEY_PURPOSE = 'provider-key'

/** What a sealed provider key is bound to: in another account's row, or another key's, it does not open. */
export const providerKeyContext = (accountId: string, keyId: string): string => `${accountId}/${keyId}`
