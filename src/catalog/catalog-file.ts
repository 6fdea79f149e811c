import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import type { CatalogDocument } from '../core/catalog/catalog-document.ts'
import type { CatalogSource } from '../core/catalog/catalog-snapshot.ts'
import { buildCatalogSnapshot, type SnapshotOptions } from '../core/catalog/catalog-snapshot.ts'
import { simulatedCatalog, withStandIns } from '../core/catalog/simulated-catalog.ts'
import { StartError } from '../core/kernel/start-error.ts'

const BUILT_IN = new URL('./data/builtin.json', import.meta.url)

/**
 * The documents shipped with the gateway, in order of application: real models and prices and, if
 * simulated providers run, their models, which `auto` uses until there are real ones. With `simulateAll` the
 * simulated providers replace the real ones as well.
 */
export async function readShippedCatalogs(
  simulatedProvidersUrl: string | null,
  simulateAll = false,
): Promise<CatalogSource[]> {
  const document = JSON.parse(await readFile(BUILT_IN, 'utf8')) as CatalogDocument
  const builtIn = {
    name: 'the built-in catalog',
    content: simulateAll && simulatedProvidersUrl !== null ? withStandIns(document) : document,
    updatedAt: 0,
  }
  if (simulatedProvidersUrl === null) return [builtIn]
  const simulated = {
    name: 'the simulated catalog',
    content: simulatedCatalog(simulatedProvidersUrl),
    updatedAt: 0,
    autoLastResort: true,
  }
  return [builtIn, simulated]
}

/** Reads a catalog file. Rejects with a readable Error if it is missing, unreadable or not JSON. */
export async function readCatalogFile(path: string): Promise<CatalogSource> {
  let text: string
  let updatedAt: number
  try {
    updatedAt = Math.floor((await stat(path)).mtimeMs / 1000)
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new StartError(`the catalog file ${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
  try {
    return { name: path, content: JSON.parse(text), updatedAt }
  } catch (cause) {
    throw new StartError(`the catalog file ${path} is not JSON: ${(cause as Error).message}`, { cause })
  }
}

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
