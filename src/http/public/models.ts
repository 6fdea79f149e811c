import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { catalogModelList, opaqueModelList } from '../../catalog/model-list.ts'
import { ModelList } from '../../core/api/catalog.ts'
import { allowsModel } from '../../core/routing/allow-list.ts'
import { askingKey } from '../plugins/authenticate.ts'

/** GET /v1/models: one opaque entry for ordinary keys that may use a model of it; the catalog for admin keys. */
export const modelsRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { catalog } = app.services
    const schema = {
      summary: 'One opaque entry, `auto`; admin keys see the catalog',
      response: { 200: ModelList },
    }
    app.get(path, { onRequest: [app.requireKey], schema }, async (request) => {
      const { kind, allowList } = askingKey(request)
      const { models, autoLadder } = catalog()
      if (kind === 'admin') return catalogModelList(models.values())
      return opaqueModelList(!allowList || autoLadder.some((model) => allowsModel(allowList, model)))
    })
  }
