import { createHash } from 'node:crypto'
import {
  type CatalogSnapshot,
  compareByPrice,
  isAvailable,
  type Model,
  type Offer,
  type Provider,
  type ProviderQuirks,
  type TokenRates,
} from './catalog.ts'
import {
  type CatalogDocument,
  type DocumentModel,
  type DocumentOffer,
  type DocumentPrices,
  type DocumentProvider,
  type DocumentQuirks,
  parseCatalogDocument,
} from './catalog-document.ts'
import { formatRate, parseRate } from './money.ts'
import { listedRate } from './pricing.ts'

/** A document with what is known of it. */
export interface CatalogSource {
  /** Named in problems: a path, or what it is. */
  name: string
  content: unknown
  /** Unix seconds: when the content last changed. A document's own `dated` goes before it. */
  updatedAt: number
  /** `auto` chooses these models only where no other source has any for it. */
  autoLastResort?: boolean
}

export interface SnapshotOptions {
  discountPercent: number
  openWeightsDiscountPercent: number
  /** Unix seconds. */
  generatedAt: number
  /** Whether we hold this provider's key; its offers are shared then. */
  isUsable: (provider: Provider) => boolean
}

export type SnapshotResult =
  | { kind: 'snapshot'; snapshot: CatalogSnapshot }
  | { kind: 'problems'; problems: string[] }

/**
 * Builds the catalog from documents, in order: a later one overrides providers and models of the same id,
 * and with `replace` everything before it. Models without a shared offer stay: their prices are known. Pure.
 */
export function buildCatalogSnapshot(
  sources: readonly CatalogSource[],
  options: SnapshotOptions,
): SnapshotResult {
  const parsed = sources.map((source) => ({ source, result: parseCatalogDocument(source.content) }))
  const problems = parsed.flatMap(({ source, result }) =>
    result.kind === 'problems' ? result.problems.map((problem) => `${source.name}: ${problem}`) : [],
  )
  if (problems.length > 0) return { kind: 'problems', problems }

  const providers = new Map<string, Provider>()
  const models = new Map<string, CatalogEntry>()
  for (const { source, result } of parsed) {
    if (result.kind !== 'document') continue
    const { document } = result
    if (document.replace) {
      providers.clear()
      models.clear()
    }
    const updatedAt = updatedAtOf(document, source)
    for (const provider of document.providers ?? []) providers.set(provider.id, toProvider(provider))
    for (const [index, model] of (document.models ?? []).entries()) {
      models.set(model.id, { model, source, path: `models[${index}]`, updatedAt })
    }
  }

  for (const { model, source, path } of models.values()) {
    for (const [index, offer] of model.offers.entries()) {
      if (providers.has(offer.provider)) continue
      problems.push(
        `${source.name}: ${path}.offers[${index}].provider: there is no provider ${JSON.stringify(offer.provider)}`,
      )
    }
  }
  if (problems.length > 0) return { kind: 'problems', problems }
  return { kind: 'snapshot', snapshot: assemble([...models.values()], providers, options) }
}

/** A model with where it came from. */
interface CatalogEntry {
  model: DocumentModel
  source: CatalogSource
  path: string
  updatedAt: number
}

function assemble(
  entries: readonly CatalogEntry[],
  providers: ReadonlyMap<string, Provider>,
  options: SnapshotOptions,
): CatalogSnapshot {
  const models = new Map<string, Model>()
  const offers = new Map<string, Offer>()
  const lastResorts = new Set<Model>()
  for (const { model, source, updatedAt } of entries) {
    const built = toModel(
      model,
      model.offers.map((offer) => toOffer(offer, model, providers.get(offer.provider)!, offers, options)),
      updatedAt,
      options,
    )
    for (const offer of built.offers) offers.set(offer.id, offer)
    models.set(model.id, built)
    if (source.autoLastResort) lastResorts.add(built)
  }
  const automatic = [...models.values()]
    .filter((model) => model.auto && isAvailable(model))
    .sort(compareByPrice)
  const preferred = automatic.filter((model) => !lastResorts.has(model))
  const autoLadder = preferred.length > 0 ? preferred : automatic
  const version = shortHash(JSON.stringify([...models.values()], hashedValue))
  return { version, generatedAt: options.generatedAt, models, offers, autoLadder }
}

function toProvider(provider: DocumentProvider): Provider {
  return {
    id: provider.id,
    name: provider.name ?? provider.id,
    wire: provider.wire ?? 'chat-completions',
    baseUrl: provider.base_url.replace(/\/+$/, ''),
    apiKeyEnv: provider.api_key_env ?? null,
    zdr: provider.zdr ?? false,
    dataCollection: provider.data_collection ?? 'allow',
    limitParameter: provider.limit_parameter ?? 'max_tokens',
    ...(provider.quirks !== undefined && { quirks: toQuirks(provider.quirks) }),
  }
}

const QUIRK_NAMES: { [Name in keyof DocumentQuirks]-?: keyof ProviderQuirks } = {
  auth_header: 'authHeader',
  path: 'path',
  headers: 'headers',
  fixed_fields: 'fixedFields',
  omit: 'omit',
  json_object_only: 'jsonObjectOnly',
  temperature_max: 'temperatureMax',
  one_sampling_parameter: 'oneSamplingParameter',
  named_roles: 'namedRoles',
  prefill_field: 'prefillField',
}

const toQuirks = (quirks: DocumentQuirks): ProviderQuirks =>
  Object.fromEntries(
    Object.entries(quirks).map(([name, value]) => [QUIRK_NAMES[name as keyof DocumentQuirks], value]),
  )

function toOffer(
  offer: DocumentOffer,
  model: DocumentModel,
  provider: Provider,
  taken: ReadonlyMap<string, Offer>,
  options: SnapshotOptions,
): Offer {
  const id = `${provider.id}/${offer.upstream_model}`
  return {
    // Two models may share one upstream model, at prices of their own; the first keeps the short id.
    id: taken.has(id) ? `${id}@${model.id}` : id,
    provider,
    upstreamModel: offer.upstream_model,
    cost: toRates(offer.cost ?? model.list_price),
    shared: options.isUsable(provider),
    exactTools: offer.exact_tools ?? false,
    assistantPrefill: offer.assistant_prefill ?? false,
  }
}

function toModel(model: DocumentModel, offers: Offer[], updatedAt: number, options: SnapshotOptions): Model {
  const listPrice = toRates(model.list_price)
  const openWeights = model.open_weights ?? false
  const discount = openWeights ? options.openWeightsDiscountPercent : options.discountPercent
  const rate = model.rate ? toRates(model.rate) : listedRate(listPrice, discount)
  return {
    id: model.id,
    name: model.name ?? model.id,
    vendor: model.vendor,
    contextLength: model.context_length,
    maxOutputTokens: Math.min(model.max_output_tokens ?? model.context_length, model.context_length),
    inputModalities: model.input_modalities ?? ['text'],
    supportedParameters: model.supported_parameters ?? [],
    reasoning: model.reasoning ?? false,
    openWeights,
    listPrice,
    rate,
    // Of the rate alone: clients are shown it, and for `auto` it must not name the model.
    rateVersion: shortHash(`${formatRate(rate.prompt)} ${formatRate(rate.completion)}`),
    updatedAt,
    auto: model.auto ?? true,
    offers,
  }
}

const toRates = ({ prompt, completion }: DocumentPrices): TokenRates => ({
  prompt: parseRate(prompt),
  completion: parseRate(completion),
})

function updatedAtOf(document: CatalogDocument, source: CatalogSource): number {
  return document.dated === undefined ? source.updatedAt : Math.floor(Date.parse(document.dated) / 1000)
}

const SHORT_HASH_CHARACTERS = 16

const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, SHORT_HASH_CHARACTERS)

/** Times are no content: a file that was only touched, or copied to another machine, is the same catalog. */
function hashedValue(key: string, value: unknown): unknown {
  if (key === 'updatedAt') return undefined
  return typeof value === 'bigint' ? String(value) : value
}
