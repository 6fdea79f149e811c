import type { Candidate } from '../calls/call-job.ts'
import { type PassedFields, PRICED_TIERS, type PricedTier } from '../calls/passed-fields.ts'
import type { Offer, TokenRates } from '../catalog/catalog.ts'
import { mapRates, rateTexts, readRates } from '../catalog/token-rates.ts'

/**
 * Prices of service tiers. A provider may serve another tier than it is asked for and then bills that one: a call is
 * held at the dearer of the asked tier and the usual one, and charged by the tier in the reply.
 */

/** Rates in percent of others, rounded down to whole pico-USD per token, so that every charge is exact. */
export const ratesAt = (rates: TokenRates, percent: number): TokenRates =>
  percent === 100 ? rates : mapRates(rates, (price) => (price * BigInt(percent)) / 100n)

/** The price of the tier that a request asks for at an offer; null if it has none of its own. */
export function tierPrice(
  { tierPercents }: Pick<Offer, 'tierPercents'>,
  passed: PassedFields | undefined,
): { name: PricedTier; percent: number } | null {
  const name = PRICED_TIERS.find((tier) => tier === passed?.service_tier)
  const percent = name && tierPercents?.[name]
  return name && percent !== undefined ? { name, percent } : null
}

/**
 * Whether a tier is asked for that has no price here: its provider would bill it, or refuse the call, since not every model is
 * sold at every tier. On the client's BYOK key both are the client's.
 */
export const isUnpricedTier = (
  passed: PassedFields | undefined,
  { tier, providerKeyId }: Pick<Candidate, 'tier' | 'providerKeyId'>,
): boolean =>
  PRICED_TIERS.some((name) => name === passed?.service_tier) && !tier && providerKeyId === undefined

/**
 * The percentage of the usual prices for the tier that was served.
 * @param said the tier in the reply; undefined: it names none, or there is no reply, and the asked tier counts
 */
export function servedPercent({ tier }: Pick<Candidate, 'tier'>, said: string | undefined): number {
  return tier && (said ?? tier.name) === tier.name ? tier.percent : 100
}

/** The tier that a call was charged for, by the version of its rate; undefined: the usual one. */
export const tierOfRate = (rateVersion: string | null): string | undefined =>
  rateVersion?.match(TIER_VERSION)?.[1]

const TIER_VERSION = new RegExp(`-(${PRICED_TIERS.join('|')})-\\d+$`)

/** A candidate with the rate of the tier that was served. */
export function atServedTier(candidate: Candidate, said: string | undefined): Candidate {
  const { tier, rateVersion } = candidate
  if (!tier) return candidate
  const percent = servedPercent(candidate, said)
  if (percent === 100) return { ...candidate, rate: tier.usual }
  return {
    ...candidate,
    rate: rateTexts(ratesAt(readRates(tier.usual), percent)),
    rateVersion: `${rateVersion}-${tier.name}-${percent}`,
  }
}
