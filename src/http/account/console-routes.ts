import type { FastifyPluginAsync } from 'fastify'
import type { AppDependencies } from '../app.ts'
import { consoleCallRoutes } from '../calls.ts'
import { unavailable } from '../plugins/answer-errors.ts'
import { secureHeaders } from '../plugins/security-headers.ts'
import { consoleProviderKeyRoutes } from '../provider-keys.ts'
import { reportSlots, type Slots } from '../slots.ts'
import { consoleTopUpRoutes } from '../top-ups.ts'
import { consoleUsageRoute } from '../usage.ts'
import { billingRoutes } from './billing-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { liveRoute } from './live-route.ts'
import { playgroundRoute } from './playground-route.ts'
import { sessionRoutes } from './session-routes.ts'
import { verificationRoutes } from './verification-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

export type ConsoleDependencies = AppDependencies & {
  /** Bounds what is read of the books at once, in all and by one account. */
  consoleSlots: Slots
}

const PREFIX = '/console/api'
const BODY_LIMIT_BYTES = 16 * 1024
const REPORTS_MAX = 16
const REPORTS_PER_ACCOUNT_MAX = 6

/** The JSON of the console's pages; src/core/api has its types. Registered apart, so that calls pay nothing for it. */
export const consoleRoutes: FastifyPluginAsync<AppDependencies> = async (app, deps) => {
  await secureHeaders(app, 'own-pages', deps.console.settings.isSecure)
  app.addHook('onRequest', async (_, reply) => {
    reply.header('cache-control', 'no-store')
  })
  // Before anyone is known; a call to a model may be as long as any.
  app.addHook('onRoute', (route) => {
    if (!route.url.endsWith('/playground')) route.bodyLimit = BODY_LIMIT_BYTES
  })
  const withSlots = {
    ...deps,
    consoleSlots: reportSlots(REPORTS_MAX, REPORTS_PER_ACCOUNT_MAX, 'account'),
  }
  const routes = [
    sessionRoutes,
    verificationRoutes,
    keyRoutes,
    billingRoutes,
    consoleTopUpRoutes,
    consoleUsageRoute,
    consoleCallRoutes,
    consoleProviderKeyRoutes,
    webhookRoutes,
    playgroundRoute,
    liveRoute,
  ]
  for (const route of routes) await app.register(route, { ...withSlots, prefix: PREFIX })
  // Also what is not there is answered with the headers of this scope.
  app.all(`${PREFIX}/*`, async (request) => {
    throw unavailable(request)
  })
}
