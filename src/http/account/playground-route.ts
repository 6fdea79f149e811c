import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { lookUpKey } from '../../accounts/key-cache.ts'
import type { KeyStore } from '../../accounts/key-store.ts'
import { readChatBody } from '../../core/calls/chat-request.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { liveKey, type StandardKey } from '../plugins/authenticate.ts'
import { signedIn } from '../plugins/session.ts'
import { type CallServices, serveChat } from '../public/chat-completions.ts'

/** The rest is the body of the call, which is validated once the key is known to be usable. */
const PlaygroundBody = Type.Object(
  { key_id: Type.String({ errorMessage: '`key_id` names the key to call with.' }) },
  { errorMessage: { type: '`key_id` names the key to call with.' } },
)

export interface PlaygroundServices extends CallServices {
  keys: Pick<KeyStore, 'find'>
  limits: CallServices['limits'] & { bodyLimitBytes: number }
}

/** A call with one of the account's keys, by its id: the same way, the same limits and the same charge as any call. */
export const playgroundRoute: FastifyPluginAsyncTypebox<PlaygroundServices> = async (app, deps) => {
  app.post(
    '/playground',
    {
      onRequest: [app.requireSession, app.weighBody],
      bodyLimit: deps.limits.bodyLimitBytes,
      schema: { body: PlaygroundBody },
    },
    async (request, reply) => {
      const { key_id: keyId, ...body } = request.body
      const found = await lookUpKey(deps.keys, keyId, deps.clock())
      // Of another account is as unknown as none at all.
      if (!('key' in found) || found.key.accountId !== signedIn(request).account.id)
        throw new ApiError('not_found', 'This account has no key of that id.', { param: 'key_id' })
      request.key = liveKey(found)
      return serveChat(request.key as StandardKey, readChatBody(body), request, reply, deps, (callId) => {
        reply.header('x-call-id', callId)
      })
    },
  )
}
