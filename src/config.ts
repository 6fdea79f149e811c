import { isIP } from 'node:net'
import { COST_PERCENT, OPEN_WEIGHTS_COST_PERCENT } from './core/catalog-model.ts'
import { type PaypalSettings, readPaymentSettings, type StripeSettings } from './core/payment-settings.ts'
import type { MasterKeys } from './platform/sealing.ts'

/**
 * The environment, read once into one frozen, validated Config. Every default of the contract stands here.
 * Durations in milliseconds unless the name says otherwise.
 */
export interface Config {
  port: number
  host: string
  metricsPort: number
  databaseUrl: string
  redisUrl: string
  dataDir: string
  catalogFile: string | null
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
  callTimeoutMs: number
  nonStreamingCallTimeoutMs: number
  keepAliveMs: number
  requestsPerMinute: number
  tokensPerMinute: number
  concurrentCalls: number
  defaultCompletionLimit: number
  freeCreditUsd: string
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
  bodyTimeoutMs: number
  pendingCallsMax: number
  slowClientBufferBytes: number
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

  /** Addresses and networks of proxies whose X-Forwarded-For is believed; empty: none. */
  trustedProxies: string[]
  /** Only the operator opens accounts. */
  signUpClosed: boolean
  sessionDays: number
  /** Attempts within a quarter of an hour; for sign-ups, within an hour. */
  signInsPerEmail: number
  signInsPerAddress: number
  signUpsPerAddress: number
}

type Environment = Record<string, string | undefined>

/** Reads and validates the environment. Throws one Error that lists everything wrong with it. */
export function readConfig(environment: Environment): Readonly<Config> {
  const problems: string[] = []
  const text = (name: string, fallback: string | null): string => {
    const value = environment[name] || fallback
    if (value === null) problems.push(`${name} is required`)
    return value ?? ''
  }
  const integer = (name: string, fallback: number, min = 1, max = Number.MAX_SAFE_INTEGER): number => {
    const value = environment[name] ? Number(environment[name]) : fallback
    if (!Number.isInteger(value) || value < min || value > max) {
      problems.push(`${name} must be an integer from ${min} to ${max}`)
    }
    return value
  }
  const flag = (name: string): boolean => {
    const value = environment[name] || 'false'
    if (value !== 'true' && value !== 'false') problems.push(`${name} must be true or false`)
    return value === 'true'
  }
  const masterKeys = readMasterKeys(environment, problems)

  const config: Config = {
    port: integer('PORT', 8080, 0, 65_535),
    host: text('HOST', '0.0.0.0'),
    metricsPort: integer('METRICS_PORT', 9464, 0, 65_535),
    databaseUrl: text('DATABASE_URL', null),
    redisUrl: text('REDIS_URL', null),
    dataDir: text('DATA_DIR', '.data'),
    catalogFile: environment.CATALOG_FILE || null,
    logLevel: text('LOG_LEVEL', 'info'),
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
    idleTimeoutMs: integer('IDLE_TIMEOUT_MS', 60_000),
    callTimeoutMs: integer('CALL_TIMEOUT_MS', 600_000),
    nonStreamingCallTimeoutMs: integer('NON_STREAMING_CALL_TIMEOUT_MS', 270_000),
    keepAliveMs: integer('KEEP_ALIVE_MS', 10_000),
    requestsPerMinute: integer('REQUESTS_PER_MINUTE', 600),
    tokensPerMinute: integer('TOKENS_PER_MINUTE', 10_000_000),
    concurrentCalls: integer('CONCURRENT_CALLS', 100),
    defaultCompletionLimit: integer('DEFAULT_COMPLETION_LIMIT', 4_096),
    freeCreditUsd: text('FREE_CREDIT_USD', '0.50'),
    lowBalanceUsd: text('LOW_BALANCE_USD', '1.00'),
    discountPercent: integer('DISCOUNT_PERCENT', 5, 5, 100),
    openWeightsDiscountPercent: integer('OPEN_WEIGHTS_DISCOUNT_PERCENT', 20, 5, 100),
    costPercent: integer('PROVIDER_COST_PERCENT', COST_PERCENT, 0, 200),
    openWeightsCostPercent: integer('OPEN_WEIGHTS_COST_PERCENT', OPEN_WEIGHTS_COST_PERCENT, 0, 200),
    allowLossOffers: flag('ALLOW_LOSS_OFFERS'),
    simulateAll: flag('SIMULATE_ALL'),
    priceFiles: (environment.PRICE_FILES ?? '').split(',').flatMap((file) => file.trim() || []),
    catalogSyncMs: integer('CATALOG_SYNC_MS', 300_000, 1_000, 86_400_000),
    byokFeePercent: integer('BYOK_FEE_PERCENT', 5, 0, 100),

    bodyLimitBytes: integer('BODY_LIMIT_BYTES', 32 * 1024 * 1024),
    bodyTimeoutMs: integer('BODY_TIMEOUT_MS', 30_000),
    pendingCallsMax: integer('PENDING_CALLS_MAX', 5_000),
    slowClientBufferBytes: integer('SLOW_CLIENT_BUFFER_BYTES', 1024 * 1024),
    workerConcurrency: integer('WORKER_CONCURRENCY', 256),
    settlementBatchMax: integer('SETTLEMENT_BATCH_MAX', 32),
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

    trustedProxies: text('TRUSTED_PROXIES', '').split(',').filter(Boolean),
    signUpClosed: flag('SIGN_UP_CLOSED'),
    sessionDays: integer('SESSION_DAYS', 30, 1, 365),
    signInsPerEmail: integer('SIGN_INS_PER_EMAIL', 10),
    signInsPerAddress: integer('SIGN_INS_PER_ADDRESS', 100),
    signUpsPerAddress: integer('SIGN_UPS_PER_ADDRESS', 10),
  }
  if (config.host !== 'localhost' && isIP(config.host) === 0) problems.push('HOST must be an IP address')
  if (problems.length > 0) throw new Error(`The environment is not valid:\n  ${problems.join('\n  ')}`)
  return Object.freeze(config)
}

function readMasterKeys(environment: Environment, problems: string[]): MasterKeys {
  const current = readMasterKey(environment.MASTER_KEY ?? '')
  if (current.length !== 32) problems.push('MASTER_KEY is required: 32 random bytes, base64 or hex')
  const texts = (environment.MASTER_KEY_PREVIOUS ?? '').split(',').map((text) => text.trim())
  const others = texts.filter((text) => text !== '').map(readMasterKey)
  if (others.some((key) => key.length !== 32))
    problems.push('MASTER_KEY_PREVIOUS takes master keys with commas between, each as in MASTER_KEY')
  return [current, ...others]
}

const readMasterKey = (text: string): Buffer =>
  Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
