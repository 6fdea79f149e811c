import type { FastifyPluginAsync } from 'fastify'
import type { AppDependencies } from '../app.ts'
import { unavailable } from '../plugins/answer-errors.ts'
import { secureHeaders } from '../plugins/security-headers.ts'
import { createSlots, REPORTS_OF_KEY, type Slots } from '../slots.ts'
import { billingRoutes } from './billing-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { liveRoute } from './live-route.ts'
import { playgroundRoute } from './playground-route.ts'
import { providerKeyRoutes } from './provider-key-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { usageRoutes } from './usage-routes.ts'
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
    consoleSlots: createSlots({
      max: REPORTS_MAX,
      maxPerHolder: REPORTS_PER_ACCOUNT_MAX,
      holderIsFull: 'This account has reports running. Wait for one to end.',
      allTaken: REPORTS_OF_KEY.allTaken,
    }),
  }
  const routes = [
    sessionRoutes,
    verificationRoutes,
    keyRoutes,
    billingRoutes,
    usageRoutes,
    providerKeyRoutes,
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
