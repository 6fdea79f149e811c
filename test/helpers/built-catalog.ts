import type { CatalogSnapshot } from '../../src/core/catalog/catalog.ts'
import { buildCatalogSnapshot, type SnapshotOptions } from '../../src/core/catalog/catalog-snapshot.ts'

/** The snapshot of catalog documents, in their order, with the discounts of the contract and every provider usable. */
export function builtCatalog(documents: unknown[], options: Partial<SnapshotOptions> = {}): CatalogSnapshot {
  const sources = documents.map((content, index) => ({ name: `document ${index}`, content, updatedAt: 0 }))
  const built = buildCatalogSnapshot(sources, {
    discountPercent: 5,
    openWeightsDiscountPercent: 20,
    generatedAt: 0,
    isUsable: () => true,
    ...options,
  })
  if (built.kind === 'problems') throw new Error(built.problems.join('\n'))
  return built.snapshot
}
