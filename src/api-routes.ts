import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { completionsSource } from './core/catalog/completions-source.ts'
import { accountDataRoutes } from './http/account/account-data-routes.ts'
import { autoTopUpRoutes } from './http/account/billing/auto-top-up-routes.ts'
import { billingRoutes } from './http/account/billing/billing-routes.ts'
import { invoiceRoutes } from './http/account/billing/invoice-routes.ts'
import { callSessionRoutes } from './http/account/call-session-routes.ts'
import { consoleScope } from './http/account/console-scope.ts'
import { gatewayRoute } from './http/account/gateway-route.ts'
import { keyRoutes } from './http/account/keys/key-routes.ts'
import { promptLogRoutes } from './http/account/keys/prompt-log-routes.ts'
import { spendCapRoutes } from './http/account/keys/spend-cap-routes.ts'
import { liveRoute } from './http/account/live-route.ts'
import { modelRoutes } from './http/account/model-list-routes.ts'
import { activityRoute } from './http/account/organisations/activity-route.ts'
import { invitationRoutes } from './http/account/organisations/invitation-routes.ts'
import { memberRoutes } from './http/account/organisations/member-routes.ts'
import { organisationRoutes } from './http/account/organisations/organisation-routes.ts'
import { playgroundRoute } from './http/account/playground-route.ts'
import { operatorProviderStatusRoute, providerStatusRoute } from './http/account/provider-status-route.ts'
import { refusalRoute } from './http/account/refusal-route.ts'
import { emailRoutes } from './http/account/sessions/email-routes.ts'
import { oauthRoutes } from './http/account/sessions/oauth-routes.ts'
import { operatorSessionRoutes } from './http/account/sessions/operator-session-routes.ts'
import { operatorSsoRoutes } from './http/account/sessions/operator-sso-routes.ts'
import { secondFactorRoutes } from './http/account/sessions/second-factor-routes.ts'
import { sessionListRoutes } from './http/account/sessions/session-list-routes.ts'
import { sessionRoutes } from './http/account/sessions/session-routes.ts'
import { signInStepRoutes } from './http/account/sessions/sign-in-step-routes.ts'
import { usageSeriesRoutes } from './http/account/usage-series-routes.ts'
import { webhookRoutes } from './http/account/webhook-routes.ts'
import { accountBillingRoutes } from './http/admin/account-billing-routes.ts'
import { accountLedgerRoutes } from './http/admin/account-ledger-routes.ts'
import { accountOpeningRoutes } from './http/admin/account-opening-routes.ts'
import { accountRoutes } from './http/admin/account-routes.ts'
import { alarmDestinationRoutes } from './http/admin/alarm-destination-routes.ts'
import { alarmRoutes } from './http/admin/alarm-routes.ts'
import { auditRoutes } from './http/admin/audit-routes.ts'
import { callRoutes } from './http/admin/call-routes.ts'
import { catalogRoutes } from './http/admin/catalog-routes.ts'
import { keyRoutes as operatorKeyRoutes } from './http/admin/key-routes.ts'
import { liveRoutes } from './http/admin/live-routes.ts'
import { offerRoutes } from './http/admin/offer-routes.ts'
import { operatorRoutes } from './http/admin/operator-routes.ts'
import { platformKeyRoutes } from './http/admin/platform-key-routes.ts'
import { processRoutes } from './http/admin/process-routes.ts'
import { refusalRoutes } from './http/admin/refusal-routes.ts'
import { reportRoutes } from './http/admin/report-routes.ts'
import { routerRoutes } from './http/admin/router-routes.ts'
import { settingsRoutes } from './http/admin/settings-routes.ts'
import { surfaceRoutes as operatorSurfaceRoutes } from './http/admin/surface-routes.ts'
import { trafficRoutes } from './http/admin/traffic-routes.ts'
import { consoleByokKeyRoutes } from './http/byok-keys.ts'
import { consoleFeedbackRoute } from './http/call-feedback.ts'
import { consoleCallRoutes } from './http/call-lists.ts'
import { compressJson } from './http/plugins/compress-json.ts'
import { statePermissions } from './http/plugins/operator-access.ts'
import { staticConsole } from './http/plugins/static-console.ts'
import { consolePresetRoutes } from './http/presets.ts'
import { paymentWebhooks } from './http/public/payment-webhooks.ts'
import { queuesDashboard } from './http/public/queues-dashboard.ts'
import { surfaceRoutes } from './http/public/surfaces.ts'
import { consoleTopUpRoutes, topUpRoutes } from './http/top-ups.ts'
import { consoleUsageRoute } from './http/usage.ts'

const PAGES_FOLDER = fileURLToPath(new URL('../web/dist', import.meta.url))

/** Registers every route, in the order in which a request passes them. */
export async function apiRoutes(app: FastifyInstance): Promise<void> {
  const { isSecure, publicPath, config, catalog } = app.services
  await app.register(queuesDashboard)
  await app.register(adminRoutes, { prefix: '/admin/api' })
  await app.register(topUpRoutes)
  await app.register(paymentWebhooks)
  await app.register(surfaceRoutes)
  await app.register(operatorSessionRoutes)
  await app.register(operatorSsoRoutes)
  await app.register(consoleScope, { routes: consolePages })
  const answers = () => completionsSource(config, catalog())
  await app.register(staticConsole, { pagesFolder: PAGES_FOLDER, isSecure, publicPath, answers })
}

/** For operators; their routes use the clock of this host. */
async function adminRoutes(app: FastifyInstance): Promise<void> {
  app.decorate('services', { ...app.services, clock: Date.now })
  await compressJson(app)
  statePermissions(app)
  app.addHook('onRequest', app.requireOperator)
  for (const routes of ADMIN_ROUTES) await app.register(routes)
}

const ADMIN_ROUTES = [
  processRoutes,
  trafficRoutes,
  callRoutes,
  accountRoutes,
  accountBillingRoutes,
  accountLedgerRoutes,
  accountOpeningRoutes,
  operatorKeyRoutes,
  operatorRoutes,
  operatorSurfaceRoutes,
  reportRoutes,
  refusalRoutes,
  auditRoutes,
  alarmRoutes,
  operatorProviderStatusRoute,
  settingsRoutes,
  alarmDestinationRoutes,
  catalogRoutes,
  routerRoutes,
  platformKeyRoutes,
  offerRoutes,
  liveRoutes,
]

/** The routes that the console's pages read and change. */
async function consolePages(app: FastifyInstance): Promise<void> {
  await app.register(consoleRoutes)
  await app.register(playgroundRoute)
}

/** For signed-in account holders. */
async function consoleRoutes(app: FastifyInstance): Promise<void> {
  await compressJson(app)
  for (const routes of CONSOLE_ROUTES) await app.register(routes)
}

const CONSOLE_ROUTES = [
  gatewayRoute,
  providerStatusRoute,
  sessionRoutes,
  emailRoutes,
  signInStepRoutes,
  oauthRoutes,
  sessionListRoutes,
  organisationRoutes,
  memberRoutes,
  invitationRoutes,
  activityRoute,
  secondFactorRoutes,
  accountDataRoutes,
  keyRoutes,
  modelRoutes,
  billingRoutes,
  spendCapRoutes,
  consoleTopUpRoutes,
  autoTopUpRoutes,
  invoiceRoutes,
  consoleUsageRoute,
  usageSeriesRoutes,
  refusalRoute,
  consoleCallRoutes,
  callSessionRoutes,
  consoleFeedbackRoute,
  promptLogRoutes,
  consoleByokKeyRoutes,
  consolePresetRoutes,
  webhookRoutes,
  liveRoute,
]
