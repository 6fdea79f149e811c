import type { KeyEdit } from '../../../accounts/key-store.ts'
import type { KeyEditBody } from '../../../core/api/keys.ts'
import { type CatalogSnapshot, findModel, type Provider } from '../../../core/catalog/catalog.ts'
import { invalid } from '../../../core/kernel/errors.ts'
import { oncePer } from '../../../core/kernel/once-per.ts'
import { developerOf } from '../../../core/routing/allow-list.ts'

/**
 * The permitted models and providers of a key; absent lists are unchanged. Aliases of a model become its id. Throws
 * ApiError for a name that is not in the catalog, because a mistyped entry would block the intended model.
 */
export function readAllowedNames(
  { allowed_models: models, allowed_providers: providers }: KeyEditBody,
  catalog: CatalogSnapshot,
): Pick<KeyEdit, 'allowedModels' | 'allowedProviders'> {
  return {
    ...(models && { allowedModels: read(models, 'allowed_models', (name) => modelEntry(name, catalog)) }),
    ...(providers && {
      allowedProviders: read(providers, 'allowed_providers', (name) =>
        providersOf(catalog).has(name) ? name : null,
      ),
    }),
  }
}

function read(names: string[], param: string, entryOf: (name: string) => string | null): string[] {
  const entries = names.map((name) => {
    const entry = entryOf(name.trim())
    if (entry === null) throw invalid(param, `"${name}" is not in the catalog.`)
    return entry
  })
  return [...new Set(entries)]
}

function modelEntry(name: string, catalog: CatalogSnapshot): string | null {
  const developer = developerOf(name)
  if (developer === null) return findModel(catalog, name)?.id ?? null
  return developersOf(catalog).has(developer) ? name : null
}

const developersOf = oncePer(
  ({ models }: CatalogSnapshot): ReadonlySet<string> =>
    new Set([...models.values()].map(({ vendor }) => vendor)),
)

/** The providers of a catalog by their ids. */
export const providersOf = oncePer(
  ({ offers }: CatalogSnapshot): ReadonlyMap<string, Provider> =>
    new Map([...offers.values()].map(({ provider }) => [provider.id, provider])),
)
