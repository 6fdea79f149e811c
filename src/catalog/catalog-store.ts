import { stat } from 'node:fs/promises'
import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import { type CatalogEffect, catalogEffects } from '../core/catalog/catalog-effects.ts'
import type { ModelOptions } from '../core/catalog/catalog-model.ts'
import {
  buildCatalogSnapshot,
  type CatalogSource,
  type SnapshotOptions,
} from '../core/catalog/catalog-snapshot.ts'
import { localModelCatalog } from '../core/catalog/local-model-catalog.ts'
import { StartError } from '../core/kernel/errors.ts'
import { pollEvery } from '../platform/process/poll-every.ts'
import { readOllamaCatalog } from '../providers/listings/ollama-models.ts'
import { type CheckedCatalog, checkCatalog } from './catalog-check.ts'
import { readCatalogFile, readShippedCatalogs } from './catalog-file.ts'
import type { CatalogOverlay, OverlayWatch } from './catalog-overlay.ts'
import { isUsableWith, type PlatformKeys } from './platform-keys.ts'

export interface CatalogStoreOptions extends Omit<ModelOptions, 'isUsable' | 'unlisted'> {
  /** The operator's document, reloaded whenever it changes; null: none. */
  catalogFile: string | null
  /** Variables that edits may name as the key of a provider at any address. */
  catalogKeyNames: readonly string[]
  /** Offers of a provider whose key we do not have are not shared. */
  platformKeys: Pick<PlatformKeys, 'find'>
  simulatedProvidersUrl: string | null
  /** Whether the simulated providers replace the real ones. */
  simulateAll?: boolean
  ollamaUrl: string | null
  /** The server of the model that `npm start` was asked to run. */
  localModelUrl: string | null
  /** The shared part of the catalog; absent: none. The caller stops it. */
  overlay?: Pick<OverlayWatch, 'current' | 'onChange'>
  logger: CatalogLogger
}

export interface CatalogLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: { err: unknown; alarm?: string }, message: string): void
}

export type CatalogStore = Awaited<ReturnType<typeof createCatalogStore>>

const OLLAMA_REFRESH_MS = 60_000
/** How often the file is checked; events of its folder miss network file systems, bind mounts and replaced folders. */
const FILE_POLL_MS = 1_000
/** Delay after a change, so that a file written in place is complete when it is read. */
const FILE_SETTLE_MS = 100

/** The documents of a catalog, besides the shipped ones and the overlay's. */
interface LocalSources {
  ollama: CatalogSource | null
  file: CatalogSource | null
}

/**
 * Opens the catalog: built-in, simulated and Ollama's models, the fleet's price files, the operator's file, the
 * installed version of the router, and the operator's edits on top. Rejects with a readable Error if the operator's file cannot be used; later a
 * broken document is logged and the last good snapshot stays.
 */
export async function createCatalogStore(options: CatalogStoreOptions) {
  const { logger, overlay } = options
  const listeners = new Set<(snapshot: CatalogSnapshot) => void>()
  const { simulatedProvidersUrl, simulateAll, localModelUrl } = options
  const shipped = await readShippedCatalogs(simulatedProvidersUrl, simulateAll)
  if (localModelUrl !== null)
    shipped.push({ name: 'the local model', content: localModelCatalog(localModelUrl), updatedAt: 0 })
  const startedAt = Math.floor(Date.now() / 1000)
  let local: LocalSources = {
    ollama: await firstOllamaCatalog(options, startedAt),
    file: options.catalogFile === null ? null : await readCatalogFile(options.catalogFile),
  }
  const shared = (): CatalogOverlay | null => overlay?.current() ?? null
  /** Every document in order of application. */
  const sourcesOf = (
    { ollama, file }: LocalSources,
    fleet: CatalogOverlay | null,
    edits: CatalogSource | null,
  ) =>
    [
      ...[...shipped, ollama, ownCalls(fleet), ...(fleet?.prices ?? [])],
      ...[file, edits].map((source) => source && { ...source, isOwn: true }),
    ].filter((source) => source !== null)
  const buildFrom = (
    from: LocalSources,
    fleet = shared(),
    edits: CatalogSource | null = fleet?.stored ?? null,
  ) =>
    build(
      sourcesOf(from, fleet, edits),
      { ...snapshotOptions(options), unlisted: new Set(fleet?.unlisted) },
      logger,
    )
  let current = firstSnapshot()

  function firstSnapshot(): CatalogSnapshot {
    try {
      return buildFrom(local)
    } catch (error) {
      // Shared documents must not prevent a process from starting; its own must be valid.
      const alone = buildFrom(local, null)
      logger.error({ err: error, alarm: 'catalog-edits-unusable' }, 'catalog started without edits')
      return alone
    }
  }

  const publish = (from: LocalSources) => {
    const next = buildFrom(from)
    if (next.version === current.version) return
    current = next
    logger.info({ version: next.version, models: next.models.size }, 'catalog changed')
    for (const listener of listeners) listener(next)
  }

  const use = (changed: Partial<LocalSources>) => {
    const next = { ...local, ...changed }
    publish(next)
    local = next
  }

  let rereading = Promise.resolve()
  /** Reads are sequential, so that a slow one cannot overwrite newer content. */
  const rereadFile = (path: string): Promise<void> => {
    rereading = rereading.then(async () => {
      try {
        use({ file: await readCatalogFile(path) })
      } catch (error) {
        logger.error({ err: error }, 'catalog file invalid, keeping the last valid catalog')
      }
    })
    return rereading
  }

  const refreshOllama = async (url: string) => {
    try {
      use({ ollama: await readOllamaCatalog(url, startedAt) })
    } catch (error) {
      logger.warn({ err: error }, 'Ollama models not read, keeping the known ones')
    }
  }

  const stopFollowing = overlay?.onChange(() => {
    try {
      use({})
    } catch (error) {
      logger.error(
        { err: error, alarm: 'catalog-edits-unusable' },
        'catalog edits invalid, keeping the last valid catalog',
      )
    }
  })

  const { catalogFile } = options
  let settle: NodeJS.Timeout | undefined
  const followFile = async (path: string) => {
    let seen = await fileState(path)
    // Otherwise a change between the first read and the first check would be missed.
    await rereadFile(path)
    const look = async () => {
      const state = await fileState(path)
      if (state === seen) return
      seen = state
      clearTimeout(settle)
      settle = setTimeout(() => void rereadFile(path), FILE_SETTLE_MS)
    }
    return pollEvery(FILE_POLL_MS, look, (error) => logger.error({ err: error }, 'catalog file check failed'))
  }
  const stopFollowingFile = catalogFile === null ? undefined : await followFile(catalogFile)
  const { ollamaUrl } = options
  const refresh =
    ollamaUrl === null ? undefined : setInterval(() => void refreshOllama(ollamaUrl), OLLAMA_REFRESH_MS)
  refresh?.unref()
  logger.info(countsOf(current), 'catalog loaded')

  return {
    /** The current catalog. Costs nothing. */
    snapshot: (): CatalogSnapshot => current,
    /** Calls back with every new snapshot; returns a function that unsubscribes. */
    onChange(listener: (snapshot: CatalogSnapshot) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /** Checks a document of the operators' edits or of a price file, on top of all current documents. */
    check(content: unknown): CheckedCatalog {
      const from = sourcesOf(local, shared(), null)
      return checkCatalog(from, asEdits(content), snapshotOptions(options), options.catalogKeyNames)
    },
    /** The effects of a valid document as the operators' edits. Throws if it is not valid. */
    preview: (content: unknown): CatalogEffect[] =>
      catalogEffects(current, buildFrom(local, shared(), asEdits(content))),
    close(): void {
      stopFollowing?.()
      stopFollowingFile?.()
      clearTimeout(settle)
      clearInterval(refresh)
      listeners.clear()
    },
  }
}

/** Changes with the file's content, and when it is created or deleted. */
async function fileState(path: string): Promise<string> {
  const { ino, size, mtimeMs, ctimeMs } = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return { ino: 0, size: 0, mtimeMs: 0, ctimeMs: 0 }
  })
  return [ino, size, mtimeMs, ctimeMs].join()
}

/** Warnings about a catalog; assumed costs are an unconfirmed share of list prices. */
function countsOf({ version, models, offers }: CatalogSnapshot) {
  const shared = [...offers.values()].filter((offer) => offer.shared)
  const assumedCosts = shared.filter((offer) => !offer.costStated).length
  const losses = [...offers.values()].filter((offer) => offer.withheld === 'loss').length
  return { version, models: models.size, sharedOffers: shared.length, assumedCosts, withheldForLoss: losses }
}

/** Ollama's models; none if it does not respond, since it may start later. */
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

/** The tokens of this gateway's own calls as a document; null: none are known. */
function ownCalls(fleet: CatalogOverlay | null): CatalogSource | null {
  const models = Object.entries(fleet?.ownTokens ?? {}).map(([id, tokens]) => ({
    id,
    completion_tokens: tokens,
  }))
  if (models.length === 0) return null
  return { name: 'the tokens of own calls', content: { changes: { models } }, updatedAt: 0 }
}

/** A document that is not applied yet. */
const asEdits = (content: unknown): CatalogSource => ({
  name: 'the document',
  content,
  updatedAt: Math.floor(Date.now() / 1000),
})

const snapshotOptions = (options: CatalogStoreOptions): SnapshotOptions => ({
  ...options,
  generatedAt: Math.floor(Date.now() / 1000),
  isUsable: isUsableWith(options.platformKeys),
})

/** Builds a snapshot. Throws one Error that lists every problem. */
function build(
  sources: readonly CatalogSource[],
  options: SnapshotOptions,
  logger: CatalogLogger,
): CatalogSnapshot {
  const result = buildCatalogSnapshot(sources, options)
  if (result.kind === 'problems') {
    throw new StartError(`the catalog is not valid:\n  ${result.problems.join('\n  ')}`)
  }
  if (result.unknown.length > 0)
    logger.info({ unknown: result.unknown }, 'catalog changes name unknown entries')
  if (result.held.length > 0)
    logger.warn({ rates: result.held }, 'catalog rates limited to 5 % below their list prices')
  return result.snapshot
}
