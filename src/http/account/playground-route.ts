import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { lookUpKey } from '../../accounts/key-cache.ts'
import { SURFACES } from '../../core/api/surfaces/surface-registry.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { liveKey } from '../plugins/authenticate.ts'
import { actingOn, mayUseKey } from '../plugins/session.ts'
import { MODEL_ROUTES } from '../public/model-routes.ts'

/** Below the prefix of the console; its bodies may be as long as those of any call. */
export const PLAYGROUND_PATH = '/playground'

/** The surfaces of the playground: chat, in both contracts. */
const PLAYGROUND = SURFACES.filter(
  ({ id }) => id === 'chat-completions' || id === 'chat-completions.extended',
)

/**
 * POST /console/api/playground/SURFACE?key_id=KEY calls with one of the account's keys: the public routes in a scope that
 * finds the key by the session. So checks, grants, limits, hold, charge and response are those of any call. The header
 * `x-call-id` names the call, for GET /console/api/calls/:id; aborting the request stops it.
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
    await app.register(MODEL_ROUTES[surface.handler]!(`${PLAYGROUND_PATH}/${surface.id}`, surface))
}

function keyIdOf({ query }: FastifyRequest): string {
  const { key_id: keyId } = query as Record<string, unknown>
  if (typeof keyId === 'string' && keyId !== '') return keyId
  throw invalid('key_id', 'Set `key_id` to the id of the key to call with.')
}
