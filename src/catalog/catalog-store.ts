import type { CatalogSnapshot, Provider } from '../core/catalog.ts'
import { buildCatalogSnapshot, type CatalogSource } from '../core/catalog-snapshot.ts'
import { readCatalogFile, readShippedCatalogs } from './catalog-file.ts'
import { type FileWatch, watchFile } from './file-watch.ts'
import { readOllamaCatalog } from './ollama-models.ts'

export interface CatalogStoreOptions {
  /** The operator's document, read again whenever it changes; null for none. */
  catalogFile: string | null
  /** Provider keys are looked up here; offers without their key are left out. */
  environment: Record<string, string | undefined>
  simulatedProvidersUrl: string | null
  ollamaUrl: string | null
  discountPercent: number
  openWeightsDiscountPercent: number
  costPercent?: number
  openWeightsCostPercent?: number
  allowLossOffers?: boolean
  logger: CatalogLogger
}

/** The part of a logger that the catalog uses. */
export interface CatalogLogger {
  info(fields: object, message: string): void
  warn(fields: { err: unknown }, message: string): void
  error(fields: { err: unknown }, message: string): void
}

export interface CatalogStore {
  /** The catalog of this moment. Costs nothing. */
  snapshot(): CatalogSnapshot
  /** Calls back with every new snapshot; returns how to stop that. */
  onChange(listener: (snapshot: CatalogSnapshot) => void): () => void
  close(): void
}

const OLLAMA_REFRESH_MS = 60_000

/**
 * Opens the catalog: built-in, simulated and Ollama's models, and over them the operator's file. Rejects
 * with a readable Error when the operator's file cannot be used; later a broken file is logged and the last
 * good snapshot stays.
 */
export async function createCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { logger } = options
  const listeners = new Set<(snapshot: CatalogSnapshot) => void>()
  const shipped = await readShippedCatalogs(options.simulatedProvidersUrl)
  const startedAt = Math.floor(Date.now() / 1000)
  let ollama = await firstOllamaCatalog(options, startedAt)
  let file = options.catalogFile === null ? null : await readCatalogFile(options.catalogFile)
  let current = build([...shipped, ollama, file], options)

  const publish = (sources: ReadonlyArray<CatalogSource | null>) => {
    const next = build(sources, options)
    if (next.version === current.version) return
    current = next
    logger.info({ version: next.version, models: next.models.size }, 'catalog changed')
    for (const listener of listeners) listener(next)
  }

  const rereadFile = async (path: string) => {
    try {
      const changed = await readCatalogFile(path)
      publish([...shipped, ollama, changed])
      file = changed
    } catch (error) {
      logger.error({ err: error }, 'catalog file not used; the last good catalog stays')
    }
  }

  const refreshOllama = async (url: string) => {
    try {
      const listed = await readOllamaCatalog(url, startedAt)
      publish([...shipped, listed, file])
      ollama = listed
    } catch (error) {
      logger.warn({ err: error }, 'Ollama models not read; the ones known stay')
    }
  }

  let watching: FileWatch | undefined
  const { catalogFile } = options
  if (catalogFile !== null) {
    watching = await watchFile(
      catalogFile,
      () => void rereadFile(catalogFile),
      (error) => logger.warn({ err: error }, 'catalog file events not available; polling it'),
    )
    // A change between the first reading and the start of the watch would otherwise go unnoticed.
    await rereadFile(catalogFile)
  }
  const { ollamaUrl } = options
  const refresh =
    ollamaUrl === null ? undefined : setInterval(() => void refreshOllama(ollamaUrl), OLLAMA_REFRESH_MS)
  refresh?.unref()
  logger.info({ version: current.version, models: current.models.size }, 'catalog loaded')

  return {
    snapshot: () => current,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close() {
      watching?.close()
      clearInterval(refresh)
      listeners.clear()
    },
  }
}

/** Ollama's models; none when it does not answer, since it may come up later. */
async function firstOllamaCatalog(
  options: CatalogStoreOptions,
  updatedAt: number,
): Promise<CatalogSource | null> {
  if (options.ollamaUrl === null) return null
  try {
    return await readOllamaCatalog(options.ollamaUrl, updatedAt)
  } catch (error) {
    options.logger.warn({ err: error }, 'Ollama models not read')
    return null
  }
}

/** Builds a snapshot. Throws one Error that lists every problem. */
function build(sources: ReadonlyArray<CatalogSource | null>, options: CatalogStoreOptions): CatalogSnapshot {
  const result = buildCatalogSnapshot(
    sources.filter((source) => source !== null),
    {
      ...options,
      generatedAt: Math.floor(Date.now() / 1000),
      isUsable: hasKey(options.environment),
    },
  )
  if (result.kind === 'problems') {
    throw new Error(`The catalog is not valid:\n  ${result.problems.join('\n  ')}`)
  }
  return result.snapshot
}

/** Whether a provider's key is in the environment, or none is needed. */
export const hasKey =
  (environment: Record<string, string | undefined>) =>
  ({ apiKeyEnv }: Provider): boolean =>
    apiKeyEnv === null || Boolean(environment[apiKeyEnv])
