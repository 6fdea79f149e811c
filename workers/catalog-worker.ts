import { isDeepStrictEqual } from 'node:util'
import { Worker } from 'bullmq'
import type { Registry } from 'prom-client'
import { readCompletionTokens } from '../src/billing/reports/completion-tokens.ts'
import { announceEdits, latestEditsVersion } from '../src/catalog/catalog-edits-store.ts'
import { readPriceFile } from '../src/catalog/catalog-file.ts'
import { hasOverlay, writeOverlay } from '../src/catalog/catalog-overlay.ts'
import { checkPlatformKeys } from '../src/catalog/check-platform-keys.ts'
import { announcePlatformKeys, readPlatformKeys } from '../src/catalog/platform-key-store.ts'
import { recordRates } from '../src/catalog/rate-history-store.ts'
import { syncListings } from '../src/catalog/sync-listings.ts'
import type { ComposedCatalog } from '../src/compose/catalog.ts'
import type { Config } from '../src/config.ts'
import { ownTokens } from '../src/core/auto/own-tokens.ts'
import type { CatalogSource } from '../src/core/catalog/catalog-snapshot.ts'
import { HOUR_MS } from '../src/core/kernel/time.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import type { Postgres } from '../src/platform/postgres/postgres.ts'
import { pollEvery } from '../src/platform/process/poll-every.ts'
import { CATALOG_QUEUE, type CatalogQueue, scheduleCatalogJob } from '../src/platform/queues/queues.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { queuePrefix } from '../src/platform/redis/redis-keys.ts'
import { createCatalogMetrics } from './catalog-metrics.ts'

export interface CatalogWorkerOptions extends ComposedCatalog {
  config: Readonly<Config>
  redis: Redis
  /** In mode `wait`; BullMQ opens a second connection of it for blocking. */
  queueRedis: Redis
  postgres: Postgres
  queue: CatalogQueue
  registry: Registry
  logger: Logger
  clock: () => number
  /** Uniform in [0, 1): gateways that start together do not query providers together. */
  random: () => number
}

const SYNC_MS = 1_000
/** A process that stores edits or platform keys also copies them to Redis; every fifth run checks in PostgreSQL that it did. */
const EDITS_EVERY = 5
const LOCK_MS = 60_000
const JITTER = 0.2

/**
 * Keeps the catalog up to date. On a schedule shared by the fleet it reads the model lists of providers and the price
 * files, and every hour what completions take. Every second it checks that Redis has the overlay, also after a loss of data, and that every rate of a model is
 * in PostgreSQL; every five seconds that the overlay has the operator's edits and platform keys. All of it is repeatable
 * and can run in several processes. Waits for Redis.
 */
export async function startCatalogWorker(options: CatalogWorkerOptions) {
  const { config, queueRedis, platformKeys, catalog, logger } = options
  const metrics = createCatalogMetrics(options.registry, catalog.snapshot)
  const checkKeys = () => checkPlatformKeys(catalog.snapshot(), { platformKeys, logger })
  const jobs: Record<string, () => Promise<void>> = {
    async sync() {
      const report = await syncListings(catalog.snapshot(), options)
      metrics.noteSync(report, options.clock())
      logger.info(report, 'model lists read')
      await checkKeys()
    },
    prices: () => readPrices(options),
    tokens: () => readTokens(options),
  }
  const worker = new Worker<Record<string, never>>(CATALOG_QUEUE, async ({ name }) => jobs[name]?.(), {
    connection: queueRedis,
    prefix: queuePrefix(0),
    lockDuration: LOCK_MS,
  })
  worker.on('error', (error) => logger.error({ err: error, queue: CATALOG_QUEUE }, 'queue error'))
  worker.on('failed', (job, error) =>
    logger.error({ err: error, job: job?.name }, 'catalog job failed, retrying'),
  )
  await schedule(options)
  const checking = checkKeys()
  if (config.priceFiles.length > 0) {
    readPrices(options).catch((error: unknown) =>
      logger.error({ err: error }, 'price files not read, retrying on schedule'),
    )
  }
  const stopSync = pollEvery(SYNC_MS, createSync(options), (error) =>
    logger.warn({ err: error }, 'catalog sync failed'),
  )
  return {
    async stop() {
      stopSync()
      // Its requests have their own deadline.
      await checking
      await worker.close()
    },
  }
}

async function schedule({ queue, config, random }: CatalogWorkerOptions): Promise<void> {
  const everyMs = Math.round(config.catalogSyncMs * (1 + JITTER * (random() - 0.5)))
  await scheduleCatalogJob(queue, 'sync', everyMs)
  if (config.priceFiles.length > 0) await scheduleCatalogJob(queue, 'prices', everyMs)
  await scheduleCatalogJob(queue, 'tokens', HOUR_MS)
}

/** The work of every second. */
function createSync(parts: CatalogWorkerOptions): () => Promise<void> {
  const { redis, postgres, queue, overlay, catalog, logger } = parts
  let recorded: string | null = null
  let looks = 0
  return async () => {
    if ((await queue.getJobSchedulersCount()) === 0) await schedule(parts)
    const known = overlay.current()
    if (known !== null && !(await hasOverlay(redis))) {
      logger.warn('redis lost the catalog overlay, restoring it')
      const { version: _lost, ...parts } = known
      await writeOverlay(redis, parts)
    }
    if (looks++ % EDITS_EVERY === 0) {
      const version = await latestEditsVersion(postgres)
      if (version !== null && version !== known?.stored?.id) await announceEdits(postgres, redis)
      const keys = await readPlatformKeys(postgres)
      if (!isDeepStrictEqual(keys, known?.platformKeys ?? [])) await announcePlatformKeys(postgres, redis)
    }
    const snapshot = catalog.snapshot()
    if (snapshot.version === recorded) return
    const added = await recordRates(postgres, snapshot.models.values(), snapshot.version)
    recorded = snapshot.version
    if (added > 0) logger.info({ rates: added, version: snapshot.version }, 'rates recorded')
  }
}

/** Reads what completions take by model and kind. Changes the overlay, and so the catalog, only if a figure changes. */
async function readTokens({ redis, postgres, overlay, catalog, clock }: CatalogWorkerOptions): Promise<void> {
  const inUse = overlay.current()?.ownTokens ?? {}
  const measured = await readCompletionTokens(postgres, clock())
  const next = ownTokens(measured, inUse, [...catalog.snapshot().models.values()])
  if (!isDeepStrictEqual(next, inUse)) await writeOverlay(redis, { ownTokens: next })
}

/** Reads every price file. An unusable file keeps its last content. */
async function readPrices({ config, redis, overlay, catalog, logger }: CatalogWorkerOptions): Promise<void> {
  const before = overlay.current()?.prices ?? []
  const prices: CatalogSource[] = []
  for (const [index, location] of config.priceFiles.entries()) {
    try {
      const document = await readPriceFile(location)
      const checked = catalog.check(document.content)
      if (checked.kind === 'problems') throw new Error(checked.problems.join('\n'))
      prices.push(document)
    } catch (error) {
      logger.error(
        { err: error, alarm: 'price-file-unusable', subject: `price file ${index + 1}` },
        'price file not used',
      )
      const last = before[index]
      if (last) prices.push(last)
    }
  }
  if (JSON.stringify(prices) !== JSON.stringify(before)) await writeOverlay(redis, { prices })
}
