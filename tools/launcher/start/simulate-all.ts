import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { CatalogDocument } from '../../../src/core/catalog/catalog-document.ts'

const BUILT_IN = new URL('../../../src/catalog/data/builtin.json', import.meta.url)

type Environment = Record<string, string | undefined>

/**
 * While no provider's key is set, the simulated providers answer for every model, so that a newcomer can call
 * any of them. Not beside an operator's own catalog that replaces the built-in one, nor where the environment
 * has decided by itself.
 */
export function simulateAllEnvironment(root: string, environment: Environment): Record<string, string> {
  if (environment.SIMULATE_ALL) return { SIMULATE_ALL: environment.SIMULATE_ALL }
  const documents = [readDocument(BUILT_IN)]
  if (environment.CATALOG_FILE) documents.push(readDocument(resolve(root, environment.CATALOG_FILE)))
  const hasKey = documents
    .flatMap(({ providers = [] }) => providers)
    .some(({ api_key_env: name }) => name && environment[name])
  const isReplaced = documents.some(({ replace }) => replace)
  return hasKey || isReplaced ? {} : { SIMULATE_ALL: 'true' }
}

/** What cannot be read is said by the gateway, which reads it again. */
function readDocument(path: string | URL): CatalogDocument {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as CatalogDocument
  } catch {
    return {}
  }
}
