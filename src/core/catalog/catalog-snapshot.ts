import { oncePer } from '../kernel/once-per.ts'
import { shortHash } from '../kernel/short-hash.ts'
import {
  type CatalogSnapshot,
  compareByPrice,
  findModel,
  isAvailable,
  type Model,
  type Offer,
  type Provider,
  type ProviderQuirks,
} from './catalog.ts'
import type {
  CatalogDocument,
  DocumentChanges,
  DocumentModel,
  DocumentProvider,
  DocumentQuirks,
} from './catalog-document.ts'
import { type ModelOptions, type ProviderEntry, type RateDate, toModel } from './catalog-model.ts'
import { credentialsOf } from './credentials-document.ts'
import { parseCatalogDocument } from './parse-catalog-document.ts'
import { rateProblems } from './rate-ceiling.ts'

export interface CatalogSource {
  /** Name for problem messages: a path or a description. */
  name: string
  content: unknown
  /** Unix seconds: when the content last changed. A document's own `dated` takes precedence. */
  updatedAt: number
  /** `auto` uses these models only if no other source has any. */
  autoLastResort?: boolean
  /** The operator's: its models stay although the lists of their providers lack them. */
  isOwn?: boolean
}

export interface SnapshotOptions extends ModelOptions {
  /** Unix seconds. */
  generatedAt: number
}

/** A rate that an operator set above the ceiling. */
interface HeldRate {
  modelId: string
  problem: string
}

type SnapshotResult =
  /**
   * `unknown`: names in changes that no document defines. `held`: rates of one document above the ceiling of another
   * document's list price, lowered to the ceiling.
   */
  | { kind: 'snapshot'; snapshot: CatalogSnapshot; unknown: string[]; held: HeldRate[] }
  | { kind: 'problems'; problems: string[] }

/**
 * Builds the catalog from documents, in order: a later one overrides models and the stated fields of providers of the
 * same id, and with `replace` everything before it. Models without a shared offer stay, because their prices are known. Pure.
 */
export function buildCatalogSnapshot(
  sources: readonly CatalogSource[],
  options: SnapshotOptions,
): SnapshotResult {
  const parsed = sources.map((source) => ({ source, result: parseOnce(source.content) }))
  const problems = parsed.flatMap(({ source, result }) =>
    result.kind === 'problems' ? result.problems.map((problem) => `${source.name}: ${problem}`) : [],
  )
  if (problems.length > 0) return { kind: 'problems', problems }

  const providers = new Map<string, DocumentProvider>()
  const models = new Map<string, CatalogEntry>()
  const aliases = new Map<string, { names: readonly string[]; source: CatalogSource }>()
  const unknown: string[] = []
  const autoPointUsd: CatalogSnapshot['autoPointUsd'] = {}
  for (const { source, result } of parsed) {
    if (result.kind !== 'document') continue
    const { document } = result
    if (document.replace) {
      providers.clear()
      models.clear()
      aliases.clear()
    }
    const date = dateOf(document, source)
    for (const provider of document.providers ?? [])
      providers.set(provider.id, mergedProvider(providers.get(provider.id), provider))
    for (const [index, model] of (document.models ?? []).entries()) {
      models.set(model.id, { model, source, path: `models[${index}]`, ...date })
    }
    for (const alias of document.aliases ?? []) aliases.set(alias.id, { names: alias.models, source })
    Object.assign(autoPointUsd, document.auto_point_usd)
    const missing = applyChanges(document.changes ?? {}, { providers, models }, date)
    unknown.push(...missing.map((what) => `${source.name}: ${what}`))
  }

  for (const { model, source, path } of models.values()) {
    for (const [index, offer] of model.offers.entries()) {
      if (providers.has(offer.provider)) continue
      problems.push(
        `${source.name}: ${path}.offers[${index}].provider: there is no provider ${JSON.stringify(offer.provider)}`,
      )
    }
  }
  // An empty catalog is never intended: a document was truncated or wrong.
  if (models.size === 0) problems.push(`${sources.at(-1)?.name ?? 'the catalog'}: leaves no model`)
  if (problems.length > 0) return { kind: 'problems', problems }
  const version = versionOf(sources, providers.values(), options)
  const assembled = assemble([...models.values()], providers, version, options)
  const named = [...aliases].flatMap(([id, { names, source }]) => {
    const found = names.map((name) => [name, findModel(assembled, name)] as const)
    const missing = found.filter(([, model]) => !model).map(([name]) => JSON.stringify(name))
    unknown.push(...missing.map((name) => `${source.name}: aliases[${id}]: there is no model ${name}`))
    const existing = found.flatMap(([, model]) => model ?? [])
    return existing.length > 0 ? [[id, existing] as const] : []
  })
  const snapshot = {
    ...assembled,
    autoPointUsd,
    ...(named.length > 0 && { aliases: new Map(named) }),
  }
  const held = [...models.values()].flatMap(({ model: { id, rate, list_price: listPrice } }) =>
    (rate ? rateProblems(rate, listPrice) : []).map((problem) => ({ modelId: id, problem })),
  )
  return { kind: 'snapshot', snapshot, unknown, held }
}

/** Computed once per content, since most are unchanged between snapshots. Other values than objects are not cached. */
const once = <Value>(compute: (content: unknown) => Value) => {
  const ofObject = oncePer<object, Value>(compute)
  return (content: unknown): Value =>
    typeof content === 'object' && content !== null ? ofObject(content) : compute(content)
}

const parseOnce = once(parseCatalogDocument)
const hashOf = once((content) => shortHash(JSON.stringify(content)))

interface CatalogEntry extends RateDate {
  model: DocumentModel
  source: CatalogSource
  path: string
}

function assemble(
  entries: readonly CatalogEntry[],
  documents: ReadonlyMap<string, DocumentProvider>,
  version: string,
  options: SnapshotOptions,
): CatalogSnapshot {
  const providers = new Map<string, ProviderEntry>()
  for (const [id, document] of documents) providers.set(id, { provider: toProvider(document), document })
  const models = new Map<string, Model>()
  const offers = new Map<string, Offer>()
  const lastResorts = new Set<Model>()
  for (const { model, source, ...date } of entries) {
    const built = toModel(model, providers, offers, { ...date, isOwn: source.isOwn === true }, options)
    for (const offer of built.offers) offers.set(offer.id, offer)
    models.set(model.id, built)
    if (source.autoLastResort) lastResorts.add(built)
  }
  const automatic = [...models.values()]
    .filter((model) => model.auto && isAvailable(model))
    .sort(compareByPrice)
  const preferred = automatic.filter((model) => !lastResorts.has(model))
  const autoLadder = preferred.length > 0 ? preferred : automatic
  return { version, generatedAt: options.generatedAt, models, offers, autoLadder }
}

/**
 * A provider in a later document keeps the earlier fields that it does not state, above all its key. `task_urls` are
 * complete URLs and are kept only with their base URL, so that a proxy is not bypassed.
 */
function mergedProvider(earlier: DocumentProvider | undefined, later: DocumentProvider): DocumentProvider {
  if (earlier === undefined) return later
  const { task_urls: taskUrls, ...rest } = earlier.quirks ?? {}
  const isMoved = earlier.base_url !== later.base_url
  const kept = isMoved || taskUrls === undefined ? rest : { ...rest, task_urls: taskUrls }
  return { ...earlier, ...later, quirks: { ...kept, ...later.quirks } }
}

function toProvider(provider: DocumentProvider): Provider {
  const credentials = credentialsOf(provider)
  return {
    id: provider.id,
    name: provider.name ?? provider.id,
    wire: provider.wire ?? 'chat-completions',
    baseUrl: provider.base_url.replace(/\/+$/, ''),
    apiKeyEnv: provider.api_key_env ?? null,
    ...(credentials && { credentials }),
    zdr: provider.zdr ?? false,
    dataCollection: provider.data_collection ?? 'allow',
    limitParameter: provider.limit_parameter ?? 'max_tokens',
    ...(provider.quirks !== undefined && { quirks: toQuirks(provider.quirks) }),
  }
}

const QUIRK_NAMES: { [Name in keyof DocumentQuirks]-?: keyof ProviderQuirks } = {
  auth_header: 'authHeader',
  path: 'path',
  task_urls: 'taskUrls',
  dimensions_field: 'dimensionsField',
  base64_vectors: 'base64Vectors',
  base64_images: 'base64Images',
  headers: 'headers',
  fixed_fields: 'fixedFields',
  omit: 'omit',
  passes: 'passes',
  efforts: 'efforts',
  max_tool_uses: 'maxToolUses',
  cache_marks: 'cacheMarks',
  json_object_only: 'jsonObjectOnly',
  temperature_max: 'temperatureMax',
  one_sampling_parameter: 'oneSamplingParameter',
  named_roles: 'namedRoles',
  prefill_field: 'prefillField',
  developer_role: 'developerRole',
  short_tool_ids: 'shortToolIds',
  reasoning_history: 'reasoningHistory',
  finish_reasons: 'finishReasons',
}

const toQuirks = (quirks: DocumentQuirks): ProviderQuirks =>
  Object.fromEntries(
    Object.entries(quirks).map(([name, value]) => [QUIRK_NAMES[name as keyof DocumentQuirks], value]),
  )

function dateOf({ dated }: CatalogDocument, source: CatalogSource): RateDate {
  return dated === undefined
    ? { updatedAt: source.updatedAt, dated: false }
    : { updatedAt: Math.floor(Date.parse(dated) / 1000), dated: true }
}

/**
 * Content hash of a catalog; equal for instances with the same documents and keys. Times are excluded:
 * a file that was only touched, or copied to another machine, is the same catalog.
 */
function versionOf(
  sources: readonly CatalogSource[],
  providers: Iterable<DocumentProvider>,
  options: SnapshotOptions,
): string {
  const usable = [...providers].filter((provider) => options.isUsable(toProvider(provider)))
  return shortHash(
    JSON.stringify([
      sources.map(({ content, autoLastResort = false }) => [hashOf(content), autoLastResort]),
      usable.map(({ id }) => id),
      [...(options.unlisted ?? [])].sort(),
      options.discountPercent,
      options.openWeightsDiscountPercent,
      options.providerCostPercent,
      options.openWeightsCostPercent,
      options.allowLossOffers,
    ]),
  )
}

/** The merged entries of earlier documents, which changes modify in place. */
interface ChangedCatalog {
  providers: Map<string, DocumentProvider>
  models: Map<string, RateDate & { model: DocumentModel }>
}

/**
 * Applies a document's changes to the earlier documents. Returns the names that do not exist: an edit may outlive
 * its model, so this is not a catalog error.
 */
function applyChanges(
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
