import { randomBytes } from 'node:crypto'
import { createAccountThrottle } from '../accounts/account-throttle.ts'
import { startKeyCache } from '../accounts/key-cache.ts'
import { createKeyHasher } from '../accounts/key-hash.ts'
import { createKeyStore } from '../accounts/key-store.ts'
import { createPresetCache } from '../accounts/presets/preset-cache.ts'
import { type CallFeedback, putCallFeedback } from '../billing/call-records/call-feedback-store.ts'
import { createCallRecords } from '../billing/call-records/call-records.ts'
import { readAutoChoices } from '../billing/reports/auto-choices.ts'
import { createReports } from '../billing/reports/reports.ts'
import { createUsageSeriesStore } from '../billing/reports/usage-series-store.ts'
import { createByokKeyChecker } from '../byok/byok-key-checker.ts'
import { endSuspendedCalls } from '../calls/api/end-suspended-calls.ts'
import type { TakeSlotOfShard } from '../calls/in-process-link.ts'
import { createPromptLogs } from '../calls/prompt-logs/prompt-log-writer.ts'
import { createBackgroundCalls } from '../calls/stored-responses/background-calls.ts'
import { adoptEdits } from '../catalog/adopt-edits.ts'
import { createCatalogEdits } from '../catalog/catalog-edits-store.ts'
import { createPlatformKeyStore } from '../catalog/platform-key-store.ts'
import { readRateChangeTimes } from '../catalog/rate-history-store.ts'
import type { Config } from '../config.ts'
import { autoLadder } from '../core/auto/auto-ladder.ts'
import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import { publicPathOf } from '../core/kernel/service-addresses.ts'
import { developmentRailRefusal } from '../core/payments/development-rail-refusal.ts'
import { createProviderStatus } from '../http/account/provider-status-route.ts'
import { createReasoningBox, REASONING_PURPOSE } from '../http/calls/reasoning-box.ts'
import { createSessionCookies } from '../http/session-cookie.ts'
import { reportSlots } from '../http/slots.ts'
import { enableProvider } from '../offer-health/circuit-breaker/breaker-store.ts'
import { createOfferStates, followOfferHealth } from '../offer-health/circuit-breaker/offer-health.ts'
import { followOfferMeasures } from '../offer-health/offer-measures.ts'
import { createCatalogManagement } from '../operators/catalog-management.ts'
import { createPlatformKeyManagement } from '../operators/platform-key-management.ts'
import { createRefusalCounter } from '../operators/refusal-counter.ts'
import { createRefusalStore } from '../operators/refusal-store.ts'
import { createRefundTopUp } from '../operators/top-up-refunds.ts'
import { createCallPayments } from '../payments/x402/call-payments.ts'
import { openBodyStore } from '../platform/body-store/create-body-store.ts'
import { createReadiness } from '../platform/observability/readiness.ts'
import { announceKeyChange, type KeyChange } from '../platform/redis/key-changes.ts'
import { createNetworkLimiter } from '../platform/redis/rate-limiter.ts'
import { keepSubscriberLimit } from '../platform/redis/redis-subscriber-limit.ts'
import { createSealer } from '../platform/sealing.ts'
import { checkKey } from '../providers/listings/check-key.ts'
import { openAnalytics } from './analytics.ts'
import { composeCallPaths } from './call-path.ts'
import { composeCatalog } from './catalog.ts'
import { type Clients, openQueues } from './clients.ts'
import { composeMoney } from './money.ts'
import { composePeople, composeSignIn } from './people.ts'
import { openReportsReplica } from './reports-replica.ts'

/** Concurrent reports of signed-in accounts, of one instance and of one account. */
const CONSOLE_REPORTS_MAX = 16
const CONSOLE_REPORTS_PER_ACCOUNT_MAX = 6
/** The period of the limit of requests without a key. */
const QUOTES_SECONDS = 60
/** Maximum time of a provider for checking a key. */
const KEY_CHECK_MS = 4_000

/** Opens the additional connections of an API process. */
function openApiClients({ redis, connections }: Clients) {
  const waiting = (name: string) => connections.redis(`switchyard-api-${name}`, 'wait')
  const connectTimeoutMs = 2_000
  return {
    redis,
    queueRedis: connections.redis('switchyard-api-queues', 'fail-fast'),
    replySubscriber: connections.redis('switchyard-api-replies', 'follow'),
    keySubscriber: waiting('keys'),
    healthSubscriber: waiting('health'),
    postgres: connections.postgres('switchyard-api', { connectTimeoutMs, statementTimeoutMs: 5_000 }),
    /** A separate pool, so that a report over a year of usage does not delay lookups of keys and balances. */
    reportsPostgres: connections.postgres('switchyard-api-reports', { poolSize: 3, connectTimeoutMs }),
    /** A separate pool, so that long stored responses delay no lookup of a balance or a preset. */
    responsesPostgres: connections.postgres('switchyard-api-responses', {
      poolSize: 3,
      connectTimeoutMs,
      statementTimeoutMs: 5_000,
    }),
    /** A separate pool, so that lookups of invalid keys delay no other query. */
    keysPostgres: connections.postgres('switchyard-api-keys', {
      poolSize: 2,
      connectTimeoutMs,
      statementTimeoutMs: 2_000,
    }),
  }
}

/** What routes take as `app.services`: every store and service of the API tier. */
export type ApiServices = Awaited<ReturnType<typeof composeApi>>['services']

/** Composes the services of plugins and routes. */
export async function composeApi(
  config: Readonly<Config>,
  common: Clients,
  takeSlot: TakeSlotOfShard | undefined,
) {
  const opened = openApiClients(common)
  const reportsReplica = await openReportsReplica(config, common, opened.reportsPostgres)
  const clients = { ...common, ...opened, reportsReplica, clock: Date.now }
  const { redis, keySubscriber, postgres, reportsPostgres, logger, registry, resources } = clients
  await keepSubscriberLimit(redis, logger)
  const keyCache = await startKeyCache({
    keys: createKeyStore(clients.keysPostgres, createKeyHasher(config.masterKeys), randomBytes),
    ...{ redis, logger, clock: Date.now },
    subscriber: keySubscriber,
    refreshMs: config.keyReloadMs,
  })
  resources.defer(() => keyCache.stop())
  let forgetPresets: (change: KeyChange) => void = () => undefined
  const announce = (change: KeyChange) => {
    keyCache.forget(change)
    forgetPresets(change)
    return announceKeyChange(redis, change)
  }
  const queues = openQueues(clients.queueRedis, resources)
  const { overlay, platformKeys, catalog } = await composeCatalog(config, clients, keySubscriber)
  // Computed with the catalog, so that no call waits for it.
  const estimateForAuto = (snapshot: CatalogSnapshot) => void autoLadder(snapshot.autoLadder)
  estimateForAuto(catalog.snapshot())
  catalog.onChange(estimateForAuto)
  const developmentRefusal = () => developmentRailRefusal(config, catalog.snapshot())
  const money = await composeMoney(config, { ...clients, developmentRefusal })
  const people = composePeople(config, { ...clients, announce }, money)
  const signIn = composeSignIn(config, { ...clients, announce, mailQueue: queues.mail }, money, people)
  const presetCache = createPresetCache({
    ...{ presets: people.presets, logger, clock: Date.now },
    refreshMs: config.keyReloadMs,
  })
  forgetPresets = presetCache.forget
  keyCache.onChange(presetCache.forget)
  const health = await followOfferHealth({
    redis,
    subscriber: clients.healthSubscriber,
    now: Date.now,
    logger,
  })
  resources.defer(() => health.stop())
  const measures = await followOfferMeasures({ redis, now: Date.now, logger })
  resources.defer(() => measures.stop())
  const files = await openBodyStore(config)
  resources.defer(() => files.close())
  const { apiId, paths, pathOf } = await composeCallPaths(config, clients, {
    catalog: catalog.snapshot,
    offerStates: createOfferStates(health, measures),
    accounts: people.accounts,
    holds: money.holds,
    ...{ queues, takeSlot },
  })
  const hubOf = (accountId: string) => pathOf(accountId).hub
  keyCache.onChange(endSuspendedCalls({ hubOf, accounts: people.accounts, logger }))
  const promptLogs = createPromptLogs({ store: people.promptLogs, registry, logger })
  resources.defer(() => promptLogs.close())
  const refusalStore = createRefusalStore(postgres)
  const refusals = createRefusalCounter({ store: refusalStore, clock: Date.now, logger })
  resources.defer(() => refusals.stop())

  const { publicUrl } = config
  const clock = clients.fleetClock
  const isSecure = publicUrl?.startsWith('https:') ?? false
  const { auditedAction } = people.auditLog
  const usage = await openAnalytics(config, clients, reportsPostgres, {
    ...money.usage,
    ...createUsageSeriesStore(reportsReplica),
  })
  const reports = createReports(
    { postgres: reportsPostgres, replica: reportsReplica, usage },
    redis,
    Date.now,
    logger,
  )
  const offers = { health, measures, platformKeys }
  const catalogEdits = createCatalogEdits(postgres, redis)
  const services = {
    ...money,
    usage,
    ...people,
    ...signIn,
    ...{ config, publicUrl, publicPath: publicPathOf(publicUrl), isSecure },
    /** The same settings, for consumers that declare only some of them. */
    limits: config,
    ...{ redis, queues, announce, keyCache, presetCache, logger, clock },
    cookies: createSessionCookies(isSecure),
    /** Whether sign-in with admin keys is disabled. */
    ssoOnly: config.operatorSsoOnly,
    backgroundCalls: createBackgroundCalls({ store: people.storedResponses, logger }),
    reasoningBox: createReasoningBox(createSealer(config.masterKeys, REASONING_PURPOSE)),
    /** Everything that a call needs, from its key to its response. */
    callPath: { pathOf, promptLogs, files, clock, logger, limits: config },
    /** Null: every call needs a key. */
    paidCalls: config.callPayment && {
      payments: await createCallPayments(config.callPayment, config, {
        ...clients,
        holds: money.holds,
        clock,
      }),
      throttle: createNetworkLimiter(redis, 'quote', config.x402QuotesPerAddress, QUOTES_SECONDS),
      ...{ publicUrl, limits: config, logger },
    },
    catalog: catalog.snapshot,
    previewEdits: catalog.preview,
    catalogEdits,
    catalogManagement: createCatalogManagement(catalogEdits, auditedAction, {
      ...catalog,
      adopt: () => adoptEdits({ overlay, catalog, postgres, logger }),
    }),
    readAutoChoices: () => readAutoChoices(reportsReplica),
    platformKeys: createPlatformKeyManagement({
      store: createPlatformKeyStore({ ...config, postgres, redis }),
      check: (provider, secret) => checkKey(provider, secret, AbortSignal.timeout(KEY_CHECK_MS)),
      reread: overlay.reread,
      closeBreaker: (providerId) => enableProvider(redis, providerId),
      auditedAction,
    }),
    offers,
    providerStatus: createProviderStatus({
      ...{ ...money, ...people, offers, clock },
      modelStats: reports.models,
      catalog: catalog.snapshot,
    }),
    keyChecker: createByokKeyChecker(clients),
    reports,
    modelStats: reports.models,
    spend: reports.spend,
    /** Uses a pool that reports do not block. */
    recentCalls: createCallRecords(postgres),
    ...{ refusals, refusalStore },
    putFeedback: (feedback: CallFeedback) => putCallFeedback(postgres, feedback),
    rateTimes: (snapshot: CatalogSnapshot) => readRateChangeTimes(reportsPostgres, snapshot),
    refundTopUp: createRefundTopUp({ ...money.payments, auditedAction }),
    throttleAccount: createAccountThrottle(redis),
    /** Bounds the reports that signed-in accounts read at a time. */
    consoleSlots: reportSlots(CONSOLE_REPORTS_MAX, CONSOLE_REPORTS_PER_ACCOUNT_MAX),
  }
  const askPostgres = () => postgres.$queryRaw`SELECT 1`
  const untilReceiving = (shard: number) => paths[shard]!.hub.untilReceiving()
  return { services, paths, readiness: createReadiness({ apiId, redis, untilReceiving, askPostgres }) }
}
