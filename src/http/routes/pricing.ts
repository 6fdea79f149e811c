import type { FastifyPluginAsync } from 'fastify'
import { pricingFeed } from '../../catalog/pricing-feed.ts'
import type { CatalogSnapshot } from '../../core/catalog.ts'
import type { AppDependencies } from '../app.ts'
import { acceptedEncoding, type CompressedText, compressedText } from '../compressed-text.ts'

/** GET /pricing.json: live retail rates for everyone, rendered and compressed once per catalog version. */
export const pricingRoute =
  (path: string): FastifyPluginAsync<AppDependencies> =>
  async (app, { catalog }) => {
    let rendered: { snapshot: CatalogSnapshot; bodies: CompressedText } | undefined

    app.get(path, async (request, reply) => {
      const snapshot = catalog()
      if (rendered?.snapshot !== snapshot)
        rendered = { snapshot, bodies: compressedText(JSON.stringify(pricingFeed(snapshot))) }
      const encoding = acceptedEncoding(request.headers['accept-encoding'])
      // Each encoding is a representation of its own, and has its own tag.
      const etag = encoding === 'identity' ? `"${snapshot.version}"` : `"${snapshot.version}-${encoding}"`
      reply.headers({
        etag,
        vary: 'accept-encoding',
        'cache-control': 'public, max-age=60',
        'access-control-allow-origin': '*',
      })
      if (matches(request.headers['if-none-match'], snapshot.version)) return reply.code(304).send()
      if (encoding !== 'identity') reply.header('content-encoding', encoding)
      return reply.type('application/json; charset=utf-8').send(await rendered.bodies(encoding))
    })
  }

/** RFC 9110 13.1.2: any listed tag, weak ones too. Whoever has the version has it in whatever encoding. */
const matches = (header: string | undefined, version: string): boolean =>
  (header ?? '').split(',').some((tag) => {
    const [, named] = /^(?:W\/)?"(.*?)(?:-br|-gzip)?"$/.exec(tag.trim()) ?? []
    return tag.trim() === '*' || named === version
  })
