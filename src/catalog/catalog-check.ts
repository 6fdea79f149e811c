import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import type { CatalogDocument } from '../core/catalog/catalog-document.ts'
import {
  buildCatalogSnapshot,
  type CatalogSource,
  type SnapshotOptions,
} from '../core/catalog/catalog-snapshot.ts'
import { keyAddressProblems } from '../core/catalog/platform-key-variables.ts'

/** The effect of a document on the catalog. */
export type CheckedCatalog =
  /** `unknown`: names in its changes that do not exist. */
  { kind: 'valid'; snapshot: CatalogSnapshot; unknown: string[] } | { kind: 'problems'; problems: string[] }

/**
 * Checks a document on top of the others, regardless of which keys are set: the file of CATALOG_FILE, a price file or
 * the operators' edits.
 * @param keyNames variables that the document may name as a provider's key, for any address; `any`: every variable,
 * because the writer of a machine's file also sets its variables
 */
export function checkCatalog(
  below: readonly CatalogSource[],
  source: CatalogSource,
  options: Omit<SnapshotOptions, 'isUsable'>,
  keyNames: readonly string[] | 'any',
): CheckedCatalog {
  const withAllKeys = { ...options, isUsable: () => true }
  const result = buildCatalogSnapshot([...below, source], withAllKeys)
  if (result.kind === 'problems') return result
  if (keyNames !== 'any') {
    const before = buildCatalogSnapshot(below, withAllKeys)
    if (before.kind === 'problems') return before
    const problems = keyAddressProblems(before.snapshot, result.snapshot, keyNames)
    if (problems.length > 0) return { kind: 'problems', problems }
  }
  const prefix = `${source.name}: `
  const own = new Set(ratedModels(source.content as CatalogDocument))
  const tooHigh = result.held.filter(({ modelId }) => own.has(modelId))
  if (tooHigh.length > 0) {
    return {
      kind: 'problems',
      problems: tooHigh.map(({ modelId, problem }) => `${prefix}${modelId}: ${problem}`),
    }
  }
  const unknown = result.unknown.filter((what) => what.startsWith(prefix))
  return { kind: 'valid', snapshot: result.snapshot, unknown }
}

/** The models whose rate or list price a document sets. */
const ratedModels = ({ models = [], changes }: CatalogDocument): string[] =>
  [...models, ...(changes?.models ?? [])]
    .filter((model) => model.rate !== undefined || model.list_price !== undefined)
    .map(({ id }) => id)
