import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyPluginAsync } from 'fastify'
import type { Services } from '../../services.ts'
import type { OfferKnowledge } from '../offer-view.ts'
import { accountRoutes } from './account-routes.ts'
import { alarmRoutes } from './alarm-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { callRoutes } from './call-routes.ts'
import { type CatalogRouteServices, catalogRoutes } from './catalog-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { liveRoutes } from './live-routes.ts'
import type { LiveServices } from './live-view.ts'
import { type OfferRouteServices, offerRoutes } from './offer-routes.ts'
import { processRoutes } from './process-routes.ts'
import { reportRoutes } from './report-routes.ts'
import { trafficRoutes } from './traffic-routes.ts'

/** What the routes of operators take, each the part that it names. */
export interface AdminDependencies extends Services, CatalogRouteServices, OfferRouteServices, LiveServices {
  offers: OfferKnowledge
  auditEveryMinutes: number
}

const ROUTES: ReadonlyArray<FastifyPluginAsyncTypebox<AdminDependencies>> = [
  processRoutes,
  trafficRoutes,
  callRoutes,
  accountRoutes,
  keyRoutes,
  reportRoutes,
  auditRoutes,
  alarmRoutes,
  catalogRoutes,
  offerRoutes,
  liveRoutes,
]

/** The operator's JSON under /admin/api, for admin keys and signed-in operators; src/core/api has its types. */
export const adminRoutes: FastifyPluginAsync<{ admin: AdminDependencies }> = async (app, { admin }) => {
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', scope.requireAdminKey)
      for (const routes of ROUTES) await scope.register(routes, admin)
    },
    { prefix: '/admin/api' },
  )
}
