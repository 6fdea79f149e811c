import type { CatalogSnapshot, Model, Offer, TokenRates } from '../core/catalog.ts'
import { formatRate } from '../core/money.ts'

const OWNER = 'switchyard'

/** The body of GET /v1/models for ordinary keys: one opaque entry. */
export function opaqueModelList(catalog: CatalogSnapshot) {
  const auto = { id: 'auto', object: 'model', created: catalog.generatedAt, owned_by: OWNER }
  return { object: 'list', data: [auto] }
}

/** The body of GET /v1/models for admin keys: the whole catalog, providers and costs included. */
export function catalogModelList(models: Iterable<Model>) {
  return { object: 'list', data: [...models].map(catalogModel) }
}

/** One model as admins see it; also what `catalog show` prints. */
export function catalogModel(model: Model) {
  return {
    id: model.id,
    object: 'model',
    created: model.updatedAt,
    owned_by: model.vendor,
    name: model.name,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: model.inputModalities,
    supported_parameters: model.supportedParameters,
    reasoning: model.reasoning,
    open_weights: model.openWeights,
    auto: model.auto,
    list_price: prices(model.listPrice),
    rate: prices(model.rate),
    rate_version: model.rateVersion,
    offers: model.offers.map(catalogOffer),
  }
}

const catalogOffer = (offer: Offer) => ({
  id: offer.id,
  provider: offer.provider.id,
  upstream_model: offer.upstreamModel,
  cost: prices(offer.cost),
  shared: offer.shared,
  zdr: offer.provider.zdr,
  data_collection: offer.provider.dataCollection,
  exact_tools: offer.exactTools,
  assistant_prefill: offer.assistantPrefill,
})

const prices = ({ prompt, completion }: TokenRates) => ({
  prompt: formatRate(prompt),
  completion: formatRate(completion),
})
