import { type CanonicalId, canonicalId } from './canonical-id.ts'
import { DATA_SOURCES, type ListedPrice, type Listing, PART_KINDS } from './listing.ts'
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

interface OfferSources {
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

/**
 * One provider's price of one model, from the data packages: the price that most of them list. Where no two
 * agree, the newest package decides for a maker, since list prices change from one day to another, and the
 * higher of each rate for a host, so that our cost is never underestimated.
 */
function judgePrice(
  witnesses: ReadonlyArray<Pick<Listing, 'source' | 'price'>>,
  isMaker: boolean,
): ListedPrice {
  const prices = witnesses
    .toSorted((a, b) => DATA_SOURCES.indexOf(a.source) - DATA_SOURCES.indexOf(b.source))
    .map((witness) => witness.price)
  const groups = [...Map.groupBy(prices, ({ prompt, completion }) => `${prompt} ${completion}`).values()]
  const largest = groups.toSorted((a, b) => b.length - a.length)[0]!
  const agreed = largest.length > 1 || isMaker || prices.length === 1 ? largest[0]! : dearest(prices)
  // A source without a price for long prompts does not contradict one that has it.
  const long = prices.map((price) => price.long).filter((each) => each !== null)
  return {
    prompt: agreed.prompt,
    completion: agreed.completion,
    ...judgeParts(prices, agreed.prompt, isMaker),
    long:
      agreed.long ??
      long.find((each) => each.prompt >= agreed.prompt && each.completion >= agreed.completion) ??
      null,
  }
}

/**
 * As with prices: the newest listed at a maker, the highest at a host; none where it equals the prompt's. Prices of the
 * prompt cache go with the price of the prompt they are listed beside; writing costs no less than the prompt.
 */
function judgeParts(
  prices: readonly ListedPrice[],
  prompt: number,
  isMaker: boolean,
): Pick<ListedPrice, (typeof PART_KINDS)[number]> {
  const judged = PART_KINDS.flatMap((kind) => {
    const isCache = kind === 'cacheRead' || kind === 'cacheWrite'
    const listed = prices
      .filter((price) => !isCache || price.prompt === prompt)
      .flatMap((price) => price[kind] ?? [])
    const price = isMaker ? listed[0] : listed.toSorted((a, b) => b - a)[0]
    if (price === undefined || price === prompt) return []
    const isSlip = (kind === 'cacheRead' && price > prompt) || (kind === 'cacheWrite' && price < prompt)
    return isSlip ? [] : [[kind, price] as const]
  })
  return Object.fromEntries(judged)
}

const dearest = (prices: readonly ListedPrice[]): ListedPrice => ({
  prompt: Math.max(...prices.map((price) => price.prompt)),
  completion: Math.max(...prices.map((price) => price.completion)),
  long: null,
})
