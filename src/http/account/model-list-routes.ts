import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { CallStats } from '../../billing/reports/model-stats-store.ts'
import {
  ModelDetails,
  type ModelFacts,
  ModelFactsList,
  type ModelProvider,
  ModelProviderList,
} from '../../core/api/models.ts'
import { type CatalogSnapshot, findModel, type Model, type Offer } from '../../core/catalog/catalog.ts'
import { listedModels } from '../../core/catalog/listed-models.ts'
import { makerName } from '../../core/catalog/maker-names.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { isoTime } from '../../core/kernel/time.ts'
import type { OfferMeasures } from '../../offer-health/offer-measures.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import { bySession } from '../account-api/account-access.ts'
import { cacheFigures } from '../account-api/offer-view.ts'
import { acceptedEncoding, type CompressedText, compressedText } from '../compressed-text.ts'
import { OfId } from '../page.ts'
import { modelDetails } from './model-details.ts'
import { publishedQuality } from './published-quality.ts'

/** Past rates on the page of a model. */
const RATES_MAX = 50
/** Maximum wait for them. */
const RATES_WAIT_MS = 1_000

/** Capabilities and speed of models, for everyone; and the providers of a model, for people who can pin one. */
export const modelRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { models: modelStats } = app.billing.reports
  const { snapshot: catalog, rateHistory, offers } = app.catalog
  const list = renderedOnce()
  const modelOf = (id: string): Model => {
    const model = findModel(catalog(), id)
    if (!model) throw new ApiError('not_found', 'There is no model with this id.')
    return model
  }

  // The body is sent as rendered, so its schema documents it without typing it.
  const ofAll = { response: { 200: Type.Unsafe<unknown>(ModelFactsList) } }
  app.get('/models', { schema: ofAll }, async (request, reply) => {
    const body = list(catalog(), await modelStats.stats())
    const encoding = acceptedEncoding(request.headers['accept-encoding'])
    reply.header('vary', 'accept-encoding')
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.type('application/json; charset=utf-8').send(await body(encoding))
  })

  const ofOne = { params: OfId, response: { 200: ModelDetails } }
  app.get('/models/:id', { schema: ofOne }, async (request) => {
    const model = modelOf(request.params.id)
    const rates = withTimeout(rateHistory(model.id, RATES_MAX), RATES_WAIT_MS, null, (error) =>
      request.log.warn({ err: error }, 'cannot read the rates of a model'),
    )
    return modelDetails(catalog(), model, await modelStats.stats(), await rates)
  })

  const { hooks } = bySession(app, 'view')
  const ofModel = { params: OfId, response: { 200: ModelProviderList } }
  app.get('/models/:id/providers', { ...hooks, schema: ofModel }, async (request) => {
    const model = modelOf(request.params.id)
    const stats = await modelStats.stats()
    return {
      model: model.id,
      measured: measuredView(stats),
      data: providersOf(model, stats, offers.measures),
    }
  })
}

/** Renders the list again when the catalog or the statistics change. */
function renderedOnce() {
  let kept: { catalog: CatalogSnapshot; stats: CallStats | null; body: CompressedText } | undefined
  return (catalog: CatalogSnapshot, stats: CallStats | null): CompressedText => {
    if (kept?.catalog !== catalog || kept.stats !== stats)
      kept = { catalog, stats, body: compressedText(JSON.stringify(factsList(catalog, stats))) }
    return kept.body
  }
}

/** GET /console/api/models. Pure. */
export function factsList(catalog: CatalogSnapshot, stats: CallStats | null): ModelFactsList {
  const ranks = ranksOf(stats)
  const data = listedModels(catalog).map((model) => ({
    ...modelFacts(model, stats, ranks),
    quality: publishedQuality(catalog, model, 'other'),
  }))
  return { measured: measuredView(stats), data }
}

const measuredView = (stats: CallStats | null) =>
  stats && { from: isoTime(stats.range.fromMs), to: isoTime(stats.range.toMs) }

/** 1 for the most called model; equal counts share a rank. */
function ranksOf(stats: CallStats | null): ReadonlyMap<string, number> {
  const models = [...(stats?.models ?? [])].sort(([, a], [, b]) => b.calls - a.calls)
  const firstOfCount = new Map<number, number>()
  return new Map(
    models.map(([id, { calls }], index) => {
      if (!firstOfCount.has(calls)) firstOfCount.set(calls, index + 1)
      return [id, firstOfCount.get(calls)!]
    }),
  )
}

function modelFacts(
  model: Model,
  stats: CallStats | null,
  ranks: ReadonlyMap<string, number>,
): Omit<ModelFacts, 'quality'> {
  const speed = stats?.models.get(model.id)
  return {
    id: model.id,
    maker: makerName(model.vendor),
    max_output_tokens: model.outputLimitStated ? model.maxOutputTokens : null,
    supported_parameters: [...model.supportedParameters],
    reasoning: model.reasoning,
    released_at: model.releasedAt ?? null,
    deprecated_at: model.deprecatedAt ?? null,
    popularity: ranks.get(model.id) ?? null,
    first_token_ms: speed?.firstTokenMs ?? null,
    tokens_per_second: speed?.tokensPerSecond ?? null,
  }
}

/** One entry for each provider, by name; providers that serve calls with platform keys come first. */
function providersOf(model: Model, stats: CallStats | null, measures: CacheMeasures): ModelProvider[] {
  const byProvider = Map.groupBy(model.offers, ({ provider }) => provider.id)
  return [...byProvider.values()]
    .map((offers) => modelProvider(model, offers.find(({ shared }) => shared) ?? offers[0]!, stats, measures))
    .sort((a, b) => Number(a.own_key_only) - Number(b.own_key_only) || a.name.localeCompare(b.name, 'en'))
}

type CacheMeasures = Pick<OfferMeasures, 'cacheUse'>

function modelProvider(
  model: Model,
  offer: Offer,
  stats: CallStats | null,
  measures: CacheMeasures,
): ModelProvider {
  const { id, name, zdr, dataCollection } = offer.provider
  const figures = stats?.offers.get(offer.id)
  return {
    id,
    name,
    zdr,
    data_collection: dataCollection,
    context_length: offer.contextLength ?? model.contextLength,
    max_output_tokens: offer.maxOutputTokens ?? (model.outputLimitStated ? model.maxOutputTokens : null),
    own_key_only: !offer.shared,
    first_token_ms: figures?.firstTokenMs ?? null,
    tokens_per_second: figures?.tokensPerSecond ?? null,
    uptime: figures?.uptime ?? null,
    ...cacheFigures(measures.cacheUse(offer.id), model.rate),
  }
}
