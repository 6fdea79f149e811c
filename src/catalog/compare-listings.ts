import type { CatalogSnapshot, Provider } from '../core/catalog.ts'

/** What a provider lists, against what the catalog says of it. */
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

const DEADLINE_MS = 10_000

/** Reads the model list of every provider whose key we hold and compares. Never rejects over one provider. */
export async function compareListings(
  catalog: CatalogSnapshot,
  environment: Record<string, string | undefined>,
): Promise<ListingComparison[]> {
  const shared = [...catalog.offers.values()].filter((offer) => offer.shared)
  const offered = Map.groupBy(shared, (offer) => offer.provider)
  return Promise.all(
    [...offered].map(([provider, offers]) =>
      compareOne(provider, new Set(offers.map((offer) => offer.upstreamModel)), environment),
    ),
  )
}

async function compareOne(
  provider: Provider,
  offered: ReadonlySet<string>,
  environment: Record<string, string | undefined>,
): Promise<ListingComparison> {
  try {
    const listed = await readListing(provider, environment)
    return {
      kind: 'compared',
      provider: provider.id,
      listed: listed.size,
      disappeared: [...offered].filter((model) => !listed.has(model)).sort(),
      appeared: [...listed].filter((model) => !offered.has(model)).sort(),
    }
  } catch (error) {
    return { kind: 'failed', provider: provider.id, reason: (error as Error).message }
  }
}

async function readListing(
  provider: Provider,
  environment: Record<string, string | undefined>,
): Promise<Set<string>> {
  const key = provider.apiKeyEnv === null ? undefined : environment[provider.apiKeyEnv]
  const response = await fetch(`${provider.baseUrl}/models`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  if (!response.ok) throw new Error(`GET ${provider.baseUrl}/models answered ${response.status}`)
  const body = (await response.json()) as { data?: unknown } | unknown[] | null
  const entries = Array.isArray(body) ? body : body?.data
  if (!Array.isArray(entries)) throw new Error(`GET ${provider.baseUrl}/models answered no model list`)
  const ids = entries.map((entry: { id?: unknown } | null) => entry?.id)
  // One maker prefixes the ids of its list with `models/`, and takes them without it.
  return new Set(ids.filter((id) => typeof id === 'string').map((id) => id.replace(/^models\//, '')))
}
