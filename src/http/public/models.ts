import type { FastifyPluginAsync } from 'fastify'
import { catalogModelList, opaqueModelList } from '../../catalog/model-list.ts'
import type { AppDependencies } from '../app.ts'

/** GET /v1/models: one opaque entry for ordinary keys, the catalog for admin keys. */
export const modelsRoute =
  (path: string): FastifyPluginAsync<AppDependencies> =>
  async (app, { catalog }) => {
    app.get(path, { onRequest: [app.requireKey] }, async ({ key }) =>
      key?.kind === 'admin' ? catalogModelList(catalog().models.values()) : opaqueModelList(),
    )
  }
