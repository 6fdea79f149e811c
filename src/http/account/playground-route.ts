import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { lookUpKey } from '../../accounts/key-cache.ts'
import { PlaygroundSurfaces } from '../../core/api/playground.ts'
import { mayUse, SURFACES, type SurfaceId } from '../../core/api/surfaces/surface-registry.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { askingKey, liveKey } from '../plugins/authenticate.ts'
import { actingOn, mayUseKey } from '../plugins/session.ts'
import { MODEL_ROUTES } from '../public/model-routes.ts'

/** Below the prefix of the console; its bodies may be as long as those of any call. */
export const PLAYGROUND_PATH = '/playground'

/** The surfaces of the playground; those that are mounted twice only once. */
const PLAYGROUND = SURFACES.filter(({ id, handler }) => id === handler && MODEL_ROUTES[handler])

const pathOf = (id: SurfaceId): string => `${PLAYGROUND_PATH}/${id}`

/**
 * Calls with one of the account's keys, named by `?key_id=`: the public routes in a scope that finds the key by the
 * session. So checks, grants, limits, hold, charge and response are those of any call.
 */
export const playgroundRoute: FastifyPluginAsync = async (app) => {
  const { keys, clock } = app.accounts
  app.decorate('calls', { ...app.calls, paidCalls: null })
  app.decorateRequest('callStarted', undefined)
  app.addHook('onRequest', app.requirePermission('keys'))
  app.addHook('onRequest', async (request, reply) => {
    request.callStarted = (callId) => void reply.header('x-call-id', callId)
  })
  app.decorate('requireKey', async (request, reply) => {
    const found = await lookUpKey(keys, keyIdOf(request), clock())
    // A key of another account is as unknown as one that does not exist.
    const isTheirs =
      'key' in found && found.key.accountId === actingOn(request).account.id && mayUseKey(request, found.key)
    if (!isTheirs)
      throw new ApiError('not_found', 'This account has no key with this id.', { param: 'key_id' })
    const key = liveKey(found)
    request.key = key
    app.boundRequests(key, reply)
  })
  for (const surface of PLAYGROUND)
    await app.register(MODEL_ROUTES[surface.handler]!(pathOf(surface.id), surface))
  await app.register(playgroundSurfacesRoute)
}

/** GET: the surfaces of the playground, and which of them the key may use. */
const playgroundSurfacesRoute: FastifyPluginAsyncTypebox = async (app) => {
  const schema = {
    summary: 'What the playground can call with a key',
    response: { 200: PlaygroundSurfaces },
  }
  app.get(`${PLAYGROUND_PATH}/surfaces`, { onRequest: [app.requireKey], schema }, async (request) => ({
    object: 'list' as const,
    data: PLAYGROUND.map((surface) => ({
      id: surface.id,
      path: surface.path,
      available: mayUse(surface, askingKey(request).surfaces),
    })),
  }))
}

function keyIdOf({ query }: FastifyRequest): string {
  const { key_id: keyId } = query as Record<string, unknown>
  if (typeof keyId === 'string' && keyId !== '') return keyId
  throw invalid('key_id', 'Set `key_id` to the id of the key to call with.')
}
