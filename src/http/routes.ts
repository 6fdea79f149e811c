import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { accountDataRoutes } from './account/account-data-routes.ts'
import { autoTopUpRoutes } from './account/billing/auto-top-up-routes.ts'
import { billingRoutes } from './account/billing/billing-routes.ts'
import { invoiceRoutes } from './account/billing/invoice-routes.ts'
import { callSessionRoutes } from './account/call-session-routes.ts'
import { consoleScope } from './account/console-scope.ts'
import { keyRoutes } from './account/keys/key-routes.ts'
import { promptLogRoutes } from './account/keys/prompt-log-routes.ts'
import { spendCapRoutes } from './account/keys/spend-cap-routes.ts'
import { liveRoute } from './account/live-route.ts'
import { modelRoutes } from './account/model-list-routes.ts'
import { activityRoute } from './account/organisations/activity-route.ts'
import { invitationRoutes } from './account/organisations/invitation-routes.ts'
import { memberRoutes } from './account/organisations/member-routes.ts'
import { organisationRoutes } from './account/organisations/organisation-routes.ts'
import { playgroundRoute } from './account/playground-route.ts'
import { operatorProviderStatusRoute, providerStatusRoute } from './account/provider-status-route.ts'
import { refusalRoute } from './account/refusal-route.ts'
import { emailRoutes } from './account/sessions/email-routes.ts'
import { oauthRoutes } from './account/sessions/oauth-routes.ts'
import { operatorSessionReader, operatorSessionRoutes } from './account/sessions/operator-session-routes.ts'
import { operatorSsoRoutes } from './account/sessions/operator-sso-routes.ts'
import { secondFactorRoutes } from './account/sessions/second-factor-routes.ts'
import { sessionListRoutes } from './account/sessions/session-list-routes.ts'
import { sessionRoutes } from './account/sessions/session-routes.ts'
import { signInStepRoutes } from './account/sessions/sign-in-step-routes.ts'
import { usageSeriesRoutes } from './account/usage-series-routes.ts'
import { visitorRoute } from './account/visitor-route.ts'
import { webhookRoutes } from './account/webhook-routes.ts'
import { consoleByokKeyRoutes } from './account-api/byok-keys.ts'
import { consoleFeedbackRoute } from './account-api/call-feedback.ts'
import { consoleCallRoutes } from './account-api/call-lists.ts'
import { consoleGroupBudgetRoutes } from './account-api/group-budgets.ts'
import { consoleGuardrailRoutes } from './account-api/guardrails.ts'
import { consolePresetRoutes } from './account-api/presets.ts'
import { consoleTopUpRoutes, topUpRoutes } from './account-api/top-ups.ts'
import { consoleUsageRoute } from './account-api/usage.ts'
import { accountBillingRoutes } from './admin/account-billing-routes.ts'
import { accountLedgerRoutes } from './admin/account-ledger-routes.ts'
import { accountOpeningRoutes } from './admin/account-opening-routes.ts'
import { accountRoutes } from './admin/account-routes.ts'
import { alarmDestinationRoutes } from './admin/alarm-destination-routes.ts'
import { alarmRoutes } from './admin/alarm-routes.ts'
import { auditRoutes } from './admin/audit-routes.ts'
import { callRoutes } from './admin/call-routes.ts'
import { catalogRoutes } from './admin/catalog-routes.ts'
import { keyRoutes as operatorKeyRoutes } from './admin/key-routes.ts'
import { liveRoutes } from './admin/live-routes.ts'
import { offerRoutes } from './admin/offer-routes.ts'
import { operatorRoutes } from './admin/operator-routes.ts'
import { platformKeyRoutes } from './admin/platform-key-routes.ts'
import { processRoutes } from './admin/process-routes.ts'
import { refusalRoutes } from './admin/refusal-routes.ts'
import { reportRoutes } from './admin/report-routes.ts'
import { routerRoutes } from './admin/router-routes.ts'
import { settingsRoutes } from './admin/settings-routes.ts'
import { surfaceRoutes as operatorSurfaceRoutes } from './admin/surface-routes.ts'
import { trafficRoutes } from './admin/traffic-routes.ts'
import type { RouteOptions } from './app.ts'
import { compressJson } from './plugins/compress-json.ts'
import { guardPrompts } from './plugins/guard-prompts.ts'
import { operatorAccess, statePermissions } from './plugins/operator-access.ts'
import { weighBodies } from './plugins/read-requests.ts'
import { accountSessions } from './plugins/session.ts'
import { staticConsole } from './plugins/static-console.ts'
import { surfaceAccess } from './plugins/surface-access.ts'
import { paymentWebhooks } from './public/payment-webhooks.ts'
import { queuesDashboard } from './public/queues-dashboard.ts'
import { surfaceRoutes } from './public/surfaces.ts'
import type { ApiAccounts } from './services/accounts.ts'
import type { ApiBilling } from './services/billing.ts'
import type { ApiCalls } from './services/calls.ts'
import type { ApiCatalog } from './services/catalog.ts'
import type { ApiOperators } from './services/operators.ts'

const PAGES_FOLDER = fileURLToPath(new URL('../../web/dist', import.meta.url))

/** What plugins and routes take as `app.calls`, `app.accounts` and so on. */
export interface ApiServices {
  calls: ApiCalls
  accounts: ApiAccounts
  billing: ApiBilling
  catalog: ApiCatalog
  operators: ApiOperators
}

/** Registers who may ask, and every route, in the order in which a request passes them. */
export async function apiRoutes(app: FastifyInstance, options: RouteOptions): Promise<void> {
  const { keyCache: keys, publicUrl } = app.accounts
  await app.register(operatorAccess, {
    ...{ keys, publicUrl, operatorSsoOnly: app.operators.ssoOnly },
    readOperatorSession: operatorSessionReader(app),
  })
  await app.register(surfaceAccess)
  await app.register(accountSessions, app.accounts)
  await app.register(guardPrompts)
  await app.register(weighBodies, options)
  await app.register(queuesDashboard, options)
  await app.register(adminRoutes, { prefix: '/admin/api' })
  await app.register(topUpRoutes)
  await app.register(paymentWebhooks)
  await app.register(surfaceRoutes, options)
  await app.register(operatorSessionRoutes)
  await app.register(operatorSsoRoutes)
  await app.register(consoleScope, { ...options, routes: consolePages })
  const answers = app.catalog.completionsSource
  await app.register(staticConsole, { ...options, pagesFolder: PAGES_FOLDER, answers })
}

/** For operators. */
async function adminRoutes(app: FastifyInstance): Promise<void> {
  await compressJson(app)
  statePermissions(app)
  app.addHook('onRequest', app.requireOperator)
  for (const routes of ADMIN_ROUTES.flat()) await app.register(routes)
}

const ADMIN_ROUTES = [
  [processRoutes, trafficRoutes, callRoutes],
  [accountRoutes, accountBillingRoutes, accountLedgerRoutes, accountOpeningRoutes, operatorKeyRoutes],
  [operatorRoutes, operatorSurfaceRoutes, reportRoutes, refusalRoutes, auditRoutes, alarmRoutes],
  [operatorProviderStatusRoute, settingsRoutes, alarmDestinationRoutes],
  [catalogRoutes, routerRoutes, platformKeyRoutes, offerRoutes, liveRoutes],
]

/** For signed-in account holders: what the console's pages read and change. */
async function consolePages(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    await compressJson(scope)
    for (const routes of CONSOLE_ROUTES.flat()) await scope.register(routes)
  })
  await app.register(playgroundRoute)
}

const CONSOLE_ROUTES = [
  [
    providerStatusRoute,
    visitorRoute,
    sessionRoutes,
    emailRoutes,
    signInStepRoutes,
    oauthRoutes,
    sessionListRoutes,
  ],
  [organisationRoutes, memberRoutes, invitationRoutes, activityRoute],
  [secondFactorRoutes, accountDataRoutes, keyRoutes, modelRoutes],
  [billingRoutes, spendCapRoutes, consoleTopUpRoutes, autoTopUpRoutes, invoiceRoutes],
  [consoleUsageRoute, usageSeriesRoutes, refusalRoute, consoleCallRoutes, callSessionRoutes],
  [consoleFeedbackRoute, promptLogRoutes, consoleByokKeyRoutes, consolePresetRoutes],
  [consoleGroupBudgetRoutes],
  [webhookRoutes, consoleGuardrailRoutes, liveRoute],
]
