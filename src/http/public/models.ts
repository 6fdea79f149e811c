import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { messagesModel, messagesModelPage } from '../../catalog/messages-model-list.ts'
import {
  catalogModelList,
  opaqueModelList,
  publicModelList,
  publicModelOf,
} from '../../catalog/model-list.ts'
import {
  CatalogModel,
  CatalogModelList,
  MessagesModel,
  MessagesModelList,
  ModelList,
} from '../../core/api/catalog.ts'
import type { Model } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { allowsModel } from '../../core/routing/allow-list.ts'
import { askingKey } from '../plugins/authenticate.ts'
import { isMessagesClient } from '../plugins/messages-wire.ts'

/** GET /v1/models: one opaque entry for ordinary keys that may use a model of it; the catalog for admin keys. */
export const modelsRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { snapshot: catalog } = app.catalog
    const schema = {
      summary: 'Lists the model `auto`; admin keys see the catalog',
      response: { 200: ModelList },
    }
    app.get(path, { onRequest: [app.requireKey], schema }, async (request) => {
      const { kind, allowList } = askingKey(request)
      const { models, autoLadder } = catalog()
      if (kind === 'admin') return catalogModelList(models.values())
      return opaqueModelList(!allowList || autoLadder.some((model) => allowsModel(allowList, model)))
    })
  }

/**
 * GET /v2/models: `auto` and the models that the key may name; in pages of the messages wire for its clients. Beside it their count,
 * as the libraries of OpenRouter read it.
 */
export const catalogModelsRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { snapshot: catalog } = app.catalog
    const schema = {
      summary: 'The models that the key may name',
      response: { 200: Type.Union([CatalogModelList, MessagesModelList]) },
    }
    app.get(path, { onRequest: [app.requireKey], schema }, async (request) => {
      const { data, ...list } = publicModelList(catalog(), allowedFor(request))
      if (!isMessagesClient(request)) return { ...list, data }
      return messagesModelPage(data, request.query as Record<string, string | string[] | undefined>)
    })
    app.get(`${path}/count`, { onRequest: [app.requireKey], schema: { hide: true } }, async (request) => ({
      data: { count: publicModelList(catalog(), allowedFor(request)).data.length },
    }))
  }

/** GET /v2/models/{id}: one of them. The slash of an id may be percent-encoded. */
export const catalogModelRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { snapshot: catalog } = app.catalog
    const schema = {
      summary: 'One model',
      params: Type.Object({ id: Type.String() }),
      response: { 200: Type.Union([CatalogModel, MessagesModel]) },
    }
    app.get(path, { onRequest: [app.requireKey], schema }, async (request) => {
      const { id } = request.params
      const model = publicModelOf(catalog(), id, allowedFor(request))
      if (model) return isMessagesClient(request) ? messagesModel(model) : model
      throw new ApiError(
        'model_not_found',
        `Model "${id.slice(0, 120)}" not found. GET /v2/models lists every id.`,
      )
    })
  }

/** Whether the asking key may name a model. */
function allowedFor(request: FastifyRequest): (model: Model) => boolean {
  const { allowList } = askingKey(request)
  return (model) => !allowList || allowsModel(allowList, model)
}
