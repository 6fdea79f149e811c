import { buildCatalogSnapshot, type CatalogSource, type SnapshotOptions } from '../core/catalog-snapshot.ts'

/** What a document would make of the catalog. */
export type CheckedCatalog =
  /** `unknown`: what its changes name and nobody has. */
  { kind: 'valid'; models: number; unknown: string[] } | { kind: 'problems'; problems: string[] }

const NAME = 'the document'

/** Checks a document over the others, whichever keys are set. */
export function checkCatalog(
  below: readonly CatalogSource[],
  content: unknown,
  options: SnapshotOptions,
): CheckedCatalog {
  const source = { name: NAME, content, updatedAt: options.generatedAt }
  const result = buildCatalogSnapshot([...below, source], { ...options, isUsable: () => true })
  if (result.kind === 'problems') return result
  const unknown = result.unknown.filter((what) => what.startsWith(`${NAME}: `))
  return { kind: 'valid', models: result.snapshot.models.size, unknown }
}
