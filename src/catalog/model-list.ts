import {
  type CatalogSnapshot,
  isAvailable,
  type Model,
  type Offer,
  type TokenRates,
} from '../core/catalog/catalog.ts'
import { listedModels } from '../core/catalog/listed-models.ts'
import { describeModel } from '../core/catalog/model-description.ts'
import { formatRates, mapRates, rateOf, withoutCache } from '../core/catalog/token-rates.ts'
import { formatUsd } from '../core/kernel/money.ts'

const OWNER = 'shuntyard'

/** 2026-01-05, Unix seconds: The fixed creation time of `auto`, independent of process starts. */
const AUTO_CREATED = 1_767_571_200

const AUTO = { id: 'auto', object: 'model' as const, created: AUTO_CREATED, owned_by: OWNER }

/** The body of GET /v1/models for ordinary keys: one opaque entry, for a key that may use it. */
export function opaqueModelList(mayUseAuto: boolean) {
  return { object: 'list' as const, data: mayUseAuto ? [AUTO] : [] }
}

/** What the libraries of other routers require of every model, and no model has here. */
const ROUTER_FIELDS = { default_parameters: null, per_request_limits: null, supported_voices: null }

/** `auto` beside named models. Its window and its price are those of the model that it chooses. */
const AUTO_MODEL = {
  ...AUTO,
  name: 'Auto',
  canonical_slug: AUTO.id,
  context_length: null,
  architecture: { modality: null, input_modalities: ['text'], output_modalities: ['text'] },
  pricing: { prompt: '-1', completion: '-1' },
  supported_parameters: [],
  top_provider: { context_length: null, max_completion_tokens: null, is_moderated: false },
  links: { details: '/v2/models/auto' },
  ...ROUTER_FIELDS,
}

/** The body of GET /v2/models: `auto`, every listed model that a key may name and its aliases, without targets and costs. */
export function publicModelList(
  catalog: Pick<CatalogSnapshot, 'models' | 'aliases' | 'autoLadder'>,
  isAllowed: (model: Model) => boolean,
) {
  const listed = listedModels(catalog).filter(isAllowed)
  const aliases = [...(catalog.aliases ?? [])].flatMap(([id, models]) => {
    const model = models.find((one) => listed.includes(one))
    return model ? [{ ...publicModel(model), id }] : []
  })
  const data = [
    ...(catalog.autoLadder.some(isAllowed) ? [AUTO_MODEL] : []),
    ...listed.map(publicModel),
    ...aliases,
  ]
  return { object: 'list' as const, data, total_count: data.length, links: { next: null } }
}

/** The body of GET /v2/models/{id}: also of a model that no list has. Undefined: the key may not name it. */
export function publicModelOf(
  { models, aliases, autoLadder }: Pick<CatalogSnapshot, 'models' | 'aliases' | 'autoLadder'>,
  id: string,
  isAllowed: (model: Model) => boolean,
) {
  if (id === AUTO.id) return autoLadder.some(isAllowed) ? AUTO_MODEL : undefined
  const model = (aliases?.get(id) ?? [models.get(id)]).find((one) => one && isAllowed(one))
  return model && { ...publicModel(model), id, description: describeModel(model) }
}

/** A model, also in the fields that the libraries of other routers read. */
function publicModel(model: Model) {
  const { reasoning, ...identity } = identityOf(model)
  const { contextLength: context_length, inputModalities, maxOutputTokens } = model
  const output = OUTPUTS[model.kind] ?? 'text'
  return {
    ...identity,
    supported_parameters: [...model.supportedParameters],
    // Its absence is a model that does not reason.
    ...(reasoning && { reasoning: { mandatory: false } }),
    rate: formatRates(model.rate),
    status: isAvailable(model) ? ('available' as const) : ('unavailable' as const),
    canonical_slug: model.id,
    architecture: {
      modality: `${inputModalities.join('+')}->${output}`,
      input_modalities: inputModalities,
      output_modalities: [output],
    },
    pricing: pricingOf(model.rate),
    top_provider: { context_length, max_completion_tokens: maxOutputTokens, is_moderated: false },
    links: { details: `/v2/models/${encodeURIComponent(model.id)}` },
    ...ROUTER_FIELDS,
  }
}

/** What models of a kind produce; absent: text. */
const OUTPUTS: Partial<Record<Model['kind'], string>> = {
  embeddings: 'embeddings',
  rerank: 'rerank',
  image: 'image',
  speech: 'speech',
  transcription: 'transcription',
}

/** Rates in USD per token and per use. */
const pricingOf = (rate: TokenRates) => {
  const usd = (kind: keyof TokenRates) => formatUsd(rateOf(rate, kind))
  return {
    prompt: usd('prompt'),
    completion: usd('completion'),
    ...(rate.promptImage !== undefined && { image_token: usd('promptImage') }),
    ...(rate.promptAudio !== undefined && { audio: usd('promptAudio') }),
    ...(rate.cacheRead !== undefined && { input_cache_read: usd('cacheRead') }),
    ...(rate.cacheWrite !== undefined && { input_cache_write: usd('cacheWrite') }),
    ...(rate.cacheWriteHour !== undefined && { input_cache_write_1h: usd('cacheWriteHour') }),
    ...(rate.webSearch !== undefined && { web_search: usd('webSearch') }),
  }
}

/** The body of GET /v1/models for admin keys: the whole catalog, including providers and costs. */
export function catalogModelList(models: Iterable<Model>) {
  return { object: 'list' as const, data: [...models].map(catalogModel) }
}

/** The description of a model for admins; also printed by `catalog show`. */
export function catalogModel(model: Model) {
  return {
    ...identityOf(model),
    auto: model.auto,
    list_price: formatRates(model.listPrice),
    rate: formatRates(model.rate),
    rate_version: model.rateVersion,
    available: isAvailable(model),
    margin: marginRange(model),
    offers: [
      ...model.offers.map((offer) => catalogOffer(offer, model, offer.withheld ?? null)),
      ...(model.withdrawn ?? []).map(({ offer, reason }) => catalogOffer(offer, model, reason)),
    ],
  }
}

const identityOf = (model: Model) => ({
  id: model.id,
  object: 'model' as const,
  created: model.updatedAt,
  owned_by: model.vendor,
  name: model.name,
  kind: model.kind,
  ...sizesOf(model),
  supported_parameters: model.supportedParameters,
  reasoning: model.reasoning,
  open_weights: model.openWeights,
})

/** What a model takes and gives, as its descriptions have it. */
export const sizesOf = (model: Model) => ({
  ...(model.unit && { unit: model.unit }),
  ...(model.leastUnits !== undefined && { least_units: model.leastUnits }),
  ...(model.imageUnits && { image_units: model.imageUnits }),
  ...(model.dimensions !== undefined && { dimensions: model.dimensions }),
  context_length: model.contextLength,
  max_output_tokens: model.maxOutputTokens,
  input_modalities: model.inputModalities,
})

const catalogOffer = (offer: Offer, model: Model, withheld: string | null) => ({
  id: offer.id,
  provider: offer.provider.id,
  upstream_model: offer.upstreamModel,
  cost: formatRates(offer.cost),
  /** `assumed`: the default share of the list price; no document states a cost. */
  cost_basis: offer.costStated ? 'stated' : 'assumed',
  margin: formatRates(marginOf(offer, model)),
  shared: withheld === null,
  /** Why it is not shared: `no_key`, `loss`, `unlisted` or `disabled`. */
  withheld,
  zdr: offer.provider.zdr,
  data_collection: offer.provider.dataCollection,
  priority: offer.priority,
  ...(offer.weight !== undefined && { weight: offer.weight }),
  exact_tools: offer.exactTools,
  assistant_prefill: offer.assistantPrefill,
})

/** Rate less cost, per million tokens; negative for a loss. */
const marginOf = ({ cost, lossCache }: Offer, { rate }: Model): TokenRates => {
  const kinds = { ...cost, ...rate }
  return mapRates(
    lossCache ? withoutCache(kinds) : kinds,
    (_, kind) => rateOf(rate, kind) - rateOf(cost, kind),
  )
}

/** The worst and best margin of the shared offers; null if there is none. */
function marginRange(model: Model) {
  const margins = model.offers.filter((offer) => offer.shared).map((offer) => marginOf(offer, model))
  if (margins.length === 0) return null
  const pick = (best: boolean) => {
    const extreme = (kind: 'prompt' | 'completion' | 'units') =>
      margins.map((margin) => rateOf(margin, kind)).reduce((a, b) => (a > b === best ? a : b))
    return formatRates({
      prompt: extreme('prompt'),
      completion: extreme('completion'),
      ...(model.unit && { units: extreme('units') }),
    })
  }
  return { worst: pick(false), best: pick(true) }
}
