import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { AccountStore } from '../../accounts/account-store.ts'
import { createCredentialStore } from '../../accounts/credential-store.ts'
import { createEmailTokenStore } from '../../accounts/email-token-store.ts'
import { createEmailVerification } from '../../accounts/email-verification.ts'
import { createFreeCredits } from '../../accounts/free-credit.ts'
import { createFreeCreditBudget } from '../../accounts/free-credit-budget.ts'
import type { KeyCache } from '../../accounts/key-cache.ts'
import type { KeyStore } from '../../accounts/key-store.ts'
import { createPasswordHasher } from '../../accounts/password-hash.ts'
import { createSessionStore } from '../../accounts/session-store.ts'
import { createSignInService } from '../../accounts/sign-in-service.ts'
import { createSignInThrottle } from '../../accounts/sign-in-throttle.ts'
import { createWebhookThrottle } from '../../accounts/webhook-throttle.ts'
import { createCallRecords } from '../../billing/call-records/call-records.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import { createLedgerListStore } from '../../billing/ledger/ledger-list-store.ts'
import { postLedger } from '../../billing/ledger/ledger-store.ts'
import { createKeyActivityStore } from '../../billing/reports/key-activity-store.ts'
import type { Config } from '../../config.ts'
import { parseUsd } from '../../core/kernel/money.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { enqueueVerificationMail, type MailQueue } from '../../platform/queues/queues.ts'
import { announceKeyChange } from '../../platform/redis/key-changes.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { createSealer } from '../../platform/sealing.ts'
import { createDeliveryLog, createRetryDelivery } from '../../webhooks/delivery-log.ts'
import { createEndpointStore, WEBHOOK_SECRET_PURPOSE } from '../../webhooks/endpoint-store.ts'
import { createSessionCookies } from '../session-cookie.ts'
import type { ConsoleServices } from './console-services.ts'

const DAY_MS = 86_400_000
const PAGES_FOLDER = fileURLToPath(new URL('../../../web/dist', import.meta.url))

export interface ConsoleParts {
  postgres: Postgres
  /** A pool of its own for what reads many rows. */
  reportsPostgres: Postgres
  redis: Redis
  accounts: AccountStore
  keyStore: KeyStore
  gate: Pick<HoldStore, 'balance' | 'apply'>
  keys: Pick<KeyCache, 'forget'>
  mailQueue: MailQueue
  logger: Logger
}

/** What the console needs beside the rest of the API, composed. */
export function createConsole(config: Readonly<Config>, parts: ConsoleParts): ConsoleServices {
  const { postgres, reportsPostgres, redis, accounts, keys, gate, logger } = parts
  const isSecure = config.publicUrl?.startsWith('https:') ?? false
  const sessions = createSessionStore(postgres)
  const throttle = createSignInThrottle(redis, config)
  const deliveries = createDeliveryLog(postgres)
  const sessionMs = config.sessionDays * DAY_MS
  const freeCredits = createFreeCredits({
    postgres,
    postLedger,
    budget: createFreeCreditBudget(
      redis,
      { ...config, budgetPico: parseUsd(config.freeCreditBudgetUsd) },
      Date.now,
    ),
    amountPico: parseUsd(config.freeCreditUsd),
    awaitsVerification: config.mail !== null,
    logger,
  })
  const verification =
    config.mail &&
    createEmailVerification({
      postgres,
      accounts,
      tokens: createEmailTokenStore(postgres),
      freeCredits,
      throttle,
      enqueue: (accountId) => enqueueVerificationMail(parts.mailQueue, accountId),
      loadBalance: (account) => gate.apply(account.id, account, []),
      logger,
    })
  return {
    ...parts,
    sessions,
    throttle,
    cookies: createSessionCookies(isSecure),
    signIn: createSignInService({
      accounts,
      credentials: createCredentialStore(postgres),
      passwords: createPasswordHasher(),
      sessions,
      throttle,
      freeCredits,
      verification,
      sessionMs,
      logger,
    }),
    verification,
    freeCredits,
    keyActivity: createKeyActivityStore(reportsPostgres),
    ledger: createLedgerListStore(reportsPostgres),
    recentCalls: createCallRecords(postgres),
    endpoints: createEndpointStore(
      postgres,
      createSealer(config.masterKeys, WEBHOOK_SECRET_PURPOSE),
      randomBytes,
    ),
    deliveries,
    retryDelivery: createRetryDelivery(postgres, deliveries),
    webhookThrottle: createWebhookThrottle(redis),
    announce: (change) => {
      keys.forget(change)
      return announceKeyChange(redis, change)
    },
    settings: {
      publicUrl: config.publicUrl,
      isSecure,
      signUpClosed: config.signUpClosed,
      sessionMs,
      webhooksAllowPrivate: config.webhooksAllowPrivate,
      byokFeePercent: config.byokFeePercent,
      pagesFolder: PAGES_FOLDER,
    },
  }
}
