import { isIP } from 'node:net'
import {
  type PaypalSettings,
  readPaymentSettings,
  type StripeSettings,
} from './core/billing/payment-settings.ts'
import { COST_PERCENT, OPEN_WEIGHTS_COST_PERCENT } from './core/catalog/catalog-model.ts'
import { type MailSettings, readMailSettings } from './core/kernel/mail-settings.ts'
import { readServiceAddresses } from './core/kernel/service-addresses.ts'
import { StartError } from './core/kernel/start-error.ts'
import type { MasterKeys } from './platform/sealing.ts'

/**
 * The environment, read once into one frozen, validated Config. Every default of the contract stands here.
 * Durations in milliseconds unless the name says otherwise.
 */
export interface Config {
  port: number
  host: string
  metricsPort: number
  /** Where /metrics listens: it asks for no key. */
  metricsHost: string
  databaseUrl: string
  redisUrl: string
  dataDir: string
  catalogFile: string | null
  /** Variables that edits of the catalog may name as the key of a provider at any address. */
  catalogKeyNames: readonly string[]
  logLevel: string
  /** MASTER_KEY, then those of MASTER_KEY_PREVIOUS: seal job bodies and provider keys; the key pepper derives from them. */
  masterKeys: MasterKeys
  publicUrl: string | null
  simulatedProvidersUrl: string | null
  ollamaUrl: string | null

  attemptsPerCall: number
  retryBudgetPercent: number
  retryBudgetFloor: number
  queueWaitMs: number
  connectTimeoutMs: number
  firstTokenTimeoutMs: number
  lastFirstTokenTimeoutMs: number
  reasoningFirstTokenTimeoutMs: number
  reasoningLastFirstTokenTimeoutMs: number
  idleTimeoutMs: number
  /** An answer that nobody has seen yet is left for another offer when fewer tokens come in 30 s; 0: never. */
  dripTokensMin: number
  callTimeoutMs: number
  nonStreamingCallTimeoutMs: number
  keepAliveMs: number
  /** Open calls of an account that wait in the queue in order of arrival; more of them wait behind others. */
  accountQueueShare: number
  requestsPerMinute: number
  tokensPerMinute: number
  concurrentCalls: number
  accountRequestsPerMinute: number
  accountConcurrentCalls: number
  defaultCompletionLimit: number
  freeCreditUsd: string
  /** Free credit that the whole gateway gives away in an hour. */
  freeCreditBudgetUsd: string
  /** Free credits a day for one IPv4 address or IPv6 /64, and for one IPv6 /48. */
  freeCreditsPerAddress: number
  freeCreditsPerSite: number
  lowBalanceUsd: string
  discountPercent: number
  openWeightsDiscountPercent: number
  /** What we pay of providers' list prices where the catalog does not say, in percent. */
  costPercent: number
  openWeightsCostPercent: number
  allowLossOffers: boolean
  /** Simulated providers answer for every model; only while no real key is set. */
  simulateAll: boolean
  /** Catalog documents with prices, by path or https address, read again every `catalogSyncMs`. */
  priceFiles: readonly string[]
  /** How often providers are asked for their lists of models. */
  catalogSyncMs: number
  /** Of the listed cost: what a call costs that runs on the client's own provider key. */
  byokFeePercent: number

  bodyLimitBytes: number
  /** Of what a body holds beside its media. */
  textBodyLimitBytes: number
  /** Bytes of request bodies in flight through one API instance. */
  bodyBytesPerKey: number
  bodyBytesPerAccount: number
  bodyBytesPerInstance: number
  workerBodyBytes: number
  /** A longer body waits for its worker beside the queue, in PostgreSQL. */
  largeBodyBytes: number
  /** One key's requests that were refused for what they say. */
  refusedRequestsPerMinute: number
  refusedBytesPerMinute: number
  bodyTimeoutMs: number
  pendingCallsMax: number
  /** Open connections of one IPv4 address or IPv6 /64 to one API instance. */
  connectionsPerAddress: number
  slowClientBufferBytes: number
  /** Answers kept for repeats with the same Idempotency-Key, bytes. */
  keptReplies: { perAnswer: number; perAccount: number; inAll: number }
  workerConcurrency: number
  settlementBatchMax: number
  jobLockMs: number
  recoveryGraceMs: number
  unconfirmedSettlementsMax: number
  /** Ways to pay; null or false where a rail is not set up. */
  stripe: StripeSettings | null
  paypal: PaypalSettings | null
  paymentsDevelopmentRail: boolean
  topUpMinUsd: string
  topUpMaxUsd: string

  breakerFailures: number
  breakerWindowMs: number
  breakerCooldownMs: number
  shutdownGraceMs: number

  webhooksAllowPrivate: boolean
  webhookTimeoutMs: number
  webhookDisableAfterDays: number
  eventRetentionDays: number
  /** Between two audits of the books; 0: only when asked. */
  auditEveryMinutes: number

  /** Null: no mail is sent, and no email is verified. */
  mail: MailSettings | null
  /** Addresses and networks of proxies whose X-Forwarded-For is believed; empty: none. */
  trustedProxies: string[]
  /** Only the operator opens accounts. */
  signUpClosed: boolean
  sessionDays: number
  /** Attempts within a quarter of an hour; for sign-ups, within an hour. */
  signInsPerEmail: number
  signInsPerAddress: number
  signInsPerSite: number
  signUpsPerAddress: number
  signUpsPerSite: number
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

type Environment = Record<string, string | undefined>

/** For commands that use no service and no secret: makes an environment without them valid. */
export const UNUSED_SERVICES = {
  DATABASE_URL: 'postgresql://not.used/none',
  REDIS_URL: 'redis://not.used',
  MASTER_KEY: '0'.repeat(64),
}

/** Reads and validates the environment. Throws one StartError that lists everything wrong with it. */
export function readConfig(environment: Environment): Readonly<Config> {
  const problems: string[] = []
  const text = (name: string, fallback: string): string => environment[name] || fallback
  const integer = (name: string, fallback: number, min = 1, max = Number.MAX_SAFE_INTEGER): number => {
    const value = environment[name] ? Number(environment[name]) : fallback
    if (!Number.isInteger(value) || value < min || value > max) {
      problems.push(`${name} must be an integer from ${min} to ${max}`)
    }
    return value
  }
  const amountUsd = (name: string, fallback: string): string => {
    const value = environment[name] || fallback
    if (!/^\d{1,6}(\.\d{1,12})?$/.test(value)) problems.push(`${name} must be an amount of USD such as 0.50`)
    return value
  }
  const flag = (name: string): boolean => {
    const value = environment[name] || 'false'
    if (value !== 'true' && value !== 'false') problems.push(`${name} must be true or false`)
    return value === 'true'
  }
  const oneOf = (name: string, fallback: string, allowed: readonly string[]): string => {
    const value = environment[name] || fallback
    if (!allowed.includes(value)) problems.push(`${name} must be one of ${allowed.join(', ')}`)
    return value
  }
  const list = (name: string): string[] =>
    (environment[name] ?? '').split(',').flatMap((entry) => entry.trim() || [])
  const masterKeys = readMasterKeys(environment, problems)

  const config: Config = {
    port: integer('PORT', 8080, 0, 65_535),
    host: text('HOST', '0.0.0.0'),
    metricsPort: integer('METRICS_PORT', 9464, 0, 65_535),
    metricsHost: text('METRICS_HOST', '127.0.0.1'),
    ...readServiceAddresses(environment, problems),
    dataDir: text('DATA_DIR', '.data'),
    catalogFile: environment.CATALOG_FILE || null,
    catalogKeyNames: list('CATALOG_KEY_NAMES'),
    logLevel: oneOf('LOG_LEVEL', 'info', LOG_LEVELS),
    masterKeys,
    publicUrl: environment.PUBLIC_URL || null,
    simulatedProvidersUrl: environment.SIMULATED_PROVIDERS_URL || null,
    ollamaUrl: environment.OLLAMA_URL || null,

    attemptsPerCall: integer('ATTEMPTS_PER_CALL', 4, 1, 16),
    retryBudgetPercent: integer('RETRY_BUDGET_PERCENT', 20, 0, 100),
    retryBudgetFloor: integer('RETRY_BUDGET_FLOOR', 100, 0),
    queueWaitMs: integer('QUEUE_WAIT_MS', 15_000),
    connectTimeoutMs: integer('CONNECT_TIMEOUT_MS', 5_000),
    firstTokenTimeoutMs: integer('FIRST_TOKEN_TIMEOUT_MS', 10_000),
    lastFirstTokenTimeoutMs: integer('LAST_FIRST_TOKEN_TIMEOUT_MS', 30_000),
    reasoningFirstTokenTimeoutMs: integer('REASONING_FIRST_TOKEN_TIMEOUT_MS', 60_000),
    reasoningLastFirstTokenTimeoutMs: integer('REASONING_LAST_FIRST_TOKEN_TIMEOUT_MS', 180_000),
    idleTimeoutMs: integer('IDLE_TIMEOUT_MS', 30_000),
    dripTokensMin: integer('DRIP_TOKENS_MIN', 10, 0, 1_000),
    callTimeoutMs: integer('CALL_TIMEOUT_MS', 600_000),
    nonStreamingCallTimeoutMs: integer('NON_STREAMING_CALL_TIMEOUT_MS', 270_000),
    keepAliveMs: integer('KEEP_ALIVE_MS', 10_000),
    accountQueueShare: integer('ACCOUNT_QUEUE_SHARE', 8),
    requestsPerMinute: integer('REQUESTS_PER_MINUTE', 600),
    tokensPerMinute: integer('TOKENS_PER_MINUTE', 10_000_000),
    concurrentCalls: integer('CONCURRENT_CALLS', 100),
    accountRequestsPerMinute: integer('ACCOUNT_REQUESTS_PER_MINUTE', 1_200),
    accountConcurrentCalls: integer('ACCOUNT_CONCURRENT_CALLS', 200),
    defaultCompletionLimit: integer('DEFAULT_COMPLETION_LIMIT', 4_096),
    freeCreditUsd: amountUsd('FREE_CREDIT_USD', '0.50'),
    freeCreditBudgetUsd: amountUsd('FREE_CREDIT_BUDGET_USD', '25.00'),
    freeCreditsPerAddress: integer('FREE_CREDITS_PER_ADDRESS', 5, 0),
    freeCreditsPerSite: integer('FREE_CREDITS_PER_SITE', 20, 0),
    lowBalanceUsd: amountUsd('LOW_BALANCE_USD', '1.00'),
    discountPercent: integer('DISCOUNT_PERCENT', 5, 5, 100),
    openWeightsDiscountPercent: integer('OPEN_WEIGHTS_DISCOUNT_PERCENT', 20, 5, 100),
    costPercent: integer('PROVIDER_COST_PERCENT', COST_PERCENT, 0, 200),
    openWeightsCostPercent: integer('OPEN_WEIGHTS_COST_PERCENT', OPEN_WEIGHTS_COST_PERCENT, 0, 200),
    allowLossOffers: flag('ALLOW_LOSS_OFFERS'),
    simulateAll: flag('SIMULATE_ALL'),
    priceFiles: list('PRICE_FILES'),
    catalogSyncMs: integer('CATALOG_SYNC_MS', 300_000, 1_000, 86_400_000),
    byokFeePercent: integer('BYOK_FEE_PERCENT', 5, 0, 100),

    bodyLimitBytes: integer('BODY_LIMIT_BYTES', 32 * 1024 * 1024),
    textBodyLimitBytes: integer('TEXT_BODY_LIMIT_BYTES', 4 * 1024 * 1024),
    bodyBytesPerKey: integer('BODY_BYTES_PER_KEY', 64 * 1024 * 1024),
    bodyBytesPerAccount: integer('BODY_BYTES_PER_ACCOUNT', 128 * 1024 * 1024),
    bodyBytesPerInstance: integer('BODY_BYTES_PER_INSTANCE', 256 * 1024 * 1024),
    workerBodyBytes: integer('WORKER_BODY_BYTES', 256 * 1024 * 1024),
    largeBodyBytes: integer('LARGE_BODY_BYTES', 256 * 1024),
    refusedRequestsPerMinute: integer('REFUSED_REQUESTS_PER_MINUTE', 6_000),
    refusedBytesPerMinute: integer('REFUSED_BYTES_PER_MINUTE', 256 * 1024 * 1024),
    bodyTimeoutMs: integer('BODY_TIMEOUT_MS', 30_000),
    pendingCallsMax: integer('PENDING_CALLS_MAX', 5_000),
    connectionsPerAddress: integer('CONNECTIONS_PER_ADDRESS', 6_000),
    slowClientBufferBytes: integer('SLOW_CLIENT_BUFFER_BYTES', 1024 * 1024),
    keptReplies: {
      perAnswer: integer('KEPT_REPLY_BYTES_MAX', 1024 * 1024),
      perAccount: integer('KEPT_REPLIES_BYTES_PER_ACCOUNT', 16 * 1024 * 1024),
      inAll: integer('KEPT_REPLIES_BYTES_IN_ALL', 512 * 1024 * 1024),
    },
    workerConcurrency: integer('WORKER_CONCURRENCY', 400),
    settlementBatchMax: integer('SETTLEMENT_BATCH_MAX', 2_048),
    jobLockMs: integer('JOB_LOCK_MS', 10_000, 1_000),
    recoveryGraceMs: integer('RECOVERY_GRACE_MS', 2_000, 0, 60_000),
    unconfirmedSettlementsMax: integer('UNCONFIRMED_SETTLEMENTS_MAX', 50_000),
    ...readPaymentSettings(environment, problems),

    breakerFailures: integer('BREAKER_FAILURES', 5),
    breakerWindowMs: integer('BREAKER_WINDOW_MS', 30_000),
    breakerCooldownMs: integer('BREAKER_COOLDOWN_MS', 10_000),
    shutdownGraceMs: integer('SHUTDOWN_GRACE_MS', 25_000),

    webhooksAllowPrivate: flag('WEBHOOKS_ALLOW_PRIVATE'),
    // Shorter than the lease of a queued delivery, which must not be made twice at once.
    webhookTimeoutMs: integer('WEBHOOK_TIMEOUT_MS', 15_000, 100, 30_000),
    webhookDisableAfterDays: integer('WEBHOOK_DISABLE_AFTER_DAYS', 5, 1, 365),
    eventRetentionDays: integer('EVENT_RETENTION_DAYS', 30, 7, 3_650),
    auditEveryMinutes: integer('AUDIT_EVERY_MINUTES', 15, 0, 10_080),

    mail: readMailSettings(environment, problems),
    trustedProxies: list('TRUSTED_PROXIES'),
    signUpClosed: flag('SIGN_UP_CLOSED'),
    sessionDays: integer('SESSION_DAYS', 30, 1, 365),
    signInsPerEmail: integer('SIGN_INS_PER_EMAIL', 10),
    signInsPerAddress: integer('SIGN_INS_PER_ADDRESS', 100),
    signInsPerSite: integer('SIGN_INS_PER_SITE', 400),
    signUpsPerAddress: integer('SIGN_UPS_PER_ADDRESS', 10),
    signUpsPerSite: integer('SIGN_UPS_PER_SITE', 40),
  }
  if (config.host !== 'localhost' && isIP(config.host) === 0) problems.push('HOST must be an IP address')
  if (config.bodyBytesPerKey < config.bodyLimitBytes)
    problems.push('BODY_BYTES_PER_KEY must be BODY_LIMIT_BYTES or more')
  if (config.workerBodyBytes < config.bodyLimitBytes)
    problems.push('WORKER_BODY_BYTES must be BODY_LIMIT_BYTES or more')
  if (problems.length > 0)
    throw new StartError(problems.length === 1 ? problems[0] : `\n  ${problems.join('\n  ')}`)
  return Object.freeze(config)
}

/** Once the default of docker-compose.yml. Whoever kept it has sealed everything under a key that anybody can read. */
const PUBLISHED_MASTER_KEYS = new Set(['dHJ5aW5nLWl0LW91dC1vbmx5LW5vdC1hLXNlY3JldCE='])

function readMasterKeys(environment: Environment, problems: string[]): MasterKeys {
  const current = readMasterKey(environment.MASTER_KEY ?? '')
  if (PUBLISHED_MASTER_KEYS.has(environment.MASTER_KEY ?? ''))
    problems.push(
      'MASTER_KEY is one that was published as an example: make your own with openssl rand -base64 32',
    )
  if (!environment.MASTER_KEY)
    problems.push('MASTER_KEY is required: 32 random bytes, base64 or hex (openssl rand -base64 32)')
  else if (current.length !== 32)
    problems.push(
      `MASTER_KEY holds ${current.length} bytes: it takes 32 random ones, base64 or hex (openssl rand -base64 32)`,
    )
  const texts = (environment.MASTER_KEY_PREVIOUS ?? '').split(',').map((text) => text.trim())
  const others = texts.filter((text) => text !== '').map(readMasterKey)
  if (others.some((key) => key.length !== 32))
    problems.push('MASTER_KEY_PREVIOUS takes master keys with commas between, each as in MASTER_KEY')
  return [current, ...others]
}

const readMasterKey = (text: string): Buffer =>
  Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
