import { createHash, randomUUID } from 'node:crypto'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import type { CatalogDocument } from '../core/catalog/catalog-document.ts'
import type { CatalogSource } from '../core/catalog/catalog-snapshot.ts'
import { StartError } from '../core/kernel/errors.ts'
import { readBoundedBody } from '../platform/network/read-bounded-body.ts'
import { simulatedCatalog, withStandIns } from './simulated-catalog.ts'

const BUILT_IN = [
  ['the built-in catalog', new URL('./data/builtin.json', import.meta.url)],
  ['the built-in catalog of other kinds', new URL('./data/task-models.json', import.meta.url)],
  ['the published quality of models', new URL('./data/model-quality.json', import.meta.url)],
  ['the published output tokens of models', new URL('./data/output-tokens.json', import.meta.url)],
] as const

/**
 * The documents shipped with the gateway, in order of application: real models and prices and, if
 * simulated providers run, their models, which `auto` uses until there are real ones. With `simulateAll` the
 * simulated providers replace the real ones as well.
 */
export async function readShippedCatalogs(
  simulatedProvidersUrl: string | null,
  simulateAll = false,
): Promise<CatalogSource[]> {
  const builtIn = await Promise.all(
    BUILT_IN.map(async ([name, path]) => {
      const document = JSON.parse(await readFile(path, 'utf8')) as CatalogDocument
      const content = simulateAll && simulatedProvidersUrl !== null ? withStandIns(document) : document
      return { name, content, updatedAt: 0 }
    }),
  )
  if (simulatedProvidersUrl === null) return builtIn
  const simulated = {
    name: 'the simulated catalog',
    content: simulatedCatalog(simulatedProvidersUrl),
    updatedAt: 0,
    autoLastResort: true,
  }
  return [...builtIn, simulated]
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

const DEADLINE_MS = 15_000
const BODY_MAX_BYTES = 8 * 1024 * 1024

/** Reads a catalog document with prices from a path or http(s) URL. Rejects with a readable Error. */
export async function readPriceFile(location: string): Promise<CatalogSource> {
  if (!/^https?:\/\//.test(location)) return readCatalogFile(location)
  const response = await fetch(location, { signal: AbortSignal.timeout(DEADLINE_MS) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${nameOf(location)} returned ${response.status}`)
  }
  const text = await readBoundedBody(response, BODY_MAX_BYTES, nameOf(location))
  const modified = Date.parse(response.headers.get('last-modified') ?? '')
  const updatedAt = Number.isNaN(modified) ? 0 : Math.floor(modified / 1000)
  try {
    return { name: nameOf(location), content: JSON.parse(text), updatedAt }
  } catch (cause) {
    throw new Error(`${nameOf(location)} is not JSON`, { cause })
  }
}

/** Without the query, which may contain a secret; a hash of the whole URL distinguishes them. */
function nameOf(location: string): string {
  const { origin, pathname, search } = new URL(location)
  const mark = search ? `#${createHash('sha256').update(location).digest('hex').slice(0, 8)}` : ''
  return `${origin}${pathname}${mark}`
}
