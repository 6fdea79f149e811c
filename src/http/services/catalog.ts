import type { AutoChoiceCount } from '../../billing/reports/auto-choices.ts'
import type { CatalogEdits } from '../../catalog/catalog-edits-store.ts'
import type { CatalogStore } from '../../catalog/catalog-store.ts'
import type { PlatformKeys } from '../../catalog/platform-keys.ts'
import type { RateChangeTimes } from '../../catalog/pricing-feed.ts'
import type { RateEntry } from '../../catalog/rate-history-store.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import type { CompletionsSource } from '../../core/catalog/completions-source.ts'
import type { OfferHealth } from '../../offer-health/circuit-breaker/offer-health.ts'
import type { OfferMeasures } from '../../offer-health/offer-measures.ts'
import type { CatalogManagement } from '../../operators/catalog-management.ts'
import type { PlatformKeyManagement } from '../../operators/platform-key-management.ts'
import type { ReadProviderStatus } from '../account/provider-status-route.ts'

declare module 'fastify' {
  interface FastifyInstance {
    catalog: ApiCatalog
  }
}

/** Models, providers and rates: the current snapshot, the operators' edits, and the health of offers. */
export interface ApiCatalog extends Pick<CatalogStore, 'snapshot'> {
  previewEdits: CatalogStore['preview']
  catalogEdits: CatalogEdits
  catalogManagement: CatalogManagement
  platformKeys: PlatformKeyManagement
  offers: { health: OfferHealth; measures: OfferMeasures; platformKeys: PlatformKeys }
  providerStatus: ReadProviderStatus
  /** Newest first. */
  rateHistory: (modelId: string, limit: number) => Promise<RateEntry[]>
  rateTimes: (snapshot: CatalogSnapshot) => Promise<RateChangeTimes>
  /** Where completions come from. */
  completionsSource: () => CompletionsSource
  readAutoChoices: () => Promise<AutoChoiceCount[]>
}
