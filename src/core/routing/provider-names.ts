import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'

/** The ids of providers. */
export type ProviderIds = ReadonlySet<string>

/** How requests may name the providers of one catalog. All names as `comparable` has them. */
interface ProviderNames {
  ids: ProviderIds
  /** Display name → the providers that have it. */
  byName: ReadonlyMap<string, ProviderIds>
}

/** Names that look alike are alike: case, form of accents, and white space around and within do not matter. */
const comparable = (name: string): string => name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase()

const NOBODY: ProviderIds = new Set()

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
 * The providers that a name chooses: the one of that id, or else those of that display name. So
 * a provider cannot be chosen by calling itself what another's id is. Nobody for an unknown name.
 */
export function providersChosenBy(name: string, catalog: CatalogSnapshot): ProviderIds {
  const { ids, byName } = namesOf(catalog)
  const wanted = comparable(name)
  return ids.has(wanted) ? new Set([wanted]) : (byName.get(wanted) ?? NOBODY)
}

/** The providers that names exclude: in doubt all of them, by id and by display name. */
export function providersExcludedBy(names: readonly string[], catalog: CatalogSnapshot): ProviderIds {
  if (names.length === 0) return NOBODY
  const { byName } = namesOf(catalog)
  const wanted = names.map(comparable)
  return new Set(wanted.flatMap((name) => [name, ...(byName.get(name) ?? NOBODY)]))
}
