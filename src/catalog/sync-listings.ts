import type { CatalogSnapshot, Provider } from '../core/catalog/catalog.ts'
import { type ListingState, noteListing, unlistedOf } from '../core/catalog/listing-state.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { CATALOG_LISTINGS } from '../platform/redis/redis-keys.ts'
import { offeredModels } from '../providers/listings/compare-listings.ts'
import { readListing } from '../providers/listings/read-listing.ts'
import { readOverlay, writeOverlay } from './catalog-overlay.ts'
import type { PlatformKeys } from './platform-keys.ts'

export interface SyncDependencies {
  redis: Redis
  platformKeys: Pick<PlatformKeys, 'find'>
  logger: Logger
  clock: () => number
}

export interface SyncReport {
  /** Providers whose list was read and accepted. */
  noted: number
  failed: number
  implausible: number
  /** Unused offers that their providers do not list. */
  unlisted: number
}

const PROVIDERS_AT_ONCE = 8

/**
 * Reads the model lists of all providers whose key we have and whose offers follow them, and marks offers that
 * disappeared or returned.
 * If a list is unreadable or implausible, the provider's state stays. Rejects if Redis is
 * unavailable.
 */
export async function syncListings(catalog: CatalogSnapshot, deps: SyncDependencies): Promise<SyncReport> {
  const { redis } = deps
  const states = parseStates(await redis.hgetall(CATALOG_LISTINGS))
  const report: SyncReport = { noted: 0, failed: 0, implausible: 0, unlisted: 0 }
  const offers = [...catalog.models.values()].flatMap((model) => [
    ...model.offers,
    ...(model.withdrawn ?? []).map(({ offer }) => offer),
  ])
  const following = new Set(offers.flatMap(({ provider, ignoresList }) => (ignoresList ? [] : [provider])))
  const waiting = [...offeredModels(catalog)].filter(([provider]) => following.has(provider))
  const work = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [provider, offered] = next
      const outcome = await syncProvider(provider, offered, states.get(provider.id) ?? null, deps)
      report[outcome.kind] += 1
      if (outcome.kind === 'noted') states.set(provider.id, outcome.state)
    }
  }
  await Promise.all(Array.from({ length: PROVIDERS_AT_ONCE }, work))

  if (states.size > 0) {
    await redis.hset(
      CATALOG_LISTINGS,
      Object.fromEntries([...states].map(([id, state]) => [id, JSON.stringify(state)])),
    )
  }
  const unlisted = [...states]
    .flatMap(([id, { missing }]) => unlistedOf(missing).map((model) => `${id}/${model}`))
    .sort()
  report.unlisted = unlisted.length
  const known = (await readOverlay(redis))?.unlisted ?? []
  if (JSON.stringify(known) !== JSON.stringify(unlisted)) await writeOverlay(redis, { unlisted })
  return report
}

type Outcome = { kind: 'noted'; state: ListingState } | { kind: 'failed' | 'implausible' }

async function syncProvider(
  provider: Provider,
  offered: readonly string[],
  previous: ListingState | null,
  { platformKeys, logger, clock }: SyncDependencies,
): Promise<Outcome> {
  let listed: Set<string>
  try {
    listed = await readListing(provider, platformKeys.find(provider)?.secret)
  } catch (error) {
    logger.warn({ err: error, providerId: provider.id }, 'model list read failed')
    return { kind: 'failed' }
  }
  const verdict = noteListing(previous, offered, listed, clock())
  if (verdict.kind === 'implausible') {
    logger.error(
      {
        alarm: 'model-list-implausible',
        providerId: provider.id,
        missing: verdict.missing,
        offered: verdict.offered,
      },
      'model list implausible, ignoring it',
    )
    return { kind: 'implausible' }
  }
  const before = new Set(unlistedOf(previous?.missing ?? {}))
  const gone = verdict.unlisted.filter((model) => !before.has(model))
  if (gone.length > 0) logger.warn({ providerId: provider.id, models: gone }, 'offers no longer listed')
  return { kind: 'noted', state: verdict.state }
}

/** The states in Redis, without invalid entries. */
function parseStates(hash: Record<string, string>): Map<string, ListingState> {
  const entries = Object.entries(hash).flatMap(([id, text]): Array<[string, ListingState]> => {
    const state = JSON.parse(text) as Partial<ListingState> | null
    const isState =
      typeof state?.missing === 'object' && state.missing !== null && typeof state.readAt === 'number'
    return isState ? [[id, state as ListingState]] : []
  })
  return new Map(entries)
}
