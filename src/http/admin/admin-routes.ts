import type { FastifyPluginAsync } from 'fastify'
import { accountRoutes } from './account-routes.ts'
import { alarmRoutes } from './alarm-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { callRoutes } from './call-routes.ts'
import { catalogRoutes } from './catalog-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { liveRoutes } from './live-routes.ts'
import type { OperatorServices } from './operator-services.ts'
import { processRoutes } from './process-routes.ts'
import { reportRoutes } from './report-routes.ts'
import { trafficRoutes } from './traffic-routes.ts'

const ROUTES = [
  processRoutes,
  trafficRoutes,
  callRoutes,
  accountRoutes,
  keyRoutes,
  reportRoutes,
  auditRoutes,
  alarmRoutes,
  catalogRoutes,
  liveRoutes,
]

/** The operator's JSON under /admin/api, for admin keys and signed-in operators; src/core/api has its types. */
export const adminRoutes: FastifyPluginAsync<{ operator: OperatorServices }> = async (app, { operator }) => {
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', scope.requireAdminKey)
      for (const routes of ROUTES) await scope.register(routes, operator)
    },
    { prefix: '/admin/api' },
  )
}
