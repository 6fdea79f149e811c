import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, HTTPMethods } from 'fastify'
import { ApiError } from '../../core/kernel/errors.ts'
import { generationsRoute, usageCallsRoute } from '../calls.ts'
import { unavailable } from '../plugins/answer-errors.ts'
import { providerKeysRoute } from '../provider-keys.ts'
import { usageRoute } from '../usage.ts'
import { chatCompletionsRoute } from './chat-completions.ts'
import { creditsRoute } from './credits.ts'
import { keyRoute } from './key.ts'
import { modelsRoute } from './models.ts'
import { openapiRoute } from './openapi.ts'
import { pricingRoute } from './pricing.ts'

type ServicesOf<Route> = Route extends (path: string) => (app: never, services: infer Services) => unknown
  ? Services
  : never

/** What the routes of the surfaces need, all together. */
export type SurfaceServices = ServicesOf<typeof chatCompletionsRoute> &
  ServicesOf<typeof creditsRoute> &
  ServicesOf<typeof generationsRoute> &
  ServicesOf<typeof keyRoute> &
  ServicesOf<typeof modelsRoute> &
  ServicesOf<typeof pricingRoute> &
  ServicesOf<typeof providerKeysRoute> &
  ServicesOf<typeof usageRoute> &
  ServicesOf<typeof usageCallsRoute>

export interface Surface {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  /** Only `Stable` is a contract. Statuses and behaviour: docs/api.md. */
  status:
    | 'Stable'
    | 'Limited'
    | 'Provider-specific'
    | 'Not a product-key surface'
    | 'Not release-ready'
    | 'Public'
  /** Registers all surfaces that name it, by the path of the first. Null: not for ordinary keys; 404 `surface_unavailable`. */
  route: ((path: string) => FastifyPluginAsync<SurfaceServices>) | null
}

/** Every surface of the API; the router is built from this list, and nothing else is routed under /v1. */
export const SURFACES: readonly Surface[] = [
  { method: 'POST', path: '/v1/chat/completions', status: 'Stable', route: chatCompletionsRoute },
  { method: 'GET', path: '/v1/models', status: 'Limited', route: modelsRoute },
  { method: 'GET', path: '/v1/generations/:id', status: 'Limited', route: generationsRoute },
  { method: 'GET', path: '/v1/key', status: 'Limited', route: keyRoute },
  { method: 'GET', path: '/v1/credits', status: 'Limited', route: creditsRoute },
  { method: 'GET', path: '/v1/usage', status: 'Limited', route: usageRoute },
  { method: 'GET', path: '/v1/usage/calls', status: 'Limited', route: usageCallsRoute },
  { method: 'GET', path: '/v1/provider-keys', status: 'Limited', route: providerKeysRoute },
  { method: 'POST', path: '/v1/provider-keys', status: 'Limited', route: providerKeysRoute },
  { method: 'PATCH', path: '/v1/provider-keys/:id', status: 'Limited', route: providerKeysRoute },
  { method: 'DELETE', path: '/v1/provider-keys/:id', status: 'Limited', route: providerKeysRoute },
  { method: 'GET', path: '/pricing.json', status: 'Public', route: pricingRoute },
  { method: 'GET', path: '/openapi.json', status: 'Public', route: openapiRoute },
  { method: 'POST', path: '/v1/messages', status: 'Provider-specific', route: null },
  { method: 'POST', path: '/v1/messages/count_tokens', status: 'Not a product-key surface', route: null },
  { method: 'POST', path: '/v1/responses', status: 'Not a product-key surface', route: null },
  { method: 'POST', path: '/v1/embeddings', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/rerank', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/images/generations', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/images/edits', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/audio/speech', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/audio/transcriptions', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/audio/translations', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/moderations', status: 'Not release-ready', route: null },
  { method: 'POST', path: '/v1/completions', status: 'Not a product-key surface', route: null },
  { method: 'POST', path: '/v1/files', status: 'Not a product-key surface', route: null },
  { method: 'POST', path: '/v1/batches', status: 'Not a product-key surface', route: null },
  { method: 'POST', path: '/v1/fine_tuning/jobs', status: 'Not a product-key surface', route: null },
  { method: 'POST', path: '/v1/realtime/sessions', status: 'Not a product-key surface', route: null },
]

const METHODS: HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Refusals are no part of the API's description. */
const UNDOCUMENTED = { hide: true }

/** Routes the surfaces. Whatever else lies under /v1 asks for a key, then is unavailable. */
export const surfaceRoutes: FastifyPluginAsync<SurfaceServices> = async (app, services) => {
  for (const [route, surfaces] of Map.groupBy(SURFACES, (surface) => surface.route))
    if (route !== null) await app.register(route(surfaces[0]!.path), services)
  for (const [path, surfaces] of Map.groupBy(SURFACES, (surface) => surface.path)) {
    if (surfaces[0]!.route === null) {
      routeUnavailable(app, path)
      continue
    }
    const methods = surfaces.map(({ method }) => method)
    app.route({
      url: path,
      method: METHODS.filter((other) => !app.hasRoute({ url: path, method: other })),
      onRequest: path.startsWith('/v1/') ? [app.requireKey] : [],
      schema: UNDOCUMENTED,
      handler: async (_, reply) => {
        reply.header('allow', methods.join(', '))
        throw new ApiError('method_not_allowed', `Use ${methods.join(' or ')} ${path}.`)
      },
    })
  }
  routeUnavailable(app, '/v1/*')
}

/** Answered before a body is read. */
function routeUnavailable(app: FastifyInstance, url: string): void {
  const refuse = async (request: FastifyRequest): Promise<never> => {
    throw unavailable(request)
  }
  app.route({
    url,
    method: METHODS,
    onRequest: [app.requireKey, refuse],
    schema: UNDOCUMENTED,
    handler: refuse,
  })
}
