import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { secureHeaders } from '../plugins/security-headers.ts'
import { PLAYGROUND_PATH } from './playground-route.ts'

export interface ConsoleScopeOptions {
  /** Registers the routes. */
  routes: (scope: FastifyInstance) => Promise<void>
}

const PREFIX = '/console/api'
const BODY_LIMIT_BYTES = 16 * 1024

/** The JSON of the console's pages; src/core/api has its types. Registered apart, so that calls pay nothing for it. */
export const consoleScope: FastifyPluginAsync<ConsoleScopeOptions> = async (app, { routes }) => {
  const { isSecure } = app.services
  await secureHeaders(app, 'own-pages', isSecure)
  app.addHook('onRequest', async (_, reply) => {
    reply.header('cache-control', 'no-store')
  })
  // Before anyone is known; a call to a model may be as long as any.
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith(`${PREFIX}${PLAYGROUND_PATH}/`)) route.bodyLimit = BODY_LIMIT_BYTES
  })
  await app.register(routes, { prefix: PREFIX })
  // Also what is not there is answered with the headers of this scope.
  app.all(`${PREFIX}/*`, async (request, reply) => {
    throw app.refusalOfUnrouted(request, reply)
  })
}
