import { Gauge, type Registry } from 'prom-client'
import type { SyncReport } from '../src/catalog/sync-listings.ts'
import { type CatalogSnapshot, isAvailable } from '../src/core/catalog/catalog.ts'

/** Registers the gauges of the catalog; models and offers are counted on each scrape. */
export function createCatalogMetrics(registry: Registry, snapshot: () => CatalogSnapshot) {
  const registers = [registry]
  new Gauge({
    name: 'shuntyard_catalog_models',
    help: 'Models of the catalog, by whether any offer serves them.',
    labelNames: ['status'],
    registers,
    collect() {
      const models = [...snapshot().models.values()]
      const available = models.filter(isAvailable).length
      this.set({ status: 'available' }, available)
      this.set({ status: 'unavailable' }, models.length - available)
    },
  })
  new Gauge({
    name: 'shuntyard_catalog_offers',
    help: 'Offers of the catalog: shared, or why not.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of Object.entries(offerStates(snapshot()))) this.set({ state }, count)
    },
  })
  const providers = new Gauge({
    name: 'shuntyard_catalog_sync_providers',
    help: 'Providers by the result of reading their list of models in the last round.',
    labelNames: ['outcome'],
    registers,
  })
  const lastSuccess = new Gauge({
    name: 'shuntyard_catalog_sync_last_success_timestamp_seconds',
    help: 'When a list of models was last read and accepted.',
    registers,
  })
  return {
    noteSync({ noted, failed, implausible }: SyncReport, nowMs: number) {
      providers.set({ outcome: 'noted' }, noted)
      providers.set({ outcome: 'failed' }, failed)
      providers.set({ outcome: 'implausible' }, implausible)
      if (noted > 0) lastSuccess.set(nowMs / 1000)
    },
  }
}

function offerStates(catalog: CatalogSnapshot): Record<string, number> {
  const states = { shared: 0, no_key: 0, loss: 0, unlisted: 0, disabled: 0 }
  for (const model of catalog.models.values()) {
    for (const offer of model.offers) states[offer.withheld ?? 'shared'] += 1
    for (const { reason } of model.withdrawn ?? []) states[reason] += 1
  }
  return states
}
