import { type CanonicalId, canonicalId } from './canonical-id.ts'
import { judgePrice } from './judge-price.ts'
import type { ListedPrice, Listing } from './listing.ts'
import { IMPORTED_PROVIDERS, type ImportedProvider } from './provider-table.ts'
import { readGenaiPrice, readGenaiPrices } from './read-genai-prices.ts'
import { type Litellm, listsModels } from './read-litellm.ts'
import { readPiAi } from './read-pi-ai.ts'

/** One model at one provider, from every entry of the data packages. */
export interface ImportedOffer {
  provider: ImportedProvider
  canonical: CanonicalId
  upstreamModel: string
  price: ListedPrice
  /** Every listing, the newest source first. */
  listings: Listing[]
  /** The context windows that the sources give. */
  windows: number[]
}

export interface OfferSources {
  piAiFolder: string
  litellm: Litellm
  /** `YYYY-MM-DD`: at whose noon prices must hold. */
  day: string
}

/** Reads what every provider of the table offers. */
export const readOffers = (sources: OfferSources): ImportedOffer[] =>
  IMPORTED_PROVIDERS.flatMap((provider) => readProvider(provider, sources))

function readProvider(
  provider: ImportedProvider,
  { piAiFolder, litellm, day }: OfferSources,
): ImportedOffer[] {
  const fromPiAi = readPiAi(piAiFolder, provider)
  const fromLitellm = litellm.read(provider)
  // A host's names are exact there; at a maker they stand for families.
  const fromGenai = provider.maker === null ? readGenaiPrices(provider, day) : []
  const names = new Map<string, Listing[]>()
  for (const listing of [...fromPiAi, ...fromLitellm, ...fromGenai]) {
    const id = canonicalId(provider.maker, listing.upstreamModel)
    if (id === null) continue
    names.set(id.key, [...(names.get(id.key) ?? []), listing])
  }
  return [...names.values()].flatMap((listings) => toOffer(provider, listings, day) ?? [])
}

function toOffer(provider: ImportedProvider, listings: Listing[], day: string): ImportedOffer | null {
  const [first] = listings
  const isListed = listings.some((listing) => listing.source !== 'litellm' || listsModels(provider))
  if (!first || !isListed) return null
  const witness = readGenaiPrice(provider, first.upstreamModel, day)
  const canonical = canonicalId(provider.maker, first.upstreamModel)!
  // Resellers pass a maker's fee per call on, even where a source omits it.
  const maker = IMPORTED_PROVIDERS.find((each) => each.maker === canonical.vendor)
  const atMaker = maker && readGenaiPrice(maker, canonical.name, day)
  if (typeof witness === 'string' || atMaker === 'per-call') return null
  const prices = [
    ...(witness ? listings.filter(({ source }) => source !== 'genai-prices') : listings),
    ...(witness ? [{ source: 'genai-prices' as const, price: witness.price }] : []),
  ].filter(({ price }) => isPrice(price.prompt) && isPrice(price.completion))
  if (prices.length === 0) return null
  return {
    provider,
    canonical,
    upstreamModel: first.upstreamModel,
    price: judgePrice(prices, provider.maker !== null),
    listings,
    windows: [...listings.map((listing) => listing.contextLength), witness?.contextLength ?? null].filter(
      (window) => window !== null,
    ),
  }
}

const isPrice = (price: number): boolean => Number.isFinite(price) && price > 0
