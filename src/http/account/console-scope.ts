import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { secureHeaders } from '../plugins/security-headers.ts'
import { PLAYGROUND_PATH } from './playground-route.ts'

export interface ConsoleScopeOptions {
  /** Whether browsers reach the gateway by https. */
  isSecure: boolean
  /** Registers the routes. */
  routes: (scope: FastifyInstance) => Promise<void>
}

const PREFIX = '/console/api'
const BODY_LIMIT_BYTES = 16 * 1024

/**
 * The JSON API of the console's pages; src/core/api has its types. A separate scope, so that its hooks do not slow down
 * calls.
 */
export const consoleScope: FastifyPluginAsync<ConsoleScopeOptions> = async (app, { isSecure, routes }) => {
  await secureHeaders(app, 'own-pages', isSecure)
  app.addHook('onRequest', async (_, reply) => {
    reply.header('cache-control', 'no-store')
  })
  // Bounds bodies before authentication; only a playground call may be as long as any call.
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith(`${PREFIX}${PLAYGROUND_PATH}/`)) route.bodyLimit = BODY_LIMIT_BYTES
  })
  await app.register(routes, { prefix: PREFIX })
  // Unknown paths also get the headers of this scope.
  app.all(`${PREFIX}/*`, async (request, reply) => {
    throw app.refusalOfUnrouted(request, reply)
  })
}
