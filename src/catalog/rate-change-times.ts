import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { RateChangeTimes } from './pricing-feed.ts'
import { readRateTimes, recordRates } from './rate-history-store.ts'

/**
 * Since when the models of a catalog have their rates: the recorded time if the rate history has a change, or if no
 * document is dated. Records what the catalog worker has not recorded yet, so that every process
 * gets the same result from the first time on. Rejects while PostgreSQL is unavailable.
 */
export async function readRateChangeTimes(
  postgres: Postgres,
  { models, version }: CatalogSnapshot,
): Promise<RateChangeTimes> {
  await recordRates(postgres, models.values(), version)
  const times = new Map<string, number>()
  for (const { modelId, rateVersion, since, isFirst } of await readRateTimes(postgres, [...models.keys()])) {
    const model = models.get(modelId)
    if (model?.rateVersion !== rateVersion || (isFirst && model.dated)) continue
    times.set(modelId, Math.floor(since.getTime() / 1000))
  }
  return times
}
