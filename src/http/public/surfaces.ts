import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import { contractDigest, type RouteContract } from '../../core/api/surfaces/surface-evidence.ts'
import { pathUnknown, surfaceClosed } from '../../core/api/surfaces/surface-refusals.ts'
import {
  lifecycleHeaders,
  SURFACES,
  type Surface,
  type SurfaceId,
} from '../../core/api/surfaces/surface-registry.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { providerKeysRoute } from '../account-api/byok-keys.ts'
import { feedbackRoute } from '../account-api/call-feedback.ts'
import { generationsRoute, usageCallsRoute } from '../account-api/call-lists.ts'
import { groupBudgetsRoute } from '../account-api/group-budgets.ts'
import { guardrailsRoute } from '../account-api/guardrails.ts'
import { presetsRoute } from '../account-api/presets.ts'
import { usageRoute } from '../account-api/usage.ts'
import { type CrossOriginOptions, crossOrigin } from '../plugins/cross-origin.ts'
import { countTokensRoute } from './count-tokens.ts'
import { creditsRoute } from './credits.ts'
import { keyRoute } from './key.ts'
import { messagesRoute } from './messages.ts'
import { MODEL_ROUTES } from './model-routes.ts'
import { catalogModelRoute, catalogModelsRoute, modelsRoute } from './models.ts'
import { openapiRoute } from './openapi.ts'
import { pricingRoute } from './pricing.ts'
import { compactRoute, responsesRoute } from './responses.ts'
import { type ResponsesSocketOptions, responsesSocket } from './responses-socket.ts'
import { storedResponsesRoute } from './stored-responses.ts'
import { publicSurfacesRoute, surfacesRoute } from './surface-list.ts'

/** Registers all surfaces that name it, by the path of the first. What differs under /v2 depends on `surface.isExtended`. */
type SurfaceRoute = (path: string, surface: Surface) => FastifyPluginAsync

/** The routes of the surfaces. A route of access `granted` has `app.requireSurface(surface.id)` directly after `app.requireKey`. */
const ROUTES: Partial<Record<Surface['handler'], SurfaceRoute>> = {
  ...MODEL_ROUTES,
  responses: responsesRoute,
  'responses.compact': compactRoute,
  'responses.get': storedResponsesRoute,
  'responses.delete': storedResponsesRoute,
  'responses.cancel': storedResponsesRoute,
  'responses.input-items': storedResponsesRoute,
  models: modelsRoute,
  'models.catalog': catalogModelsRoute,
  'models.catalog.get': catalogModelRoute,
  generation: generationsRoute,
  'generation.feedback': feedbackRoute,
  key: keyRoute,
  credits: creditsRoute,
  usage: usageRoute,
  'usage.calls': usageCallsRoute,
  surfaces: surfacesRoute,
  messages: messagesRoute,
  'messages.count-tokens': countTokensRoute,
  'provider-keys.list': providerKeysRoute,
  'provider-keys.create': providerKeysRoute,
  'provider-keys.update': providerKeysRoute,
  'provider-keys.delete': providerKeysRoute,
  'presets.list': presetsRoute,
  'presets.create': presetsRoute,
  'presets.get': presetsRoute,
  'presets.delete': presetsRoute,
  'budgets.list': groupBudgetsRoute,
  'budgets.set': groupBudgetsRoute,
  'budgets.delete': groupBudgetsRoute,
  'guardrails.list': guardrailsRoute,
  'guardrails.set': guardrailsRoute,
  'guardrails.delete': guardrailsRoute,
  'guardrails.test': guardrailsRoute,
  pricing: pricingRoute,
  openapi: openapiRoute,
  'surfaces.public': publicSurfacesRoute,
}

/** Refusals are not part of the API's description. */
const UNDOCUMENTED = { hide: true }

/** Routes the surfaces. Other paths under their versions require a key and then return 404 `surface_unavailable`. */
export const surfaceRoutes: FastifyPluginAsync<CrossOriginOptions & ResponsesSocketOptions> = async (
  app,
  options,
) => {
  await app.register(crossOrigin, options)
  const contracts = new Map<SurfaceId, string>()
  app.decorate('surfaceContracts', contracts)
  app.addHook('onRoute', (route) => {
    const surface = surfaceOfRoute(route, SURFACES)
    if (!surface || route.schema?.hide) return
    contracts.set(surface.id, contractDigest(surface, (route.schema ?? {}) as RouteContract))
    announceLifecycle(route, surface)
  })

  const byContract = Map.groupBy(SURFACES, ({ isExtended }) => isExtended)
  for (const mounted of byContract.values())
    for (const [route, [surface]] of Map.groupBy(mounted, ({ handler }) => ROUTES[handler]))
      if (route && surface) await app.register(route(routerPath(surface.path), surface))
  await app.register(responsesSocket, options)
  for (const surfaces of Map.groupBy(SURFACES, ({ path }) => path).values()) routeOtherMethods(app, surfaces)
  for (const version of new Set(SURFACES.flatMap(({ path }) => path.match(/^\/v\w+\//) ?? [])))
    routeUnavailable(app, `${version}*`, ({ method, url }) => pathUnknown(method, url))
}

/** The unsupported methods of a surface's path: 405 with access, otherwise 404. */
function routeOtherMethods(app: FastifyInstance, surfaces: Surface[]): void {
  const { id, handler, path, status } = surfaces[0]!
  const url = routerPath(path)
  const named = ({ method }: FastifyRequest) => surfaces.find((surface) => surface.method === method)
  if (!ROUTES[handler])
    return routeUnavailable(app, url, (request) => surfaceClosed(named(request) ?? surfaces[0]!))
  const methods = surfaces.map(({ method }) => method)
  const routed = app.supportedMethods.filter((method) => app.hasRoute({ url, method }))
  const refuse = async (_request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    reply.header('allow', routed.join(', '))
    throw new ApiError('method_not_allowed', `Use ${methods.join(' or ')} ${path}.`)
  }
  app.route({
    url,
    method: app.supportedMethods.filter((method) => !routed.includes(method)),
    onRequest: [...(status === 'Public' ? [] : [app.requireKey, app.requireSurface(id)]), refuse],
    schema: UNDOCUMENTED,
    handler: refuse,
  })
}

/** Sent before a body is read. */
function routeUnavailable(
  app: FastifyInstance,
  url: string,
  refusal: (request: FastifyRequest) => ApiError,
): void {
  const refuse = async (request: FastifyRequest): Promise<never> => {
    throw refusal(request)
  }
  app.route({
    url,
    method: app.supportedMethods,
    onRequest: [app.requireKey, refuse],
    schema: UNDOCUMENTED,
    handler: refuse,
  })
}

/** The surface of a route; `HEAD` is a `GET` without its body. */
export function surfaceOfRoute(
  { method, url }: Pick<RouteOptions, 'method' | 'url'>,
  surfaces: readonly Surface[],
): Surface | undefined {
  const asked = method === 'HEAD' ? 'GET' : method
  return surfaces.find((surface) => surface.method === asked && routerPath(surface.path) === url)
}

/** A path of the registry in the router's syntax. */
export const routerPath = (path: string): string => path.replaceAll(':', '::').replace(/\{(\w+)\}/g, ':$1')

/**
 * Announces the end of an open surface in all its responses. A granted surface is hidden from keys without a grant, so
 * it is not announced.
 */
export function announceLifecycle(route: Pick<RouteOptions, 'onRequest'>, surface: Surface): void {
  const headers = lifecycleHeaders(surface.lifecycle)
  if (surface.access !== 'open' || Object.keys(headers).length === 0) return
  const announce: onRequestHookHandler = (_request, reply, done) => {
    reply.headers(headers)
    done()
  }
  route.onRequest = [announce, ...[route.onRequest ?? []].flat()]
}
