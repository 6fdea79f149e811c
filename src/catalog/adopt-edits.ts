import type { Postgres } from '../platform/postgres/postgres.ts'
import type { OverlayWatch } from './catalog-overlay.ts'
import type { CatalogLogger, CatalogStore } from './catalog-store.ts'
import { recordRates } from './rate-history-store.ts'

/**
 * Applies new edits in this process and records their rates, so that their author sees them at once. Never rejects: the
 * edits also arrive by message, and the catalog worker records rates.
 */
export async function adoptEdits(parts: {
  overlay: Pick<OverlayWatch, 'reread'>
  catalog: Pick<CatalogStore, 'snapshot'>
  postgres: Postgres
  logger: CatalogLogger
}): Promise<void> {
  try {
    await parts.overlay.reread()
    const { models, version } = parts.catalog.snapshot()
    await recordRates(parts.postgres, models.values(), version)
  } catch (error) {
    parts.logger.warn({ err: error }, 'catalog edits not applied in this process yet')
  }
}
