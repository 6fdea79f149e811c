import type { DocumentChanges, DocumentModel, DocumentProvider } from './catalog-document.ts'
import type { RateDate } from './catalog-model.ts'

/** The merged entries of earlier documents, which changes modify in place. */
export interface ChangedCatalog {
  providers: Map<string, DocumentProvider>
  models: Map<string, RateDate & { model: DocumentModel }>
}

/**
 * Applies a document's changes to the earlier documents. Returns the names that do not exist: an edit may outlive
 * its model, so this is not a catalog error.
 */
export function applyChanges(
  { providers = [], models = [], offers = [] }: DocumentChanges,
  catalog: ChangedCatalog,
  date: RateDate,
): string[] {
  const unknown: string[] = []
  for (const { id, ...fields } of providers) {
    const provider = catalog.providers.get(id)
    if (provider) catalog.providers.set(id, { ...provider, ...fields })
    else unknown.push(`changes.providers: there is no provider ${JSON.stringify(id)}`)
  }
  for (const { id, ...fields } of models) {
    const entry = catalog.models.get(id)
    const changesRate = fields.rate !== undefined || fields.list_price !== undefined
    const model = entry && { ...entry.model, ...fields }
    if (entry && model) catalog.models.set(id, { ...entry, ...(changesRate && date), model })
    else unknown.push(`changes.models: there is no model ${JSON.stringify(id)}`)
  }
  return [...unknown, ...changeOffers(offers, catalog)]
}

function changeOffers(changes: NonNullable<DocumentChanges['offers']>, { models }: ChangedCatalog): string[] {
  if (changes.length === 0) return []
  const name = (offer: { provider: string; upstream_model: string }) =>
    `${offer.provider}/${offer.upstream_model}`
  const byName = new Map(changes.map((change) => [name(change), change]))
  const used = new Set<string>()
  for (const [id, entry] of models) {
    if (!entry.model.offers.some((offer) => byName.has(name(offer)))) continue
    const offers = entry.model.offers.map((offer) => {
      used.add(name(offer))
      return { ...offer, ...byName.get(name(offer)) }
    })
    models.set(id, { ...entry, model: { ...entry.model, offers } })
  }
  return [...byName.keys()]
    .filter((offer) => !used.has(offer))
    .map((offer) => `changes.offers: there is no offer ${JSON.stringify(offer)}`)
}
