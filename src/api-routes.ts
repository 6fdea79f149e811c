import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { KeyCache } from './accounts/key-cache.ts'
import type { CallRecords } from './billing/call-records/call-records.ts'
import type { Reports } from './billing/reports/reports.ts'
import type { ByokKeyChecker } from './byok/byok-key-checker.ts'
import type { StartCallDependencies } from './calls/admission/start-call.ts'
import type { CatalogEdits } from './catalog/catalog-edits-store.ts'
import type { CatalogStore } from './catalog/catalog-store.ts'
import type { RateChangeTimes } from './catalog/pricing-feed.ts'
import type { Config } from './config.ts'
import type { CatalogSnapshot } from './core/catalog/catalog.ts'
import { publicPathOf } from './core/kernel/public-path.ts'
import { accountDataRoutes } from './http/account/account-data-routes.ts'
import { autoTopUpRoutes } from './http/account/billing/auto-top-up-routes.ts'
import { billingRoutes } from './http/account/billing/billing-routes.ts'
import { invoiceRoutes } from './http/account/billing/invoice-routes.ts'
import { consoleScope } from './http/account/console-scope.ts'
import { gatewayRoute } from './http/account/gateway-route.ts'
import { keyRoutes } from './http/account/keys/key-routes.ts'
import { promptLogRoutes } from './http/account/keys/prompt-log-routes.ts'
import { spendCapRoutes } from './http/account/keys/spend-cap-routes.ts'
import { liveRoute } from './http/account/live-route.ts'
import { modelRoutes } from './http/account/model-routes.ts'
import { activityRoute } from './http/account/organisations/activity-route.ts'
import { invitationRoutes } from './http/account/organisations/invitation-routes.ts'
import { memberRoutes } from './http/account/organisations/member-routes.ts'
import { organisationRoutes } from './http/account/organisations/organisation-routes.ts'
import { playgroundRoute } from './http/account/playground-route.ts'
import {
  createProviderStatus,
  operatorProviderStatusRoute,
  providerStatusRoute,
} from './http/account/provider-status-route.ts'
import { emailRoutes } from './http/account/sessions/email-routes.ts'
import { oauthRoutes } from './http/account/sessions/oauth-routes.ts'
import {
  type OperatorSessions,
  operatorSessionRoutes,
} from './http/account/sessions/operator-session-routes.ts'
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
import { reportRoutes } from './http/admin/report-routes.ts'
import { settingsRoutes } from './http/admin/settings-routes.ts'
import { surfaceRoutes as operatorSurfaceRoutes } from './http/admin/surface-routes.ts'
import { trafficRoutes } from './http/admin/traffic-routes.ts'
import { consoleByokKeyRoutes } from './http/byok-keys.ts'
import { consoleCallRoutes } from './http/call-lists.ts'
import type { CallServices } from './http/calls/serve-call.ts'
import type { OfferKnowledge } from './http/offer-view.ts'
import { compressJson } from './http/plugins/compress-json.ts'
import { statePermissions } from './http/plugins/operator-access.ts'
import { staticConsole } from './http/plugins/static-console.ts'
import { paymentWebhooks } from './http/public/payment-webhooks.ts'
import { queuesDashboard } from './http/public/queues-dashboard.ts'
import { surfaceRoutes } from './http/public/surfaces.ts'
import type { PaidCalls } from './http/public/x402-calls.ts'
import { reportSlots } from './http/slots.ts'
import { consoleTopUpRoutes, topUpRoutes } from './http/top-ups.ts'
import { consoleUsageRoute } from './http/usage.ts'
import type { CatalogManagement } from './operations/catalog-management.ts'
import type { PlatformKeyManagement } from './operations/platform-key-management.ts'
import { createRefundTopUp } from './operations/top-up-refunds.ts'
import type { SettingsThrottle } from './payments/auto-top-up-throttle.ts'
import type { TopUps } from './payments/create-top-ups.ts'
import type { BodyStore } from './platform/body-store/body-store.ts'
import type { Logger } from './platform/observability/logger.ts'
import type { Queues } from './platform/queues/queue-stats.ts'
import type { JobQueue } from './platform/queues/queues.ts'
import type { KeyChange } from './platform/redis/key-changes.ts'
import type { Redis } from './platform/redis/redis.ts'
import type { createSignIn, Services } from './services.ts'
import type { WebhookThrottle } from './webhooks/webhook-throttle.ts'

/** What the composed API tier has; every route is handed the part that it names. */
export interface ApiParts {
  config: Readonly<Config>
  services: Services
  signIn: ReturnType<typeof createSignIn>
  operators: OperatorSessions
  calls: StartCallDependencies & Pick<CallServices, 'promptLogs'>
  /** Where the files of calls are. */
  files: BodyStore
  keyCache: KeyCache
  catalog: CatalogStore
  catalogEdits: CatalogEdits
  catalogManagement: CatalogManagement
  keyChecker: ByokKeyChecker
  reports: Reports
  /** Over a pool that reports do not keep waiting. */
  recentCalls: Pick<CallRecords, 'settledSince'>
  topUps: TopUps
  paidCalls: PaidCalls | null
  rateTimes: (catalog: CatalogSnapshot) => Promise<RateChangeTimes>
  webhookThrottle: WebhookThrottle
  settingsThrottle: SettingsThrottle
  offers: OfferKnowledge
  platformKeys: PlatformKeyManagement
  queues: Queues & Record<string, JobQueue>
  redis: Redis
  announce: (change: KeyChange) => Promise<void>
  /** Browsers reach us by https. */
  isSecure: boolean
  logger: Logger
  clock: () => number
}

const PAGES_FOLDER = fileURLToPath(new URL('../web/dist', import.meta.url))
/** Reports that signed-in accounts read at a time, of one instance and of one account. */
const CONSOLE_REPORTS_MAX = 16
const CONSOLE_REPORTS_PER_ACCOUNT_MAX = 6

/** Registers every route with its services, in the order of a request's way. */
export function apiRoutes(parts: ApiParts): (app: FastifyInstance) => Promise<void> {
  const { config, services, signIn, operators, calls, keyCache, isSecure, logger, clock } = parts
  const { topUps, reports, keyChecker, redis, queues, offers, rateTimes } = parts
  const { holds, keys, byokKeys, auditLog, usage, payments, directory } = services
  const { publicUrl, webhooksAllowPrivate } = config
  const publicPath = publicPathOf(publicUrl)
  const { freeCredits, verification, passwordReset, emailChange } = signIn
  const catalog = parts.catalog.snapshot
  const limits = config

  const providerStatus = createProviderStatus({
    alarms: services.alarms,
    providerHours: services.providerHours,
    modelStats: reports.models,
    ...{ catalog, offers, clock },
  })

  /** For operators; times of their routes are those of this host. */
  const adminRoutes = async (app: FastifyInstance) => {
    const now = Date.now
    await compressJson(app)
    statePermissions(app)
    app.addHook('onRequest', app.requireOperator)
    await app.register(processRoutes, { redis, queues, claimWait: services.claimWait, clock: now })
    await app.register(trafficRoutes, { redis, clock: now })
    await app.register(callRoutes, {
      ...{ calls: services.calls, promptLogs: services.promptLogs, redis, queues, clock: now },
    })
    await app.register(accountRoutes, {
      accountManagement: services.accountManagement,
      hasHolder: services.hasHolder,
      ...{ directory, holds, keys, usage, payments, auditLog, members: services.members, clock: now },
    })
    await app.register(accountBillingRoutes, {
      topUps,
      accountManagement: services.accountManagement,
      refundTopUp: createRefundTopUp({ ...topUps, auditedAction: auditLog.auditedAction }),
    })
    await app.register(accountLedgerRoutes, {
      accountManagement: services.accountManagement,
      accountLedger: services.accountLedger,
      auditLog,
    })
    await app.register(accountOpeningRoutes, {
      accountManagement: services.accountManagement,
      accountOpening: signIn.accountOpening,
      clock: now,
    })
    await app.register(operatorKeyRoutes, { keyManagement: services.keyManagement, clock: now })
    await app.register(operatorRoutes, { operatorManagement: services.operatorManagement, clock: now })
    await app.register(operatorSurfaceRoutes, {
      accountManagement: services.accountManagement,
      surfaceManagement: services.surfaceManagement,
    })
    await app.register(reportRoutes, { margin: services.margin, sumLedger: services.sumLedger, clock: now })
    await app.register(auditRoutes, {
      audits: services.audits,
      auditEveryMinutes: config.auditEveryMinutes,
      ...{ auditLog, redis },
    })
    await app.register(alarmRoutes, { alarms: services.alarms, auditLog, clock: now })
    operatorProviderStatusRoute(app, providerStatus)
    await app.register(settingsRoutes, { settings: services.settings })
    await app.register(alarmDestinationRoutes, { alarmDestinations: services.alarmDestinations })
    await app.register(catalogRoutes, {
      catalog,
      catalogEdits: parts.catalogEdits,
      catalogManagement: parts.catalogManagement,
      checkEdits: parts.catalog.check,
      previewEdits: parts.catalog.preview,
      rateHistory: services.rateHistory,
    })
    await app.register(platformKeyRoutes, { catalog, platformKeys: parts.platformKeys })
    await app.register(offerRoutes, { catalog, offers, offerManagement: services.offerManagement })
    await app.register(liveRoutes, { alarms: services.alarms, redis, queues, offers, clock: now })
  }

  /** For account holders who are signed in. */
  const consoleRoutes = async (app: FastifyInstance) => {
    const { accounts, members, organisations, ledger, deliveries, endpoints, retryDelivery, keyActivity } =
      services
    const { readStatement } = services
    const { sessions, sessionMs, isDelivered } = signIn
    await compressJson(app)
    const consoleSlots = reportSlots(CONSOLE_REPORTS_MAX, CONSOLE_REPORTS_PER_ACCOUNT_MAX, 'account')
    await app.register(gatewayRoute, { catalog, config, settings: services.settings })
    await app.register(providerStatusRoute, { providerStatus, settings: services.settings })
    await app.register(sessionRoutes, {
      signIn: signIn.signIn,
      cookies: operators.cookies,
      signUpClosed: config.signUpClosed,
      ...{ accounts, members, sessions, sessionMs, holds, ledger, freeCredits, publicUrl },
    })
    await app.register(emailRoutes, { verification, passwordReset, emailChange, publicUrl })
    await app.register(signInStepRoutes, {
      signIn: signIn.signIn,
      cookies: operators.cookies,
      ...{ accounts, members, sessionMs, holds, ledger, freeCredits, publicUrl },
    })
    await app.register(oauthRoutes, {
      oauth: signIn.oauth,
      cookies: operators.cookies,
      ...{ sessionMs, publicUrl, isDelivered },
    })
    await app.register(sessionListRoutes, { sessions })
    const { invitationStore, invitations, throttle } = signIn
    await app.register(organisationRoutes, {
      ...{ organisations, members, sessions, holds, ledger, freeCredits },
    })
    await app.register(memberRoutes, {
      monthlyBudgets: services.monthlyBudgets,
      spend: reports.spend,
      announce: parts.announce,
      ...{ members, invitationStore, invitations, clock },
    })
    await app.register(invitationRoutes, {
      ...{ invitationStore, invitations, members, sessions, throttle, holds, ledger, freeCredits, publicUrl },
    })
    await app.register(activityRoute, { accountActions: services.accountActions, members })
    await app.register(secondFactorRoutes, { secondFactor: signIn.secondFactor, publicUrl, isDelivered })
    await app.register(accountDataRoutes, {
      accountExport: services.accountExport,
      accountDeletion: signIn.accountDeletion,
      cookies: operators.cookies,
      consoleSlots,
      clock,
    })
    await app.register(keyRoutes, {
      ...{ keys, keyActivity, catalog, limits, clock },
      editKey: services.editKey,
      announce: parts.announce,
    })
    await app.register(modelRoutes, { catalog, modelStats: reports.models })
    await app.register(billingRoutes, { topUps, limits, holds, ledger, readStatement, consoleSlots })
    await app.register(spendCapRoutes, { reports, monthlyBudgets: services.monthlyBudgets, clock })
    await app.register(consoleTopUpRoutes, { topUps, limits })
    await app.register(autoTopUpRoutes, { topUps, limits, settingsThrottle: parts.settingsThrottle })
    const { invoices } = topUps
    await app.register(invoiceRoutes, { invoices, isIssuing: config.invoices !== null, consoleSlots })
    await app.register(consoleUsageRoute, { reports, clock, consoleSlots })
    await app.register(usageSeriesRoutes, { reports, clock, consoleSlots })
    await app.register(consoleCallRoutes, { reports, promptLogs: services.promptLogs, clock, consoleSlots })
    await app.register(promptLogRoutes, { keys, promptLogs: services.promptLogs })
    await app.register(consoleByokKeyRoutes, {
      mailByokKeyAdded: signIn.mailByokKeyAdded,
      ...{ byokKeys, keyChecker, catalog, limits },
    })
    await app.register(webhookRoutes, {
      webhookThrottle: parts.webhookThrottle,
      ...{ endpoints, deliveries, retryDelivery, webhooksAllowPrivate, clock },
    })
    await app.register(liveRoute, {
      recentCalls: parts.recentCalls,
      ...{ accounts, holds, sessions, logger, clock },
    })
  }

  const consolePages = async (app: FastifyInstance) => {
    await app.register(consoleRoutes)
    await app.register(playgroundRoute, { ...calls, files: parts.files, keys, limits, clock })
  }

  return async (app) => {
    await app.register(queuesDashboard, { queues: Object.values(queues), isSecure, publicPath })
    await app.register(adminRoutes, { prefix: '/admin/api' })
    const { accountActions } = services
    await app.register(topUpRoutes, { accountActions, topUps, limits, logger })
    await app.register(paymentWebhooks, { topUps, logger })
    await app.register(surfaceRoutes, {
      ...calls,
      files: parts.files,
      accountActions,
      mailByokKeyAdded: signIn.mailByokKeyAdded,
      ...{ reports, catalog, rateTimes, byokKeys, keyChecker, limits, publicUrl, logger, clock },
      corsOrigins: config.corsOrigins,
      paidCalls: parts.paidCalls,
    })
    const { operatorSignIn } = signIn
    const singleSignOn = operatorSignIn?.name ?? null
    await app.register(operatorSessionRoutes, {
      ...operators,
      ...{ keyCache, throttle: signIn.throttle, singleSignOn },
    })
    if (operatorSignIn)
      await app.register(operatorSsoRoutes, { operatorSignIn, cookies: operators.cookies, publicUrl })
    await app.register(consoleScope, { isSecure, routes: consolePages })
    await app.register(staticConsole, { pagesFolder: PAGES_FOLDER, isSecure, publicPath })
  }
}
