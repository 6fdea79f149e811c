import type { FastifyPluginAsync } from 'fastify'
import { pricingFeed } from '../../catalog/pricing-feed.ts'
import type { CatalogSnapshot } from '../../core/catalog.ts'
import type { AppDependencies } from '../app.ts'

/** GET /pricing.json: live retail rates for everyone, rendered once per catalog version. */
export const pricingRoute =
  (path: string): FastifyPluginAsync<AppDependencies> =>
  async (app, { catalog }) => {
    let rendered: { snapshot: CatalogSnapshot; body: string } | undefined

    app.get(path, async (request, reply) => {
      const snapshot = catalog()
      if (rendered?.snapshot !== snapshot)
        rendered = { snapshot, body: JSON.stringify(pricingFeed(snapshot)) }
      const etag = `"${snapshot.version}"`
      reply.headers({ etag, 'cache-control': 'public, max-age=60', 'access-control-allow-origin': '*' })
      if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send()
      return reply.type('application/json; charset=utf-8').send(rendered.body)
    })
  }

/** RFC 9110 13.1.2: any listed tag, weak ones too. */
const matches = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
