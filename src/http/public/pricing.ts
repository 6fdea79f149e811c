import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { pricingFeed, type RateChangeTimes } from '../../catalog/pricing-feed.ts'
import { PricingFeedBody } from '../../core/api/catalog.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { withTimeout } from '../../platform/process/with-timeout.ts'
import { acceptedEncoding, type CompressedText, compressedText } from '../compressed-text.ts'

/** Maximum wait for PostgreSQL to return the start times of rates. */
const TIMES_WAIT_MS = 2_000
/** A feed without these times is rendered again after this. */
const RETRY_MS = 5_000

interface RenderedFeed {
  version: string
  bodies: CompressedText
}

interface PricingDependencies {
  catalog: () => CatalogSnapshot
  /** When models' rates started; rejects while PostgreSQL is away. */
  rateTimes: (catalog: CatalogSnapshot) => Promise<RateChangeTimes>
  logger: Logger
}

/** GET /pricing.json: live retail rates for everyone, rendered and compressed once per catalog version. */
export const pricingRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { snapshot, rateTimes } = app.catalog
    const feed = renderedFeeds({ catalog: snapshot, rateTimes, logger: app.calls.logger })

    app.options(path, { schema: { hide: true } }, async (_request, reply) =>
      reply
        .headers({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'GET, HEAD',
          'access-control-allow-headers': 'if-none-match',
          'access-control-max-age': '86400',
        })
        .code(204)
        .send(),
    )

    // The body is sent as rendered, so its schema documents it without typing it.
    const schema = {
      summary: 'Live retail rates',
      response: { 200: Type.Unsafe<unknown>(PricingFeedBody), 304: Type.Unsafe<unknown>(Type.Null()) },
    }
    app.get(path, { schema }, async (request, reply) => {
      const { version, bodies } = await feed()
      const encoding = acceptedEncoding(request.headers['accept-encoding'])
      // Each encoding is a separate representation with its own tag.
      const etag = encoding === 'identity' ? `"${version}"` : `"${version}-${encoding}"`
      reply.headers({
        etag,
        vary: 'accept-encoding',
        'cache-control': 'public, max-age=60',
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'etag',
      })
      if (matches(request.headers['if-none-match'], version)) return reply.code(304).send()
      if (encoding !== 'identity') reply.header('content-encoding', encoding)
      return reply.type('application/json; charset=utf-8').send(await bodies(encoding))
    })
  }

/** The feed of the current catalog. While PostgreSQL is away, it has the times of the documents. */
function renderedFeeds({ catalog, rateTimes, logger }: PricingDependencies): () => Promise<RenderedFeed> {
  let kept: { snapshot: CatalogSnapshot; feed: Promise<RenderedFeed> } | undefined

  const render = async (snapshot: CatalogSnapshot): Promise<RenderedFeed> => {
    const times = await withTimeout<RateChangeTimes | null>(
      rateTimes(snapshot),
      TIMES_WAIT_MS,
      null,
      (error) => logger.warn({ err: error }, 'cannot read the times of the rate history'),
    )
    if (times === null) {
      logger.warn('pricing feed served without the times of the rate history')
      setTimeout(() => {
        if (kept?.snapshot === snapshot) kept = undefined
      }, RETRY_MS).unref()
    }
    const feed = pricingFeed(snapshot, times ?? new Map())
    return { version: feed.version, bodies: compressedText(JSON.stringify(feed)) }
  }

  return () => {
    const snapshot = catalog()
    if (kept?.snapshot !== snapshot) kept = { snapshot, feed: render(snapshot) }
    return kept.feed
  }
}

/** RFC 9110 13.1.2: any listed tag, including weak ones. A client that has the version has it in some encoding. */
const matches = (header: string | undefined, version: string): boolean =>
  (header ?? '').split(',').some((tag) => {
    const [, named] = /^(?:W\/)?"(.*?)(?:-br|-gzip)?"$/.exec(tag.trim()) ?? []
    return tag.trim() === '*' || named === version
  })
