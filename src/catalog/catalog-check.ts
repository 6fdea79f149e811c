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
  { kind: 'valid'; models: number; unknown: string[] } | { kind: 'problems'; problems: string[] }

const NAME = 'the document'

/**
 * Checks a document of edits on top of the others, regardless of which keys are set.
 * @param keyNames variables that edits may name as a provider's key, for any address
 */
export function checkCatalog(
  below: readonly CatalogSource[],
  content: unknown,
  options: SnapshotOptions,
  keyNames: readonly string[],
): CheckedCatalog {
  const source = { name: NAME, content, updatedAt: options.generatedAt }
  const withAllKeys = { ...options, isUsable: () => true }
  const result = buildCatalogSnapshot([...below, source], withAllKeys)
  if (result.kind === 'problems') return result
  const before = buildCatalogSnapshot(below, withAllKeys)
  if (before.kind === 'problems') return before
  const problems = keyAddressProblems(before.snapshot, result.snapshot, keyNames)
  if (problems.length > 0) return { kind: 'problems', problems }
  const own = new Set(ratedModels(content as CatalogDocument))
  const tooHigh = result.held.filter(({ modelId }) => own.has(modelId))
  if (tooHigh.length > 0) {
    return {
      kind: 'problems',
      problems: tooHigh.map(({ modelId, problem }) => `${NAME}: ${modelId}: ${problem}`),
    }
  }
  const unknown = result.unknown.filter((what) => what.startsWith(`${NAME}: `))
  return { kind: 'valid', models: result.snapshot.models.size, unknown }
}

/** The models whose rate or list price a document sets. */
const ratedModels = ({ models = [], changes }: CatalogDocument): string[] =>
  [...models, ...(changes?.models ?? [])]
    .filter((model) => model.rate !== undefined || model.list_price !== undefined)
    .map(({ id }) => id)
