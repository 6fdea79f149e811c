import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, HTTPMethods } from 'fastify'
import { ApiError } from '../../core/kernel/errors.ts'
import type { AppDependencies } from '../app.ts'
import { unavailable } from '../plugins/answer-errors.ts'
import { SURFACES, type SurfaceHandler } from '../surfaces.ts'
import { chatCompletionsRoute } from './chat-completions.ts'
import { creditsRoute } from './credits.ts'
import { generationsRoute } from './generations.ts'
import { keyRoute } from './key.ts'
import { modelsRoute } from './models.ts'
import { pricingRoute } from './pricing.ts'
import { providerKeyRoute, providerKeysRoute } from './provider-keys.ts'
import { usageRoute } from './usage.ts'
import { usageCallsRoute } from './usage-calls.ts'

const ROUTES: Record<SurfaceHandler, (path: string) => FastifyPluginAsync<AppDependencies>> = {
  'chat-completions': chatCompletionsRoute,
  models: modelsRoute,
  pricing: pricingRoute,
  generations: generationsRoute,
  key: keyRoute,
  credits: creditsRoute,
  usage: usageRoute,
  'usage-calls': usageCallsRoute,
  'provider-keys': providerKeysRoute,
  'provider-key': providerKeyRoute,
}

const METHODS: HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Routes the registry of surfaces; the surfaces of one path share a handler. Whatever else lies under /v1 asks for a key, then is unavailable. */
export const surfaceRoutes: FastifyPluginAsync<AppDependencies> = async (app, deps) => {
  for (const [path, surfaces] of Map.groupBy(SURFACES, (surface) => surface.path)) {
    const handler = surfaces[0]!.handler
    if (handler === null) {
      routeUnavailable(app, path)
      continue
    }
    await app.register(ROUTES[handler](path), deps)
    const methods = surfaces.map(({ method }) => method)
    app.route({
      url: path,
      method: METHODS.filter((other) => !app.hasRoute({ url: path, method: other })),
      onRequest: path.startsWith('/v1/') ? [app.requireKey] : [],
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
  app.route({ url, method: METHODS, onRequest: [app.requireKey, refuse], handler: refuse })
}
