import { type CatalogSnapshot, isAvailable, type Model } from './catalog.ts'

/** The `vendor` of the simulated providers' own models. */
export const SIMULATED_VENDOR = 'sim'

type Models = Pick<CatalogSnapshot, 'models'>

/**
 * The models of public lists, counts and rankings. Those of the simulated providers, among them the faults, are left
 * out: they can be called by their ids.
 */
export const listedModels = ({ models }: Models): Model[] => [...models.values()].filter(isListed)

export const isListed = ({ vendor }: Pick<Model, 'vendor'>): boolean => vendor !== SIMULATED_VENDOR

/** The number of models that can be called now, and of their developers. */
export function countModels(catalog: Models): { models: number; developers: number } {
  const available = listedModels(catalog).filter(isAvailable)
  return { models: available.length, developers: new Set(available.map(({ vendor }) => vendor)).size }
}
