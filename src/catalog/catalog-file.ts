import { readFile, stat } from 'node:fs/promises'
import type { CatalogSource } from '../core/catalog-snapshot.ts'

const BUILT_IN = new URL('./data/builtin.json', import.meta.url)
const SIMULATED = new URL('./data/simulated.json', import.meta.url)
const SIMULATED_URL_PLACEHOLDER = '{simulated_providers_url}'

/** The real models and prices that ship with the gateway. */
export async function readBuiltInCatalog(): Promise<CatalogSource> {
  return { name: 'the built-in catalog', content: JSON.parse(await readFile(BUILT_IN, 'utf8')), updatedAt: 0 }
}

/** The models of the simulated providers that listen at `url`; `auto` uses them until there are real ones. */
export async function readSimulatedCatalog(url: string): Promise<CatalogSource> {
  const text = await readFile(SIMULATED, 'utf8')
  const content = JSON.parse(text.replaceAll(SIMULATED_URL_PLACEHOLDER, url.replace(/\/+$/, '')))
  return { name: 'the simulated catalog', content, updatedAt: 0, autoLastResort: true }
}

/** Reads a catalog file. Rejects with a readable Error when it is missing, unreadable or no JSON. */
export async function readCatalogFile(path: string): Promise<CatalogSource> {
  let text: string
  let updatedAt: number
  try {
    updatedAt = Math.floor((await stat(path)).mtimeMs / 1000)
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new Error(`${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
  try {
    return { name: path, content: JSON.parse(text), updatedAt }
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${(cause as Error).message}`, { cause })
  }
}
