import type { FastifyPluginAsync } from 'fastify'

/** GET /openapi.json: the OpenAPI 3.1 document of every route, written once when first asked for. */
export const openapiRoute =
  (path: string): FastifyPluginAsync =>
  async (app) => {
    let document: string | undefined
    app.get(path, { schema: { summary: 'This document' } }, async (_request, reply) => {
      document ??= JSON.stringify(app.swagger())
      return reply
        .headers({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' })
        .type('application/json; charset=utf-8')
        .send(document)
    })
  }
