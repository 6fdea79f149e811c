import type { Model } from '../catalog/catalog.ts'

/** The models and providers that a key may use. Built once, when the key is looked up. */
export interface AllowList {
  /** Undefined: every model. */
  models: { ids: ReadonlySet<string>; developers: ReadonlySet<string> } | undefined
  /** Undefined: every provider. */
  providers: ReadonlySet<string> | undefined
}

/** The suffix for all models of a developer: `acme/*`. */
const ALL_OF_DEVELOPER = '/*'

/** The developer of an entry such as `acme/*`; null for the id of a model. */
export const developerOf = (entry: string): string | null =>
  entry.endsWith(ALL_OF_DEVELOPER) ? entry.slice(0, -ALL_OF_DEVELOPER.length) : null

/** The allow list of a key's entries; undefined if everything is allowed. */
export function readAllowList(
  models: readonly string[],
  providers: readonly string[],
): AllowList | undefined {
  if (models.length === 0 && providers.length === 0) return undefined
  const developers = models.flatMap((entry) => developerOf(entry) ?? [])
  return {
    models: models.length === 0 ? undefined : { ids: new Set(models), developers: new Set(developers) },
    providers: providers.length === 0 ? undefined : new Set(providers),
  }
}

/** Whether a key may use a model. */
export const allowsModel = (
  { models }: Pick<AllowList, 'models'>,
  model: Pick<Model, 'id' | 'vendor'>,
): boolean => models === undefined || models.ids.has(model.id) || models.developers.has(model.vendor)
