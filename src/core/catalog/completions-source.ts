import type { CatalogSnapshot, Offer } from './catalog.ts'

type Offers = Pick<CatalogSnapshot, 'offers'>

/**
 * The source of a gateway's completions: its providers (`real`), simulated providers (`simulated`), or providers for
 * some models and simulated ones for the others (`mixed`).
 */
export type CompletionsSource = 'real' | 'simulated' | 'mixed'

export function completionsSource(
  { simulatedProvidersUrl, simulateAll }: { simulatedProvidersUrl: string | null; simulateAll: boolean },
  catalog: Offers,
): CompletionsSource {
  if (simulatedProvidersUrl === null) return 'real'
  if (findRealOffer(catalog, simulatedProvidersUrl) === undefined) return 'simulated'
  return simulateAll ? 'mixed' : 'real'
}

/** A shared offer of a provider that is not simulated; undefined if there is none. */
export function findRealOffer({ offers }: Offers, simulatedProvidersUrl: string | null): Offer | undefined {
  const simulated = simulatedProvidersUrl?.replace(/\/+$/, '')
  for (const offer of offers.values()) {
    const isSimulated = simulated !== undefined && offer.provider.baseUrl.startsWith(simulated)
    if (offer.shared && !isSimulated) return offer
  }
  return undefined
}
