import type { AccountStore } from '../../accounts/account-store.ts'
import type { EmailVerification } from '../../accounts/email-verification.ts'
import type { FreeCredits } from '../../accounts/free-credit.ts'
import type { KeyStore } from '../../accounts/key-store.ts'
import type { SessionStore } from '../../accounts/session-store.ts'
import type { SignInService } from '../../accounts/sign-in-service.ts'
import type { SignInThrottle } from '../../accounts/sign-in-throttle.ts'
import type { WebhookThrottle } from '../../accounts/webhook-throttle.ts'
import type { CallRecords } from '../../billing/call-records/call-records.ts'
import type { HoldStore } from '../../billing/holds/hold-store.ts'
import type { LedgerListStore } from '../../billing/ledger/ledger-list-store.ts'
import type { KeyActivityStore } from '../../billing/reports/key-activity-store.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { ReadDeliveries, RetryDelivery } from '../../webhooks/delivery-log.ts'
import type { EndpointStore } from '../../webhooks/endpoint-store.ts'
import type { SessionCookies } from '../session-cookie.ts'

/** What the console's routes need beside the rest of the API. */
export interface ConsoleServices {
  accounts: AccountStore
  signIn: SignInService
  freeCredits: Pick<FreeCredits, 'find'>
  /** Null where mail is not set up. */
  verification: EmailVerification | null
  sessions: SessionStore
  throttle: Pick<SignInThrottle, 'operator'>
  cookies: SessionCookies
  keyStore: KeyStore
  keyActivity: KeyActivityStore
  gate: Pick<HoldStore, 'balance'>
  ledger: LedgerListStore
  recentCalls: Pick<CallRecords, 'settledSince'>
  endpoints: EndpointStore
  deliveries: ReadDeliveries
  retryDelivery: RetryDelivery
  webhookThrottle: WebhookThrottle
  /** Tells every instance that a key or account changed. */
  announce: (change: KeyChange) => Promise<void>
  settings: ConsoleSettings
}

export interface ConsoleSettings {
  publicUrl: string | null
  /** Browsers reach us by https. */
  isSecure: boolean
  signUpClosed: boolean
  sessionMs: number
  webhooksAllowPrivate: boolean
  byokFeePercent: number
  /** Where the built pages lie. */
  pagesFolder: string
}
