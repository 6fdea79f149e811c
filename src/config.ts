import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import {
  type OperatorProvider,
  readOperatorProvider,
  readSignInProviders,
  type SignInProvider,
} from './core/accounts/sign-in-providers.ts'
import { COST_PERCENT, OPEN_WEIGHTS_COST_PERCENT } from './core/catalog/catalog-model.ts'
import { StartError } from './core/kernel/errors.ts'
import { countServers } from './core/kernel/redis-address.ts'
import {
  type MailSettings,
  readMailSettings,
  readServiceAddresses,
  type ServiceAddresses,
} from './core/kernel/service-addresses.ts'
import { type InvoiceSettings, readInvoiceSettings } from './core/payments/invoice-settings.ts'
import { type PaymentSettings, readPaymentSettings } from './core/payments/payment-settings.ts'
import { type CallPaymentSettings, readCallPaymentSettings } from './core/payments/x402-settings.ts'
import type { MasterKeys } from './platform/sealing.ts'

type Environment = Record<string, string | undefined>

/** The annotations of a setting's schema. */
interface SettingOptions {
  default: unknown
  description: string
}

const text = (byDefault: string, description = '') => Type.String({ default: byDefault, description })

const textOrNull = (description = '') =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], default: null, description })

const integer = (
  byDefault: number,
  description = '',
  [minimum, maximum = Number.MAX_SAFE_INTEGER]: readonly [number, number?] = [1],
) => Type.Integer({ default: byDefault, minimum, maximum, description })

const amountUsd = (byDefault: string, description: string) =>
  Type.String({ default: byDefault, pattern: '^\\d{1,6}(\\.\\d{1,12})?$', description })

const flag = (description: string, byDefault = false) => Type.Boolean({ default: byDefault, description })

const list = (description: string) => Type.Array(Type.String(), { default: [], description })

const MEGABYTE = 1024 * 1024
/** Every process has connections for each shard. */
const SHARDS_MAX = 256
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/**
 * Settings that depend on others and are read by separate functions; listed here for the table in docs/operating.md.
 */
const DEPENDENT = {
  DATABASE_URL: text('required', 'PostgreSQL; see [What is not supported](#what-is-not-supported)'),
  DATABASE_REPORTS_URL: text(
    '',
    'a replica of that PostgreSQL, from which API instances read usage, statements, call lists and exports, see [scaling.md](scaling.md#a-replica-for-reports)',
  ),
  CLICKHOUSE_URL: text(
    '',
    'ClickHouse, `http://user:password@host:8123/database`: the settlement process copies settled calls there, and API instances read usage from it, see [scaling.md](scaling.md#clickhouse)',
  ),
  REDIS_URL: text(
    'required',
    'Redis, at least 6.2 with `maxmemory-policy noeviction` and an append-only file; see [Kinds of Redis](#kinds-of-redis)',
  ),
  MASTER_KEY: text(
    'required',
    '32 random bytes, base64 or hex. Encrypts job bodies, BYOK keys, platform keys, webhook secrets and those of authenticator apps, and derives the pepper of API keys. To change it, see [below](#changing-the-master-key)',
  ),
  MASTER_KEY_PREVIOUS: text(
    '',
    'other master keys, comma-separated: they still decrypt, and API keys under them are valid',
  ),
  SMTP_URL: text(
    '',
    'mail; set it with `MAIL_FROM` and `PUBLIC_URL`, or neither: `smtp://user:password@mail.example:587`. With mail, an account gets its free credit only after its address is verified, see [accounts.md](accounts.md#free-credit). API instances and the settlement process need both',
  ),
  MAIL_FOLDER: text(
    '',
    'instead of `SMTP_URL`: messages are written to this folder and not sent, and free credit does not wait for verification. `npm start` sets it to `mail` in `DATA_DIR`',
  ),
  MAIL_FROM: text('', 'the sender, `Shuntyard <noreply@example.com>`'),
  GITHUB_CLIENT_ID: text(
    '',
    'sign-in with GitHub; with `GITHUB_CLIENT_SECRET`. The callback is `PUBLIC_URL/console/api/oauth/github/callback`, see [accounts.md](accounts.md#sign-in-with-another-service)',
  ),
  GITHUB_CLIENT_SECRET: text(''),
  GITHUB_URL: text('https://github.com', 'GitHub, or a GitHub Enterprise server'),
  GITHUB_API_URL: text('https://api.github.com', 'its API'),
  GOOGLE_CLIENT_ID: text(
    '',
    'sign-in with Google; with `GOOGLE_CLIENT_SECRET`. The callback is `…/oauth/google/callback`',
  ),
  GOOGLE_CLIENT_SECRET: text(''),
  OIDC_ISSUER: text(
    '',
    'sign-in with any OpenID Connect provider, such as that of a company; with the next two. The callback is `…/oauth/oidc/callback`',
  ),
  OIDC_CLIENT_ID: text(''),
  OIDC_CLIENT_SECRET: text(''),
  OIDC_NAME: text('single sign-on', 'what the sign-in page calls it'),
  OPERATOR_OIDC_ISSUER: text(
    '',
    'single sign-on of operators at any OpenID Connect provider; with the next two. The callback is `PUBLIC_URL/admin/api/sso/callback`, see [accounts.md](accounts.md#single-sign-on-of-operators)',
  ),
  OPERATOR_OIDC_CLIENT_ID: text(''),
  OPERATOR_OIDC_CLIENT_SECRET: text(''),
  OPERATOR_OIDC_NAME: text('single sign-on', 'what the operators’ sign-in page calls it'),
  STRIPE_SECRET_KEY: text('', 'card payments; with `STRIPE_WEBHOOK_SECRET`. See [payments.md](payments.md)'),
  STRIPE_WEBHOOK_SECRET: text('', 'with `STRIPE_SECRET_KEY`'),
  STRIPE_API_BASE: text('https://api.stripe.com'),
  PAYPAL_CLIENT_ID: text('', 'PayPal; the three of them or none'),
  PAYPAL_CLIENT_SECRET: text(''),
  PAYPAL_WEBHOOK_ID: text(''),
  PAYPAL_API_BASE: text('https://api-m.paypal.com', "PayPal's sandbox is https://api-m.sandbox.paypal.com"),
  PAYMENTS_DEVELOPMENT_RAIL: flag(
    '`true` settles top-ups without money; rejected in production and together with live keys, and disabled in an API that is publicly reachable and uses real providers. `npm start` sets it if no payment keys are set',
  ),
  TOP_UP_MIN_USD: text('5', 'USD'),
  TOP_UP_MAX_USD: text('10000', 'USD'),
  INVOICE_ISSUER_NAME: text(
    '',
    'the company that issues invoices, with `INVOICE_ISSUER_ADDRESS`; without it there are none. API instances, the settlement process and the commands need these settings. See [payments.md](payments.md#invoices)',
  ),
  INVOICE_ISSUER_ADDRESS: text('', 'its address, lines separated by a vertical bar'),
  INVOICE_ISSUER_TAX_ID: text('', 'printed on invoices'),
  INVOICE_ISSUER_EMAIL: text('', 'printed on invoices'),
  INVOICE_NUMBER_PREFIX: text(
    'INV-',
    'before the number; each issuer has one series of numbers for each prefix',
  ),
  INVOICE_TAX_NAME: text('VAT'),
  INVOICE_TAX_PERCENT: text(
    '0',
    'the tax that amounts include, such as 19 or 8.1; it is shown on invoices and changes no amount',
  ),
  INVOICE_TAX_NOTE: text('', 'a sentence below the amounts of every invoice'),
  X402_FACILITATOR_URL: text(
    '',
    'calls without a key, each paid by x402; this and the next three, or none. API instances and the settlement process need them. See [payments.md](payments.md#payment-per-call)',
  ),
  X402_NETWORK: text('', 'the chain, `eip155:8453` for Base'),
  X402_ASSET: text(
    '',
    'the contract of USDC there, or of another dollar token with EIP-3009 and six decimals',
  ),
  X402_PAY_TO: text('', 'the address of your wallet'),
  X402_ASSET_NAME: text('USD Coin', "the token's EIP-712 domain; `USDC` on Base Sepolia"),
  X402_ASSET_VERSION: text('2'),
  X402_FACILITATOR_AUTHORIZATION: text('', 'sent to the facilitator as `Authorization`, `Bearer …`'),
}

/** Independent settings, by their names in Config; PRICE_FILES sets `priceFiles`. Durations are in milliseconds. */
const Settings = Type.Object({
  port: integer(8080, 'under `npm start` the next free port when it is taken', [0, 65_535]),
  host: text('0.0.0.0', 'under `npm start` 127.0.0.1'),
  metricsPort: integer(
    9464,
    '`GET /metrics` for Prometheus, never on the public port; 0 disables it. `npm start` gives dispatch and settlement the next free ports, 9465 and 9466, and prints all three',
    [0, 65_535],
  ),
  metricsHost: text(
    '127.0.0.1',
    'the address that the metrics port listens on. It has no authentication, so make it reachable by Prometheus only',
  ),
  publicUrl: textOrNull('used in the `top_up_url` of a 402, and in links of emails and alarms'),
  dataDir: text(
    '.data',
    'where `npm start` stores its data, and every process the [files of calls](#files-of-calls)',
  ),
  oneProcess: flag(
    'API and workers of `npm start` share one process, see [Processes](#processes); if unset, on at most two processors',
  ),
  catalogFile: textOrNull('see [catalog.md](catalog.md)'),
  catalogKeyNames: list(
    'variables, comma-separated, that catalog edits may name as the key of a provider at any address',
  ),
  logLevel: Type.Enum([...LOG_LEVELS], {
    default: 'info',
    description: 'JSON lines on standard output',
  }),
  accessLog: flag('a line for each HTTP request but probes, without content, at level info', true),
  ollamaUrl: textOrNull('set by `npm start`'),
  localModelUrl: textOrNull('set by `LOCAL_MODEL=1 npm start`, see [A real model](#a-real-model)'),
  simulatedProvidersUrl: textOrNull('set by `npm start`'),
  simulateAll: flag(
    'simulated providers replace all providers; `npm start` sets it if no provider key is set',
  ),

  attemptsPerCall: integer(4, '', [1, 16]),
  retryBudgetPercent: integer(
    20,
    'attempts beyond the first, over all workers, as a percentage of the calls in ten seconds. A first failover to a healthy offer of another provider does not count',
    [0, 100],
  ),
  retryBudgetFloor: integer(100, 'attempts beyond the first that are always allowed', [0]),
  keyReloadMs: integer(
    60_000,
    'a cached API key or BYOK key is read again after this, in case a change of it was not announced',
  ),
  queueWaitMs: integer(15_000, 'then 408, unless a worker has claimed the call before'),
  flexWaitMs: integer(
    600_000,
    'the same for calls of the service tier `flex`, then 429; also for the first token of each of their attempts',
  ),
  connectTimeoutMs: integer(5_000),
  firstTokenTimeoutMs: integer(10_000, 'while another candidate remains'),
  lastFirstTokenTimeoutMs: integer(30_000, 'on the last candidate'),
  reasoningFirstTokenTimeoutMs: integer(
    60_000,
    'the same for reasoning models: while another candidate remains',
  ),
  reasoningLastFirstTokenTimeoutMs: integer(180_000, 'on the last candidate'),
  idleTimeoutMs: integer(30_000, 'maximum gap between tokens'),
  dripTokensMin: integer(
    10,
    'a completion of which nothing was delivered yet moves to another healthy offer when it produces fewer tokens than this in 30 s; 0: never',
    [0, 1_000],
  ),
  callTimeoutMs: integer(600_000, 'the whole call, streaming'),
  nonStreamingCallTimeoutMs: integer(
    270_000,
    'the whole call; a completion that is still being produced then ends with `finish_reason: length` and is charged as produced',
  ),
  keepAliveMs: integer(10_000),
  requestsPerMinute: integer(600, 'per key, unless an operator sets another; customers may only lower it'),
  tokensPerMinute: integer(10_000_000, 'per key'),
  concurrentCalls: integer(100, 'per key, unless an operator sets another; customers may only lower it'),
  accountRequestsPerMinute: integer(
    1_200,
    'per account over all its keys, unless `account limits` sets another',
  ),
  accountConcurrentCalls: integer(200, 'per account over all its keys, unless `account limits` sets another'),
  accountQueueShare: integer(
    8,
    'calls of one account that are queued in order of arrival; further calls queue behind those of other accounts',
  ),
  defaultCompletionLimit: integer(4_096, 'tokens, if the client sets no limit'),

  freeCreditUsd: amountUsd('0.50', 'per sign-up; see [accounts.md](accounts.md#free-credit)'),
  freeCreditBudgetUsd: amountUsd('25.00', 'free credit of the whole gateway per hour'),
  freeCreditsPerAddress: integer(
    5,
    'free credits a day for one IPv4 address or IPv6 /64, and four times as many for one IPv6 /48',
    [0],
  ),
  lowBalanceUsd: amountUsd(
    '1.00',
    'threshold of `balance.low` for new accounts; `account alert` sets it for one account',
  ),
  providerCostPercent: integer(
    COST_PERCENT,
    "the share of providers' list prices that you pay where the catalog does not say; **set it to your contracts**, see [catalog.md](catalog.md)",
    [0, 200],
  ),
  openWeightsCostPercent: integer(OPEN_WEIGHTS_COST_PERCENT, 'the same for open weights', [0, 200]),
  allowLossOffers: flag('use offers that cost more than they bring in'),
  catalogSyncMs: integer(
    300_000,
    "how often providers' model lists and price files are read",
    [1_000, 86_400_000],
  ),
  priceFiles: list('paths or https URLs of catalog documents with prices, comma-separated'),
  discountPercent: integer(5, "off the developers' list prices; never under 5", [5, 100]),
  openWeightsDiscountPercent: integer(20, 'the same for open weights', [5, 100]),
  byokFeePercent: integer(5, 'of the listed rate: the routing fee of a call on a BYOK key', [0, 100]),

  bodyLimitBytes: integer(32 * MEGABYTE, 'the body of a call; then 413'),
  textBodyLimitBytes: integer(
    4 * MEGABYTE,
    'the part of a body that is not inline media; then 413. Three times as much for chat completions, messages and responses under `/v2`',
  ),
  bodyTimeoutMs: integer(30_000, 'until the body of a request has arrived'),
  unreadTimeoutMs: integer(60_000, 'until a client reads more of a response; then its connection is closed'),
  bodyIdleMs: integer(10_000, 'until more of a request body has arrived; then 408'),
  bodyBytesPerKey: integer(
    64 * MEGABYTE,
    'bytes of request bodies in flight, from their arrival until the end of the call; then 429. Bodies above 64 kB count over all API instances together',
  ),
  bodyBytesPerAccount: integer(128 * MEGABYTE, 'the same per account'),
  bodyBytesPerInstance: integer(
    256 * MEGABYTE,
    'the same over all accounts; then 503. An account may hold as much as is left for the others: one alone half of it, two a third each; bodies up to 256 kB eight times that. An eighth is kept for accounts that hold up to 256 kB. Queue and workers hold at most this much per API instance. Plan eight times as much memory for an API instance',
  ),
  workerBodyBytes: integer(
    256 * MEGABYTE,
    'bytes of bodies over 256 kB that one dispatch worker holds; a call with more than 1 MB waits up to 10 s for space, then 503',
  ),
  storedFilesBytesInAll: integer(
    4_096 * MEGABYTE,
    'files of calls in flight, uploaded or generated, over all accounts; then 503. They are stored encrypted until their call ends, see [Files of calls](#files-of-calls)',
  ),
  storedFilesFreeDiskBytes: integer(
    1_024 * MEGABYTE,
    'free bytes of the disk with `DATA_DIR` that such files leave; then 503',
    [0],
  ),
  storedFilesS3Bucket: textOrNull(
    'stores them in this bucket instead of `DATA_DIR`; the credentials are `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or the role of the machine',
  ),
  storedFilesS3Prefix: text('shuntyard/', 'before the keys of objects in it'),
  storedFilesS3Region: text('us-east-1'),
  storedFilesS3Endpoint: textOrNull('address of an S3-compatible service'),
  refusedRequestsPerMinute: integer(
    6_000,
    'requests of one account at one API instance that are rejected with 400, 402, 403, 404, 405, 413, 415 or 422, or with 500 or 503 before they become a call, or whose body stalls; also counts of tokens and reads of stored responses; above that its requests are 429 for the rest of the minute',
  ),
  refusedBytesPerMinute: integer(256 * MEGABYTE, 'the same in bytes of their bodies and of what they read'),
  promptLogBytesInAll: integer(
    16_384 * MEGABYTE,
    '[prompt logs](api-keys.md#prompt-logging) stored over all accounts, encrypted; further ones are not stored until some expire. An account has 512 MB at most, and as much as is left for the others: one alone half of it. The same, counted separately, for [stored responses](api.md#stored-responses), of which the account that stores most gives way',
  ),
  pendingCallsMax: integer(
    5_000,
    'calls that wait for admission or their response, per API instance, then 503. One account alone has three quarters of them at most; an eighth is kept for accounts with up to 8 calls there',
  ),
  connectionsPerAddress: integer(
    6_000,
    'open connections from one IPv4 address or IPv6 /64 to one API instance; more are closed immediately. Trusted proxies do not count',
  ),
  slowClientBufferBytes: integer(MEGABYTE, 'bytes that a client has not read; above that it is disconnected'),
  keptReplyBytesMax: integer(
    MEGABYTE,
    'the largest response stored in Redis for repeats with the same `Idempotency-Key`, or cached, encrypted',
  ),
  workerConcurrency: integer(
    400,
    "concurrent calls per dispatch worker. Keep it at twice `ACCOUNT_CONCURRENT_CALLS` or more, so that one account's slow streams fill at most half of one worker",
  ),
  redisShards: integer(
    1,
    'the number of shards that accounts are spread over, see [Shards](#shards). The same for all processes and commands, and fixed: it can be changed only with an empty Redis',
    [1, SHARDS_MAX],
  ),
  workerShards: list('the shards, comma-separated from 0, whose calls a dispatch worker runs; empty: all'),
  settlementBatchMax: integer(2_048, 'calls settled in one transaction'),
  settlementBacklogBytesMax: integer(
    2_048 * MEGABYTE,
    'bytes in Redis of calls that wait to be settled, while PostgreSQL is unavailable; above that, or above half of the `maxmemory` of Redis, new calls are 503. About two kilobytes each',
  ),
  jobLockMs: integer(10_000, 'a call whose worker died is claimed again after 1 to 1.5 times this', [1_000]),
  recoveryGraceMs: integer(
    2_000,
    'after Redis lost its data: time for workers to restore their holds before balances are loaded',
    [0, 60_000],
  ),
  unconfirmedSettlementsMax: integer(
    50_000,
    'settlements that a dispatch worker keeps in memory in case Redis loses its data, about a kilobyte each; and as many settled ones for three minutes, in case PostgreSQL loses commits',
  ),
  breakerFailures: integer(5, 'see [Health of offers](#health-of-offers)'),
  breakerWindowMs: integer(30_000),
  breakerCooldownMs: integer(10_000, 'at most 15 s'),
  shutdownGraceMs: integer(25_000, 'see [Processes](#processes)'),
  shutdownDelayMs: integer(
    2_500,
    'of the grace: how long a stopping API instance, whose `/readyz` is 503, still takes connections',
    [0, 60_000],
  ),

  webhooksAllowPrivate: flag('allows webhooks to private addresses, any port and plain http'),
  callRetentionMonths: integer(
    0,
    'whole months after its own for which a month of calls and their postings stays in the database; then the settlement process [archives](#old-months) it. 0: until it is archived by command',
    [0, 1_200],
  ),
  archiveDirectory: textOrNull('the folder of such archives: their only copy, so not one of a container'),
  gatewayFile: textOrNull('a file of `apply`: where the gateway differs, `configuration-drift` is raised'),
  alarmsAllowPrivate: flag(
    'allows alarm destinations, which operators set, at private addresses, any port and plain http',
  ),

  x402QuotesPerAddress: integer(
    60,
    'requests without a key per minute from one IPv4 address or IPv6 /64, if calls can be paid one by one; four times as many from one IPv6 /48',
  ),
  x402ConcurrentCalls: integer(200, 'such calls at once; each wallet has four'),
  x402SettleWaitMs: integer(
    15_000,
    'how long a facilitator may take to settle a payment until the attempt counts as unanswered',
    [100, 60_000],
  ),

  trustedProxies: list(
    'addresses and networks of proxies whose `X-Forwarded-For` is believed, comma-separated; anyone else’s is ignored, and the first is warned about in the log',
  ),
  corsOrigins: list(
    'origins, comma-separated, whose pages may call `/v1` and `/v2` with a key of their own; `*`: any. Every visitor of a page can read its key: give such keys a limit',
  ),
  operatorSsoOnly: flag(
    'operators sign in to the console by single sign-on alone; admin keys stay valid for programs, as bearer tokens',
  ),
  signUpClosed: flag('only the operator opens accounts'),
  signInsPerEmail: integer(10, 'attempts per 15 minutes on one email from one address'),
  signInsPerAddress: integer(
    100,
    'attempts per 15 minutes from one IPv4 address or IPv6 /64, four times as many from one IPv6 /48',
  ),
  signUpsPerAddress: integer(
    10,
    'sign-ups per hour from one IPv4 address or IPv6 /64, four times as many from one IPv6 /48',
  ),
})

/** The environment variable of a setting: PRICE_FILES of priceFiles. */
const variableOf = (name: string): string => name.replace(/[A-Z]/g, '_$&').toUpperCase()

const ofVariables = Object.entries(Settings.properties).map(
  ([name, schema]) => [variableOf(name), schema] as const,
)

/** Every setting, as named in the table in docs/operating.md. */
export const SETTINGS = [...Object.entries(DEPENDENT), ...ofVariables].map(([variable, schema]) => ({
  variable,
  ...(schema as unknown as SettingOptions),
}))

/** The environment, read once into one frozen, validated Config. The schema contains every default of the contract. */
export interface Config extends Static<typeof Settings>, ServiceAddresses, PaymentSettings {
  /**
   * MASTER_KEY, then those of MASTER_KEY_PREVIOUS: they seal job bodies and provider keys, and the key pepper is
   * derived from them.
   */
  masterKeys: MasterKeys
  /** Null: mail is not configured, and emails are not verified. */
  mail: MailSettings | null
  signInProviders: SignInProvider[]
  /** Null: operators sign in only with admin keys. */
  operatorProvider: OperatorProvider | null
  /** Null: no invoices are issued. */
  invoices: InvoiceSettings | null
  /** Null: every call needs a key. */
  callPayment: CallPaymentSettings | null
}

/** Placeholders for commands that use no service and no secret, which make their environment valid. */
export const UNUSED_SERVICES = {
  DATABASE_URL: 'postgresql://not.used/none',
  REDIS_URL: 'redis://not.used',
  MASTER_KEY: '0'.repeat(64),
}

/** Reads and validates the environment. Throws one StartError that lists every problem. */
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
    signInProviders: readSignInProviders(environment, problems),
    operatorProvider: readOperatorProvider(environment, problems),
    invoices: readInvoiceSettings(environment, problems),
    callPayment: readCallPaymentSettings(environment, problems),
  }
  if (config.host !== 'localhost' && isIP(config.host) === 0) problems.push('HOST must be an IP address')
  if (config.operatorSsoOnly && config.operatorProvider === null)
    problems.push('OPERATOR_SSO_ONLY needs OPERATOR_OIDC_ISSUER')
  if (config.bodyBytesPerKey < config.bodyLimitBytes)
    problems.push('BODY_BYTES_PER_KEY must be BODY_LIMIT_BYTES or more')
  if (config.bodyBytesPerInstance < 3 * config.bodyLimitBytes)
    problems.push('BODY_BYTES_PER_INSTANCE must be three times BODY_LIMIT_BYTES or more')
  if (config.workerBodyBytes < config.bodyLimitBytes)
    problems.push('WORKER_BODY_BYTES must be BODY_LIMIT_BYTES or more')
  if (config.callRetentionMonths > 0 && config.archiveDirectory === null)
    problems.push('CALL_RETENTION_MONTHS needs ARCHIVE_DIRECTORY')
  const servers = countServers(addresses.redisUrl)
  if (config.redisShards < servers)
    problems.push(`REDIS_SHARDS must be ${servers} or more: REDIS_URL names ${servers} servers`)
  if (config.workerShards.some((shard) => !(/^\d+$/.test(shard) && Number(shard) < config.redisShards)))
    problems.push(
      `WORKER_SHARDS takes numbers from 0 to ${config.redisShards - 1}: REDIS_SHARDS is ${config.redisShards}`,
    )
  if (problems.length > 0)
    throw new StartError(problems.length === 1 ? problems[0] : `\n  ${problems.join('\n  ')}`)
  return Object.freeze(config)
}

/** Reads each setting by its schema. Adds invalid values to `problems`. */
function readSettings(environment: Environment, problems: string[]): Static<typeof Settings> {
  const entries = Object.entries(Settings.properties).map(([name, schema]) => {
    const setting = schema as unknown as SettingOptions & SettingSchema
    const variable = variableOf(name)
    const given = environment[variable]
    const value = given ? parseSetting(given, setting) : setting.default
    if (value === undefined) problems.push(`${variable} must be ${wordingOf(setting)}`)
    return [name, value]
  })
  return Object.fromEntries(entries)
}

/** The keywords of JSON Schema that settings use. A complete validator would take an eighth of the start of every process. */
interface SettingSchema {
  type?: string | string[]
  enum?: string[]
  minimum?: number
  maximum?: number
  pattern?: string
}

/** The value of a text; undefined if it does not match the schema. */
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

/** A former default of docker-compose.yml. Data sealed under it can be read by anyone. */
const PUBLISHED_MASTER_KEYS = new Set(['dHJ5aW5nLWl0LW91dC1vbmx5LW5vdC1hLXNlY3JldCE='])

function readMasterKeys(environment: Environment, problems: string[]): MasterKeys {
  const current = readMasterKey(environment.MASTER_KEY ?? '')
  if (PUBLISHED_MASTER_KEYS.has(environment.MASTER_KEY ?? ''))
    problems.push('MASTER_KEY was published as an example; generate one with openssl rand -base64 32')
  if (!environment.MASTER_KEY)
    problems.push('MASTER_KEY is required: 32 random bytes, base64 or hex (openssl rand -base64 32)')
  else if (current.length !== 32)
    problems.push(
      `MASTER_KEY has ${current.length} bytes; it must have 32 random bytes in base64 or hex (openssl rand -base64 32)`,
    )
  const texts = (environment.MASTER_KEY_PREVIOUS ?? '').split(',').map((text) => text.trim())
  const others = texts.filter((text) => text !== '').map(readMasterKey)
  if (others.some((key) => key.length !== 32))
    problems.push('MASTER_KEY_PREVIOUS takes master keys with commas between, each as in MASTER_KEY')
  return [current, ...others]
}

const readMasterKey = (text: string): Buffer =>
  Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64')
