import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { AccountStore } from '../../accounts/account-store.ts'
import { createCredentialStore } from '../../accounts/credential-store.ts'
import type { KeyCache } from '../../accounts/key-cache.ts'
import type { KeyStore } from '../../accounts/key-store.ts'
import { createPasswordHasher } from '../../accounts/password-hash.ts'
import { createSessionStore } from '../../accounts/session-store.ts'
import { createSignInService } from '../../accounts/sign-in-service.ts'
import { createSignInThrottle } from '../../accounts/sign-in-throttle.ts'
import { createDeliveryLog, createRetryDelivery } from '../../billing/delivery-log.ts'
import { createEndpointStore, WEBHOOK_SECRET_PURPOSE } from '../../billing/endpoint-store.ts'
import type { HoldGate } from '../../billing/hold-gate.ts'
import { createKeyActivityStore } from '../../billing/key-activity-store.ts'
import { createLedgerListStore } from '../../billing/ledger-list-store.ts'
import { createRecentCallStore } from '../../billing/recent-call-store.ts'
import type { Config } from '../../config.ts'
import { parseUsd } from '../../core/money.ts'
import { announceKeyChange } from '../../platform/key-changes.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Redis } from '../../platform/redis.ts'
import { createSealer } from '../../platform/sealing.ts'
import { createSessionCookies } from '../session-cookie.ts'
import type { ConsoleServices } from './console-services.ts'

const DAY_MS = 86_400_000
const PAGES_FOLDER = fileURLToPath(new URL('../../console/dist', import.meta.url))

export interface ConsoleParts {
  postgres: Postgres
  /** A pool of its own for what reads many rows. */
  reportsPostgres: Postgres
  redis: Redis
  accounts: AccountStore
  keyStore: KeyStore
  gate: Pick<HoldGate, 'figures'>
  keys: Pick<KeyCache, 'forget'>
}

/** What the console needs beside the rest of the API, composed. */
export function createConsole(config: Readonly<Config>, parts: ConsoleParts): ConsoleServices {
  const { postgres, reportsPostgres, redis, accounts, keys } = parts
  const isSecure = config.publicUrl?.startsWith('https:') ?? false
  const sessions = createSessionStore(postgres)
  const throttle = createSignInThrottle(redis, config)
  const deliveries = createDeliveryLog(postgres)
  const sessionMs = config.sessionDays * DAY_MS
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
      freeCreditPico: parseUsd(config.freeCreditUsd),
      sessionMs,
    }),
    keyActivity: createKeyActivityStore(reportsPostgres),
    ledger: createLedgerListStore(reportsPostgres),
    recentCalls: createRecentCallStore(postgres),
    endpoints: createEndpointStore(
      postgres,
      createSealer(config.masterKeys, WEBHOOK_SECRET_PURPOSE),
      randomBytes,
    ),
    deliveries,
    retryDelivery: createRetryDelivery(postgres, deliveries),
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
