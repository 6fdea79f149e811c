import type { FastifyPluginAsync } from 'fastify'
import { lookUpKey } from '../../accounts/key-cache.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { answerCall } from '../answer-call.ts'
import { liveKey, type StandardKey } from '../plugins/authenticate.ts'
import { signedIn } from '../plugins/session.ts'
import type { ConsoleDependencies } from './console-routes.ts'

/** A call with one of the account's keys, by its id: the same way, the same limits and the same charge as any call. */
export const playgroundRoute: FastifyPluginAsync<ConsoleDependencies> = async (app, deps) => {
  app.post(
    '/playground',
    { onRequest: [app.requireSession, app.weighBody], bodyLimit: deps.limits.bodyLimitBytes },
    async (request, reply) => {
      const { key_id: keyId, ...body } = (request.body ?? {}) as Record<string, unknown>
      if (typeof keyId !== 'string')
        throw new ApiError('invalid_request', '`key_id` names the key to call with.', { param: 'key_id' })
      const lookup = lookUpKey(deps.console.keyStore, keyId, deps.clock())
      const found = await lookup
      // Of another account is as unknown as none at all.
      if (!('key' in found) || found.key.accountId !== signedIn(request).account.id)
        throw new ApiError('not_found', 'This account has no key of that id.', { param: 'key_id' })
      request.key = liveKey(found)
      return answerCall(request.key as StandardKey, body, request, reply, deps, (callId) => {
        reply.header('x-call-id', callId)
      })
    },
  )
}
