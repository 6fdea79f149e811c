import type { CatalogSnapshot, Offer, Provider } from '../../core/catalog/catalog.ts'
import { readListing } from './read-listing.ts'

/** A provider's model list, compared with its models in the catalog. */
export type ListingComparison =
  | {
      kind: 'compared'
      provider: string
      listed: number
      /** Offered in the catalog and no longer listed. */
      disappeared: string[]
      /** Listed and not offered in the catalog. */
      appeared: string[]
    }
  | { kind: 'failed'; provider: string; reason: string }

/**
 * Reads the model list of every provider for which there is a key, and compares it with the catalog. An error of one
 * provider is its result; the function does not reject.
 */
export async function compareListings(
  catalog: CatalogSnapshot,
  ourKey: (provider: Provider) => string | undefined,
): Promise<ListingComparison[]> {
  return Promise.all(
    [...offeredModels(catalog)].map(async ([provider, offered]): Promise<ListingComparison> => {
      try {
        const listed = await readListing(provider, ourKey(provider))
        return {
          kind: 'compared',
          provider: provider.id,
          listed: listed.size,
          disappeared: offered.filter((model) => !listed.has(model)).sort(),
          appeared: [...listed].filter((model) => !offered.includes(model)).sort(),
        }
      } catch (error) {
        return { kind: 'failed', provider: provider.id, reason: (error as Error).message }
      }
    }),
  )
}

/**
 * The chat models that the catalog offers at each provider that has a list and for which there is a key, including those that the
 * provider does not list now. Lists rarely have models of other kinds.
 */
export function offeredModels(catalog: CatalogSnapshot): Map<Provider, string[]> {
  const chats = [...catalog.models.values()].filter(({ kind }) => kind === 'chat')
  const offers = chats.flatMap((model): Offer[] => [
    ...model.offers,
    ...(model.withdrawn ?? []).flatMap(({ offer, reason }) => (reason === 'unlisted' ? [offer] : [])),
  ])
  // Clouds have no list at the address of calls.
  const usable = offers.filter((offer) => offer.withheld !== 'no_key' && !offer.provider.credentials)
  const byProvider = Map.groupBy(usable, (offer) => offer.provider)
  return new Map(
    [...byProvider].map(([provider, some]) => [
      provider,
      [...new Set(some.map(({ upstreamModel }) => upstreamModel))],
    ]),
  )
}
