import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { catalogModelList, opaqueModelList } from '../../catalog/model-list.ts'
import { ModelList } from '../../core/api/catalog.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'

/** GET /v1/models: one opaque entry for ordinary keys, the catalog for admin keys. */
export const modelsRoute =
  (path: string): FastifyPluginAsyncTypebox<{ catalog: () => CatalogSnapshot }> =>
  async (app, { catalog }) => {
    const schema = {
      summary: 'One opaque entry, `auto`; admin keys see the catalog',
      response: { 200: ModelList },
    }
    app.get(path, { onRequest: [app.requireKey], schema }, async ({ key }) =>
      key?.kind === 'admin' ? catalogModelList(catalog().models.values()) : opaqueModelList(),
    )
  }
