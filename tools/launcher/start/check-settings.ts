import { readCatalogFile, readShippedCatalogs } from '../../../src/catalog/catalog-file.ts'
import { type Config, readConfig, UNUSED_SERVICES } from '../../../src/config.ts'
import { buildCatalogSnapshot } from '../../../src/core/catalog/catalog-snapshot.ts'
import { StartError } from '../../../src/core/kernel/start-error.ts'

const SIMULATED_PROVIDERS_URL = 'http://127.0.0.1:1'

/**
 * Checks what the processes will be started with, before anything is: the environment and the catalog file. What
 * it does not name, `npm start` brings along. Throws StartError.
 */
export async function checkSettings(environment: Record<string, string | undefined>): Promise<void> {
  const given = Object.entries(environment).filter(([, value]) => value)
  const config = readConfig({ ...UNUSED_SERVICES, ...Object.fromEntries(given) })
  if (config.catalogFile !== null) await checkCatalog(config, config.catalogFile)
}

async function checkCatalog(config: Config, path: string): Promise<void> {
  const sources = [...(await readShippedCatalogs(SIMULATED_PROVIDERS_URL)), await readCatalogFile(path)]
  const result = buildCatalogSnapshot(sources, { ...config, generatedAt: 0, isUsable: () => true })
  if (result.kind === 'problems')
    throw new StartError(`the catalog is not valid:\n  ${result.problems.join('\n  ')}`)
}
