import { randomUUID } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import { buildCatalogSnapshot, type SnapshotOptions } from '../core/catalog/catalog-snapshot.ts'
import { readCatalogFile, readShippedCatalogs } from './catalog-file.ts'

export type CheckedFile =
  | { kind: 'valid'; snapshot: CatalogSnapshot; content: unknown }
  | { kind: 'problems'; problems: string[] }

/**
 * Checks a catalog file on top of the shipped catalogs, as the gateway would use it, regardless of which keys are set.
 * Rejects if the file cannot be read or is not JSON.
 */
export async function checkCatalogFile(
  path: string,
  simulatedProvidersUrl: string | null,
  options: Omit<SnapshotOptions, 'isUsable'>,
): Promise<CheckedFile> {
  const source = await readCatalogFile(path)
  const shipped = await readShippedCatalogs(simulatedProvidersUrl)
  const result = buildCatalogSnapshot([...shipped, source], { ...options, isUsable: () => true })
  if (result.kind === 'problems') return result
  if (result.held.length > 0)
    return { kind: 'problems', problems: result.held.map(({ modelId, problem }) => `${modelId}: ${problem}`) }
  return { kind: 'valid', snapshot: result.snapshot, content: source.content }
}

/** Replaces a catalog file atomically by a checked document: readers see the old or the new one completely. */
export async function installCatalogFile(content: unknown, target: string): Promise<void> {
  const temporary = `${target}.${randomUUID()}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o644)
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
