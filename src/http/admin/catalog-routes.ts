import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { StoredDocument } from '../../catalog/catalog-edits-store.ts'
import type { RateEntry } from '../../catalog/rate-history-store.ts'
import {
  CatalogCheckView,
  CatalogEditsApplied,
  CatalogEditsRequest,
  CatalogEditsView,
  CatalogRevertRequest,
  CatalogView,
  RateHistoryView,
} from '../../core/api/catalog.ts'
import { jsonView } from '../../core/api/json-view.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { List } from '../../core/api/shared.ts'
import { isAvailable } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { isoTime } from '../../core/kernel/time.ts'
import type { AnnouncedEdits } from '../../operators/catalog-management.ts'
import { OfId } from '../page.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'

const Listed = Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }) }, CLOSED)

const EFFECTS_SHOWN = 100

/** The current catalog, the operator's edits and their versions, and the rate history of models. */
export const catalogRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { snapshot: catalog, catalogEdits, catalogManagement, previewEdits, rateHistory } = app.catalog
  app.get('/catalog', operatorRoute('read', CatalogView), async () => {
    const { version, generatedAt, models, offers } = catalog()
    const edits = await catalogEdits.current()
    return {
      object: 'catalog' as const,
      version,
      generated_at: isoTime(generatedAt * 1000),
      models: models.size,
      available_models: [...models.values()].filter(isAvailable).length,
      offers: offers.size,
      edits: edits && editsView(edits),
    }
  })

  app.get(
    '/catalog/edits',
    operatorRoute('read', List(CatalogEditsView), { querystring: Listed }),
    async ({ query }) => listOf(await catalogEdits.history(query.limit), editsView),
  )

  app.post(
    '/catalog/check',
    operatorRoute('catalog.write', CatalogCheckView, { body: CatalogEditsRequest }),
    async ({ body }) => {
      const checked = catalogManagement.check(body.content)
      const valid = checked.kind === 'valid'
      const effects = valid ? previewEdits(body.content) : []
      const counts = { offline: 0, loss: 0, free: 0, change: 0 }
      for (const { kind } of effects) counts[kind] += 1
      return {
        object: 'catalog_check' as const,
        valid,
        problems: valid ? [] : checked.problems,
        models: valid ? checked.snapshot.models.size : null,
        effects: effects.slice(0, EFFECTS_SHOWN),
        counts,
      }
    },
  )

  app.post(
    '/catalog/edits',
    operatorRoute('catalog.write', CatalogEditsApplied, { body: CatalogEditsRequest }),
    async (request) => {
      const { content, expected_version: expected } = request.body
      return appliedView(await catalogManagement.applyEdits(askingOperator(request), content, expected))
    },
  )

  app.post(
    '/catalog/revert',
    operatorRoute('catalog.write', CatalogEditsApplied, { body: CatalogRevertRequest }),
    async (request) =>
      appliedView(await catalogManagement.revertEdits(askingOperator(request), request.body.version)),
  )

  app.get(
    '/models/:id/history',
    operatorRoute('read', List(RateHistoryView), { params: OfId, querystring: Listed }),
    async ({ params: { id }, query }) => {
      const entries = await rateHistory(id, query.limit)
      if (entries.length === 0 && !catalog().models.has(id))
        throw new ApiError('not_found', 'There is no model with this id, and none had it before.')
      return listOf(entries, rateView)
    },
  )
}

const listOf = <Row, T>(rows: readonly Row[], view: (row: Row) => T): List<T> => ({
  object: 'list',
  data: rows.map(view),
})

const appliedView = ({ document, announced }: AnnouncedEdits): CatalogEditsApplied => ({
  object: 'catalog_edits',
  edits: editsView(document),
  announced,
})

export const editsView = (edits: StoredDocument): CatalogEditsView => jsonView(CatalogEditsView, edits)

const rateView = (entry: RateEntry): RateHistoryView => jsonView(RateHistoryView, entry)
