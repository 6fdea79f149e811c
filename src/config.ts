import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import { type PaymentSettings, readPaymentSettings } from './core/billing/payment-settings.ts'
import { COST_PERCENT, OPEN_WEIGHTS_COST_PERCENT } from './core/catalog/catalog-model.ts'
import {
  type MailSettings,
  readMailSettings,
  readServiceAddresses,
  type ServiceAddresses,
} from './core/kernel/service-addresses.ts'
import { StartError } from './core/kernel/start-error.ts'
import type { MasterKeys } from './platform/sealing.ts'

type Environment = Record<string, string | undefined>

/** What a setting's schema says beside its type. */
interface SettingOptions {
  variable: string
  default: unknown
  description: string
}

const text = (variable: string, byDefault: string, description = '') =>
  Type.String({ variable, default: byDefault, description })

const textOrNull = (variable: string, description = '') =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], variable, default: null, description })

const integer = (
  variable: string,
  byDefault: number,
  description = '',
  [minimum, maximum = Number.MAX_SAFE_INTEGER]: readonly [number, number?] = [1],
) => Type.Integer({ variable, default: byDefault, minimum, maximum, description })

const amountUsd = (variable: string, byDefault: string, description: string) =>
  Type.String({ variable, default: byDefault, pattern: '^\\d{1,6}(\\.\\d{1,12})?$', description })

const flag = (variable: string, description: string) =>
  Type.Boolean({ variable, default: false, description })

const list = (variable: string, description: string) =>
  Type.Array(Type.String(), { variable, default: [], description })

const MEGABYTE = 1024 * 1024
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/**
 * Settings that other settings decide about, so functions of their own read them; here for the table in
 * docs/operating.md.
 */
const DEPENDENT = [
  text('DATABASE_URL', 'required', 'PostgreSQL; see [What is not supported](#what-is-not-supported)'),
  text(
    'REDIS_URL',
    'required',
    'a single Redis server, also as `unix:///path`, at least 6.2 with `maxmemory-policy noeviction` and an append-only file; see [What is not supported](#what-is-not-supported)',
  ),
  text(
    'MASTER_KEY',
    'required',
    '32 random bytes, base64 or hex. Encrypts job bodies, BYOK keys and webhook secrets, and derives the pepper of API keys. To change it, see the [runbook](runbooks/master-key.md)',
  ),
  text(
    'MASTER_KEY_PREVIOUS',
    '',
    'other master keys, comma-separated: they still decrypt, and API keys under them are valid',
  ),
  text(
    'SMTP_URL',
    '',
    'mail; set it with `MAIL_FROM` and `PUBLIC_URL`, or neither: `smtp://user:password@mail.example:587`. With mail, an account gets its free credit only after its address is verified, see [console.md](console.md#free-credit). API instances and the settlement process need both',
  ),
  text('MAIL_FROM', '', 'the sender, `Switchyard <noreply@example.com>`'),
  text(
    'STRIPE_SECRET_KEY',
    '',
    'card payments; with `STRIPE_WEBHOOK_SECRET`. See [payments.md](payments.md)',
  ),
  text('STRIPE_WEBHOOK_SECRET', '', 'with `STRIPE_SECRET_KEY`'),
  text('STRIPE_API_BASE', 'https://api.stripe.com'),
  text('PAYPAL_CLIENT_ID', '', 'PayPal; the three of them or none'),
  text('PAYPAL_CLIENT_SECRET', ''),
  text('PAYPAL_WEBHOOK_ID', ''),
  text('PAYPAL_API_BASE', 'https://api-m.paypal.com', "PayPal's sandbox is https://api-m.sandbox.paypal.com"),
  flag(
    'PAYMENTS_DEVELOPMENT_RAIL',
    '`true` settles top-ups without money; rejected in production and together with live keys, and disabled in an API that is publicly reachable and uses real providers. `npm start` sets it if no payment keys are set',
  ),
  text('TOP_UP_MIN_USD', '5', 'USD'),
  text('TOP_UP_MAX_USD', '10000', 'USD'),
]

/** The settings that stand for themselves, by their names in Config. Durations are in milliseconds. */
const Settings = Type.Object({
  port: integer('PORT', 8080, 'under `npm start` the next free port when it is taken', [0, 65_535]),
  host: text('HOST', '0.0.0.0', 'under `npm start` 127.0.0.1'),
  metricsPort: integer(
    'METRICS_PORT',
    9464,
    '`GET /metrics` for Prometheus, never on the public port; 0 disables it',
    [0, 65_535],
  ),
  metricsHost: text(
    'METRICS_HOST',
    '127.0.0.1',
    'the address that the metrics port listens on. It has no authentication, so make it reachable by Prometheus only',
  ),
  publicUrl: textOrNull('PUBLIC_URL', 'used in the `top_up_url` of a 402, and in links of emails'),
  dataDir: text('DATA_DIR', '.data', 'where `npm start` stores its data'),
  oneProcess: flag(
    'ONE_PROCESS',
    'API and workers of `npm start` share one process, see [Processes](#processes)',
  ),
  catalogFile: textOrNull('CATALOG_FILE', 'see [catalog.md](catalog.md)'),
  catalogKeyNames: list(
    'CATALOG_KEY_NAMES',
    'variables, comma-separated, that catalog edits may name as the key of a provider at any address',
  ),
  logLevel: Type.Enum([...LOG_LEVELS], {
    variable: 'LOG_LEVEL',
    default: 'info',
    description: 'JSON lines on standard output',
  }),
  ollamaUrl: textOrNull('OLLAMA_URL', 'set by `npm start`'),
  simulatedProvidersUrl: textOrNull('SIMULATED_PROVIDERS_URL', 'set by `npm start`'),
  simulateAll: flag(
    'SIMULATE_ALL',
    'simulated providers replace all providers; `npm start` sets it if no provider key is set',
  ),

  attemptsPerCall: integer('ATTEMPTS_PER_CALL', 4, '', [1, 16]),
  retryBudgetPercent: integer(
    'RETRY_BUDGET_PERCENT',
    20,
    'attempts beyond the first, over all workers, as a percentage of the calls in ten seconds. A first failover to a healthy offer of another provider does not count',
    [0, 100],
  ),
  retryBudgetFloor: integer(
    'RETRY_BUDGET_FLOOR',
    100,
    'attempts beyond the first that are always allowed',
    [0],
  ),
  queueWaitMs: integer('QUEUE_WAIT_MS', 15_000, 'then 408, unless a worker has claimed the call before'),
  connectTimeoutMs: integer('CONNECT_TIMEOUT_MS', 5_000),
  firstTokenTimeoutMs: integer('FIRST_TOKEN_TIMEOUT_MS', 10_000, 'while another candidate remains'),
  lastFirstTokenTimeoutMs: integer('LAST_FIRST_TOKEN_TIMEOUT_MS', 30_000, 'on the last candidate'),
  reasoningFirstTokenTimeoutMs: integer(
    'REASONING_FIRST_TOKEN_TIMEOUT_MS',
    60_000,
    'the same for reasoning models: while another candidate remains',
  ),
  reasoningLastFirstTokenTimeoutMs: integer(
    'REASONING_LAST_FIRST_TOKEN_TIMEOUT_MS',
    180_000,
    'on the last candidate',
  ),
  idleTimeoutMs: integer('IDLE_TIMEOUT_MS', 30_000, 'maximum gap between tokens'),
  dripTokensMin: integer(
    'DRIP_TOKENS_MIN',
    10,
    'a completion of which nothing was delivered yet moves to another healthy offer when it produces fewer tokens than this in 30 s; 0: never',
    [0, 1_000],
  ),
  callTimeoutMs: integer('CALL_TIMEOUT_MS', 600_000, 'the whole call, streaming'),
  nonStreamingCallTimeoutMs: integer('NON_STREAMING_CALL_TIMEOUT_MS', 270_000, 'the whole call'),
  keepAliveMs: integer('KEEP_ALIVE_MS', 10_000),
  requestsPerMinute: integer(
    'REQUESTS_PER_MINUTE',
    600,
    'per key, unless an operator sets another; customers may only lower it',
  ),
  tokensPerMinute: integer('TOKENS_PER_MINUTE', 10_000_000, 'per key'),
  concurrentCalls: integer(
    'CONCURRENT_CALLS',
    100,
    'per key, unless an operator sets another; customers may only lower it',
  ),
  accountRequestsPerMinute: integer(
    'ACCOUNT_REQUESTS_PER_MINUTE',
    1_200,
    'per account over all its keys, unless `account limits` sets another',
  ),
  accountConcurrentCalls: integer(
    'ACCOUNT_CONCURRENT_CALLS',
    200,
    'per account over all its keys, unless `account limits` sets another',
  ),
  accountQueueShare: integer(
    'ACCOUNT_QUEUE_SHARE',
    8,
    'calls of one account that are queued in order of arrival; further calls queue behind those of other accounts',
  ),
  defaultCompletionLimit: integer('DEFAULT_COMPLETION_LIMIT', 4_096, 'tokens, if the client sets no limit'),

  freeCreditUsd: amountUsd(
    'FREE_CREDIT_USD',
    '0.50',
    'per sign-up; see [console.md](console.md#free-credit)',
  ),
  freeCreditBudgetUsd: amountUsd(
    'FREE_CREDIT_BUDGET_USD',
    '25.00',
    'free credit of the whole gateway per hour',
  ),
  freeCreditsPerAddress: integer(
    'FREE_CREDITS_PER_ADDRESS',
    5,
    'free credits a day for one IPv4 address or IPv6 /64',
    [0],
  ),
  freeCreditsPerSite: integer('FREE_CREDITS_PER_SITE', 20, 'free credits a day for one IPv6 /48', [0]),
  lowBalanceUsd: amountUsd(
    'LOW_BALANCE_USD',
    '1.00',
    'threshold of `balance.low` for new accounts; `account alert` sets it for one account',
  ),
  costPercent: integer(
    'PROVIDER_COST_PERCENT',
    COST_PERCENT,
    "the share of providers' list prices that you pay where the catalog does not say; **set it to your contracts**, see [catalog.md](catalog.md)",
    [0, 200],
  ),
  openWeightsCostPercent: integer(
    'OPEN_WEIGHTS_COST_PERCENT',
    OPEN_WEIGHTS_COST_PERCENT,
    'the same for open weights',
    [0, 200],
  ),
  allowLossOffers: flag('ALLOW_LOSS_OFFERS', 'use offers that cost more than they bring in'),
  catalogSyncMs: integer(
    'CATALOG_SYNC_MS',
    300_000,
    "how often providers' model lists and price files are read",
    [1_000, 86_400_000],
  ),
  priceFiles: list('PRICE_FILES', 'paths or https URLs of catalog documents with prices, comma-separated'),
  discountPercent: integer('DISCOUNT_PERCENT', 5, "off the makers' list prices; never under 5", [5, 100]),
  openWeightsDiscountPercent: integer(
    'OPEN_WEIGHTS_DISCOUNT_PERCENT',
    20,
    'the same for open weights',
    [5, 100],
  ),
  byokFeePercent: integer(
    'BYOK_FEE_PERCENT',
    5,
    'of the listed rate: the routing fee of a call on a BYOK key',
    [0, 100],
  ),

  bodyLimitBytes: integer('BODY_LIMIT_BYTES', 32 * MEGABYTE, 'the body of a call; then 413'),
  textBodyLimitBytes: integer(
    'TEXT_BODY_LIMIT_BYTES',
    4 * MEGABYTE,
    'the part of a body that is not inline media; then 413',
  ),
  bodyTimeoutMs: integer('BODY_TIMEOUT_MS', 30_000, 'until the body of a request has arrived'),
  bodyBytesPerKey: integer(
    'BODY_BYTES_PER_KEY',
    64 * MEGABYTE,
    'bytes of request bodies in flight, from `Content-Length` until the end of the call; then 429. Bodies above 64 kB count over all API instances together',
  ),
  bodyBytesPerAccount: integer('BODY_BYTES_PER_ACCOUNT', 128 * MEGABYTE, 'the same per account'),
  bodyBytesPerInstance: integer(
    'BODY_BYTES_PER_INSTANCE',
    256 * MEGABYTE,
    'the same over all accounts; then 503. Queue and workers hold at most this much per API instance. Plan eight times as much memory for an API instance',
  ),
  workerBodyBytes: integer(
    'WORKER_BODY_BYTES',
    256 * MEGABYTE,
    'bytes of bodies over `LARGE_BODY_BYTES` that one dispatch worker holds; a call waits up to 10 s for space, then 503',
  ),
  largeBodyBytes: integer(
    'LARGE_BODY_BYTES',
    256 * 1024,
    'a longer body is stored encrypted in PostgreSQL (`call_bodies`, unlogged) instead of Redis until a worker reads it; such calls are 503 while PostgreSQL is unavailable',
  ),
  refusedRequestsPerMinute: integer(
    'REFUSED_REQUESTS_PER_MINUTE',
    6_000,
    'requests of one key that are rejected with 400, 402, 404, 405, 413, 415 or 422, at one API instance; above that its requests are 429 for the rest of the minute',
  ),
  refusedBytesPerMinute: integer(
    'REFUSED_BYTES_PER_MINUTE',
    256 * MEGABYTE,
    'the same in bytes of their bodies',
  ),
  pendingCallsMax: integer('PENDING_CALLS_MAX', 5_000, 'per API instance, then 503'),
  connectionsPerAddress: integer(
    'CONNECTIONS_PER_ADDRESS',
    6_000,
    'open connections from one IPv4 address or IPv6 /64 to one API instance; more are closed immediately. Trusted proxies do not count',
  ),
  slowClientBufferBytes: integer(
    'SLOW_CLIENT_BUFFER_BYTES',
    MEGABYTE,
    'bytes that a client has not read; above that it is disconnected',
  ),
  keptReplyBytesMax: integer(
    'KEPT_REPLY_BYTES_MAX',
    MEGABYTE,
    'the largest response stored in Redis for repeats with the same `Idempotency-Key`, encrypted',
  ),
  keptRepliesBytesPerAccount: integer(
    'KEPT_REPLIES_BYTES_PER_ACCOUNT',
    16 * MEGABYTE,
    'such responses per account; the oldest are evicted',
  ),
  keptRepliesBytesInAll: integer('KEPT_REPLIES_BYTES_IN_ALL', 512 * MEGABYTE, 'such responses in total'),
  workerConcurrency: integer(
    'WORKER_CONCURRENCY',
    400,
    "concurrent calls per dispatch worker. Keep it at twice `ACCOUNT_CONCURRENT_CALLS` or more, so that one account's slow streams fill at most half of one worker",
  ),
  settlementBatchMax: integer('SETTLEMENT_BATCH_MAX', 2_048, 'calls settled in one transaction'),
  jobLockMs: integer(
    'JOB_LOCK_MS',
    10_000,
    'a call whose worker died is claimed again after 1 to 1.5 times this',
    [1_000],
  ),
  recoveryGraceMs: integer(
    'RECOVERY_GRACE_MS',
    2_000,
    'after Redis lost its data: time for workers to restore their holds before balances are loaded',
    [0, 60_000],
  ),
  unconfirmedSettlementsMax: integer(
    'UNCONFIRMED_SETTLEMENTS_MAX',
    50_000,
    'settlements that a dispatch worker keeps in memory in case Redis loses its data, about a kilobyte each',
  ),
  breakerFailures: integer('BREAKER_FAILURES', 5, 'see [Health of offers](#health-of-offers)'),
  breakerWindowMs: integer('BREAKER_WINDOW_MS', 30_000),
  breakerCooldownMs: integer('BREAKER_COOLDOWN_MS', 10_000, 'at most 15 s'),
  shutdownGraceMs: integer('SHUTDOWN_GRACE_MS', 25_000, 'see [Processes](#processes)'),

  webhooksAllowPrivate: flag(
    'WEBHOOKS_ALLOW_PRIVATE',
    'allows webhooks to private addresses, any port and plain http',
  ),
  // Shorter than the lease of a queued delivery, which must not be made twice at once.
  webhookTimeoutMs: integer(
    'WEBHOOK_TIMEOUT_MS',
    15_000,
    'one delivery attempt of an event, at most 30000',
    [100, 30_000],
  ),
  webhookDisableAfterDays: integer(
    'WEBHOOK_DISABLE_AFTER_DAYS',
    5,
    'of failures without a success',
    [1, 365],
  ),
  eventRetentionDays: integer('EVENT_RETENTION_DAYS', 30, 'events and their delivery log', [7, 3_650]),
  auditEveryMinutes: integer(
    'AUDIT_EVERY_MINUTES',
    15,
    'interval of ledger audits; 0: only on request by an operator',
    [0, 10_080],
  ),

  trustedProxies: list(
    'TRUSTED_PROXIES',
    'addresses and networks of proxies whose `X-Forwarded-For` is believed, comma-separated',
  ),
  signUpClosed: flag('SIGN_UP_CLOSED', 'only the operator opens accounts'),
  sessionDays: integer('SESSION_DAYS', 30, 'until a session of the console ends', [1, 365]),
  signInsPerEmail: integer('SIGN_INS_PER_EMAIL', 10, 'attempts per 15 minutes on one email from one address'),
  signInsPerAddress: integer(
    'SIGN_INS_PER_ADDRESS',
    100,
    'attempts per 15 minutes from one IPv4 address or IPv6 /64',
  ),
  signInsPerSite: integer('SIGN_INS_PER_SITE', 400, 'attempts per 15 minutes from one IPv6 /48'),
  signUpsPerAddress: integer(
    'SIGN_UPS_PER_ADDRESS',
    10,
    'sign-ups per hour from one IPv4 address or IPv6 /64',
  ),
  signUpsPerSite: integer('SIGN_UPS_PER_SITE', 40, 'sign-ups per hour from one IPv6 /48'),
})

/** Every setting, as the table in docs/operating.md names it. */
export const SETTINGS = [...DEPENDENT, ...Object.values(Settings.properties)].map(
  (schema) => schema as unknown as SettingOptions,
)

/** The environment, read once into one frozen, validated Config. Every default of the contract stands in its schema. */
export interface Config extends Static<typeof Settings>, ServiceAddresses, PaymentSettings {
  /** MASTER_KEY, then those of MASTER_KEY_PREVIOUS: seal job bodies and provider keys; the key pepper derives from them. */
  masterKeys: MasterKeys
  /** Null: no mail is sent, and no email is verified. */
  mail: MailSettings | null
  /** Answers kept for repeats with the same Idempotency-Key, bytes. */
  keptReplies: { perAnswer: number; perAccount: number; inAll: number }
}

/** For commands that use no service and no secret: makes an environment without them valid. */
export const UNUSED_SERVICES = {
  DATABASE_URL: 'postgresql://not.used/none',
  REDIS_URL: 'redis://not.used',
  MASTER_KEY: '0'.repeat(64),
}

/** Reads and validates the environment. Throws one StartError that lists everything wrong with it. */
export function readConfig(environment: Environment): Readonly<Config> {
  const problems: string[] = []
  const masterKeys = readMasterKeys(environment, problems)
  const addresses = readServiceAddresses(environment, problems)
  const settings = readSettings(environment, problems)
  const config: Config = {
    ...settings,
    ...addresses,
    ...readPaymentSettings(environment, problems),
    masterKeys,
    mail: readMailSettings(environment, problems),
    keptReplies: {
      perAnswer: settings.keptReplyBytesMax,
      perAccount: settings.keptRepliesBytesPerAccount,
      inAll: settings.keptRepliesBytesInAll,
    },
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

/** Reads each setting by its schema. Adds invalid values to `problems`. */
function readSettings(environment: Environment, problems: string[]): Static<typeof Settings> {
  const entries = Object.entries(Settings.properties).map(([name, schema]) => {
    const setting = schema as unknown as SettingOptions & SettingSchema
    const given = environment[setting.variable]
    const value = given ? parseSetting(given, setting) : setting.default
    if (value === undefined) problems.push(`${setting.variable} must be ${wordingOf(setting)}`)
    return [name, value]
  })
  return Object.fromEntries(entries)
}

/** What settings use of JSON Schema. A validator for all of it would take an eighth of the start of every process. */
interface SettingSchema {
  type?: string | string[]
  enum?: string[]
  minimum?: number
  maximum?: number
  pattern?: string
}

/** The value that a text stands for; undefined: it does not fit the schema. */
function parseSetting(given: string, schema: SettingSchema): unknown {
  const { type, enum: words, minimum = 0, maximum = 0, pattern = '' } = schema
  switch (type) {
    case 'integer': {
      const number = Number(given)
      return Number.isInteger(number) && number >= minimum && number <= maximum ? number : undefined
    }
    case 'boolean':
      return given === 'true' || (given === 'false' ? false : undefined)
    case 'array':
      return given.split(',').flatMap((entry) => entry.trim() || [])
    default:
      return (words?.includes(given) ?? new RegExp(pattern).test(given)) ? given : undefined
  }
}

function wordingOf({ type, enum: words, minimum, maximum }: SettingSchema): string {
  if (words) return `one of ${words.join(', ')}`
  if (type === 'integer') return `an integer from ${minimum} to ${maximum}`
  return type === 'boolean' ? 'true or false' : 'an amount of USD such as 0.50'
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
