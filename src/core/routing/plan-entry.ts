import { AUTO_MODEL } from '../auto/auto-bounds.ts'
import { type AutoDecision, chooseAutoModels } from '../auto/auto-routing.ts'
import type { ChatRequest, Sort } from '../calls/chat-request.ts'
import { type CatalogSnapshot, findModel, type Model } from '../catalog/catalog.ts'
import { isAllowed, type OfferFilter } from './offer-filter.ts'
import type { RequestShape } from './request-shape.ts'

/** One model to try: an entry of the request, resolved. */
export interface PlanEntry {
  asked: string
  model: Model
  sort: Sort | undefined
  exactTools: boolean
}

export const SUFFIXES: Record<string, Pick<PlanEntry, 'sort' | 'exactTools'>> = {
  nitro: { sort: 'throughput', exactTools: false },
  floor: { sort: 'price', exactTools: false },
  exacto: { sort: undefined, exactTools: true },
}

/** What one asked name stands for: a model, or those that `auto` chooses. No entries: nothing of that name. */
export function resolveEntry(
  asked: string,
  request: ChatRequest,
  shape: RequestShape,
  filter: OfferFilter,
  catalog: CatalogSnapshot,
): { entries: PlanEntry[]; auto?: AutoDecision } {
  const whole = findModel(catalog, asked)
  if (whole) return { entries: [{ asked, model: whole, sort: undefined, exactTools: false }] }
  const colon = asked.lastIndexOf(':')
  const suffix = colon < 0 ? null : asked.slice(colon + 1)
  const base = colon < 0 ? asked : asked.slice(0, colon)
  if (suffix !== null && !Object.hasOwn(SUFFIXES, suffix)) return { entries: [] }
  const preference = (suffix !== null && SUFFIXES[suffix]) || { sort: undefined, exactTools: false }
  if (base !== AUTO_MODEL) {
    const model = findModel(catalog, base)
    return { entries: model ? [{ asked, model, ...preference }] : [] }
  }
  const { models, ...auto } = chooseAutoModels(request, shape, catalog, (model) =>
    model.offers.some((offer) => offer.shared && isAllowed(offer, model, filter, preference.exactTools)),
  )
  return { entries: models.map((model) => ({ asked, model, ...preference })), auto }
}
